// Who does the work of the host device: a fixed set of threads that several sessions share, and the session itself.
//
// A job is a number of equal tasks (morsels, pages) taken one by one from an atomic counter, so that no thread waits for
// a slow one (Leis et al., "Morsel-Driven Parallelism", SIGMOD 2014). The caller works on its own job until no task is
// left, then waits for the tasks still in other hands; helpers go round the open jobs. The caller alone is enough to
// finish, so a busy pool delays nobody for ever.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace gpuscan {

class ThreadPool {
  public:
    // `threads` in all, callers included: threads - 1 helpers are started.
    explicit ThreadPool(unsigned threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool &) = delete;
    ThreadPool &operator=(const ThreadPool &) = delete;

    // How many workers a job may have; each has a number below that.
    unsigned workers() const { return static_cast<unsigned>(helpers_.size()) + 1; }

    // Calls task(index, worker) for every index below count. The first exception stops the job and is thrown here.
    void run(size_t count, const std::function<void(size_t index, unsigned worker)> &task);

  private:
    struct Job {
        const std::function<void(size_t, unsigned)> *task;
        size_t count;
        uint32_t slot; // whose request it is a part of (engine/util/crash_handler.hpp)
        std::atomic<size_t> next{0};
        std::atomic<bool> failed{false};
        unsigned joined = 1; // under the lock: worker numbers given away; the caller is 0
        unsigned inside = 0; // under the lock: helpers at work
        std::exception_ptr error;
    };

    void help();
    void work(Job &job, unsigned worker);

    std::mutex lock_;
    std::condition_variable wake_, done_;
    std::list<Job *> jobs_;
    bool stopping_ = false;
    std::vector<std::thread> helpers_;
};

} // namespace gpuscan
