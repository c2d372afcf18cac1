// Compiling in processes of their own.
//
// NVRTC lets one thread of a process compile at a time (13.0), and in a process that the driver watches (every change of
// its mappings is told to the GPU's memory manager) it took four times as long as alone: 130 ms against 30 ms a kernel,
// measured on an H200. So a few processes that have no driver are forked before the device process starts its threads;
// each loads NVRTC when it is first asked, warms up (compiler_warm_up.hpp), and compiles one kernel after the other. They end with their sockets, or with
// their parent. One that dies (a crash of NVRTC) costs its kernel a second compilation elsewhere; when none is left, the
// caller compiles in its own process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/device.hpp"

namespace gpuscan::cuda {

// The compiler refuses a source: what() has its words.
class NotCompiled : public DeviceError {
  public:
    using DeviceError::DeviceError;
};

enum class Effort {
    Quick,   // a kernel that runs longer, in half of the time
    Full,    // what NVRTC can
    Patient, // the same where nobody waits for it: most of the processes are left to others
};

class CompilerProcesses {
  public:
    // Forks at most `count` processes; call while this process has a single thread and no driver. `in_child` runs first in
    // each of them (to give up what it must not have).
    CompilerProcesses(unsigned count, const std::function<void()> &in_child);
    ~CompilerProcesses(); // lets them end; nobody may be compiling
    CompilerProcesses(const CompilerProcesses &) = delete;
    CompilerProcesses &operator=(const CompilerProcesses &) = delete;

    // As Compiler::compile, in whichever process is idle first (waits for one). False: no process is left.
    bool compile(const std::string &source, int architecture, std::string &image, Effort effort = Effort::Full);
    // Patient calls that have not begun throw DeviceError, now and from now on.
    void refuse_patient();
    // Has each process that is idle start NVRTC, without waiting; later calls of compile() wait for it.
    void warm_up(int architecture);
    // Waits until they have, each of them, but not for ever.
    void wait_until_warm(std::chrono::milliseconds patience);

    std::vector<pid_t> pids() const; // of those that have not failed

  private:
    struct Process {
        pid_t pid;
        int socket;
        bool busy = false;
        bool warming = false; // its next reply is that of warm_up
    };
    bool take_warmth(Process &process);
    bool exchange(Process &process, const std::string &source, int architecture, bool quick, bool &good,
                  std::string &image);
    void drop(Process &process);

    mutable std::mutex mutex_;
    std::condition_variable idle_;
    std::vector<std::unique_ptr<Process>> processes_; // with socket -1: failed
    size_t patient_ = 0;                              // calls that compile
    bool refuses_patient_ = false;
};

} // namespace gpuscan::cuda
