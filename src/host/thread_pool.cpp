// Who does the work of the host device (see thread_pool.hpp).
#include "host/thread_pool.hpp"

#include "engine/util/crash_handler.hpp"

namespace gpuscan {

ThreadPool::ThreadPool(unsigned threads) {
    for (unsigned i = 1; i < threads; ++i)
        helpers_.emplace_back([this] { help(); });
}

ThreadPool::~ThreadPool() {
    {
        std::lock_guard<std::mutex> guard(lock_);
        stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread &helper : helpers_)
        helper.join();
}

void ThreadPool::run(size_t count, const std::function<void(size_t, unsigned)> &task) {
    Job job;
    job.task = &task;
    job.count = count;
    job.slot = working_for();
    bool shared = count > 1 && !helpers_.empty();
    std::list<Job *>::iterator place;
    if (shared) {
        std::lock_guard<std::mutex> guard(lock_);
        place = jobs_.insert(jobs_.end(), &job);
    }
    // (To wake one takes 2 to 4 us: no more than there are tasks for.)
    if (shared && count > helpers_.size())
        wake_.notify_all();
    else
        for (size_t i = 1; shared && i < count; ++i)
            wake_.notify_one();
    work(job, 0);
    if (shared) {
        std::unique_lock<std::mutex> guard(lock_);
        jobs_.erase(place); // no helper joins from here on
        done_.wait(guard, [&] { return job.inside == 0; });
    }
    if (job.error)
        std::rethrow_exception(job.error);
}

void ThreadPool::work(Job &job, unsigned worker) {
    const WorkingFor working(job.slot);
    for (;;) {
        size_t index = job.next.fetch_add(1, std::memory_order_relaxed);
        if (index >= job.count || job.failed.load(std::memory_order_relaxed))
            return;
        try {
            (*job.task)(index, worker);
        } catch (...) {
            std::lock_guard<std::mutex> guard(lock_);
            if (!job.error)
                job.error = std::current_exception();
            job.failed.store(true, std::memory_order_relaxed);
        }
    }
}

void ThreadPool::help() {
    const SignalStack signal_stack;
    std::unique_lock<std::mutex> guard(lock_);
    for (;;) {
        Job *open = nullptr;
        for (auto it = jobs_.begin(); it != jobs_.end(); ++it) {
            Job *job = *it;
            if (job->next.load(std::memory_order_relaxed) >= job->count || job->failed.load() ||
                job->joined > helpers_.size())
                continue;
            open = job;
            jobs_.splice(jobs_.end(), jobs_, it); // the next helper looks at another job first
            break;
        }
        if (open == nullptr) {
            if (stopping_)
                return;
            wake_.wait(guard);
            continue;
        }
        unsigned worker = open->joined++;
        ++open->inside;
        guard.unlock();
        work(*open, worker);
        guard.lock();
        if (--open->inside == 0)
            done_.notify_all();
    }
}

} // namespace gpuscan
