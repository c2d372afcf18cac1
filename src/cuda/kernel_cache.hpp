// From generated source to kernels that can be launched: NVRTC, a cache in memory and one on disk.
//
// A kernel is known by a 128-bit hash of everything that decides its machine code: source text, embedded headers,
// architecture, options, NVRTC's version. The cache on disk holds one file per kernel, written under a temporary name
// and then renamed, so that several processes may share a directory; a file that does not prove to be the source's (kernel_file.hpp)
// is ignored and written again. Of the files those are kept that were used last, up to a limit. Compilations run
// in threads of their own: a session waits for one only as long as somebody waits for the session, two sessions that need
// one kernel compile it once, and what will be needed soon can be started before it is (start).
//
// NVRTC lets one thread of a process compile at a time (13.0, measured on an H200: four threads take four times as long as
// one); so where there are processes for it (compiler_processes.hpp), they compile. It reads of the device headers what a kernel uses
// (header_parts.hpp).
//
// There a kernel that nobody has needed before is first compiled *quickly*: NVRTC leaves out most of its optimisations, among
// them unrolling, and the text stands for less (runtime.cuh: a thread takes its rows one after the other), so it is there
// after half of the time, and runs longer. Whoever has run it asks
// for the full one (improve), which takes its place as soon as it is compiled. Only full ones come to the disk.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cuda/compiler_processes.hpp"
#include "cuda/driver.hpp"
#include "cuda/header_parts.hpp"
#include "cuda/kernel_file.hpp"
#include "cuda/module.hpp"

namespace gpuscan::cuda {

// NVRTC alone, without a device: source text to a cubin (or to PTX where NVRTC is older than the GPU).
class Compiler {
  public:
    explicit Compiler(std::shared_ptr<Nvrtc> nvrtc);

    // `architecture`: compute capability as 75, 80, 90. `quick`: with few optimisations, where NVRTC can do that. `anew`: even
    // if NVRTC remembers the source. Throws DeviceError with NVRTC's log.
    std::string compile(const std::string &source, int architecture, bool quick = false, bool anew = false) const;
    bool can_be_quick() const;
    KernelKey key(const std::string &source, int architecture) const;
    // Compiles something like what queries need (compiler_warm_up.hpp), so that the first of them does not pay for NVRTC's own start.
    void warm_up(int architecture) const;

    // The same with these texts of the embedded headers.
    std::string compile_with(const std::vector<std::string> &headers, const std::string &source, int architecture,
                             bool quick, bool anew = false) const;

  private:
    std::string target(int architecture, bool &ptx) const;

    std::shared_ptr<Nvrtc> nvrtc_;
    HeaderParts parts_;
    uint64_t headers_[2]; // hash of the embedded headers
};

class KernelCache {
  public:
    // `directory` may be empty: no cache on disk. `processes` may be null: `compiler` does it all, in this process.
    KernelCache(std::shared_ptr<Driver> driver, CUcontext context, std::shared_ptr<Compiler> compiler,
                std::shared_ptr<CompilerProcesses> processes, int architecture, std::string directory);
    ~KernelCache(); // waits for compilations

    // The best module of `source` that there is; waits for the first one. `quick`: whether there may be a better one later;
    // without it a kernel that is compiled for this call is compiled fully. Adds what compiling took to *compile_us. Throws Cancelled when `cancel` becomes non-zero while it waits; the
    // compilation goes on and will be found by the next one who asks.
    ModuleRef get(const std::string &source, const std::atomic<uint32_t> *cancel, uint64_t *compile_us,
                  bool *quick = nullptr);
    // Begins to compile what get() will soon be asked for.
    void start(const std::string &source, Effort effort = Effort::Quick);
    // Begins to compile the full kernel where there is a quick one.
    void improve(const std::string &source);
    // Would get() come back at once?
    bool is_ready(const std::string &source);
    // Begins to start NVRTC itself.
    void warm_up();
    // Waits until nothing is being compiled.
    void wait_idle();
    // The same, and until NVRTC has been started; gives up after a while.
    void wait_idle(std::chrono::milliseconds patience);

    // Removes files of the cache, those first that were used longest ago, until they have no more than `bytes`.
    static void bound_directory(const std::string &directory, uint64_t bytes);

  private:
    struct Built {
        ModuleRef module;
        uint64_t compile_us = 0; // 0: came from disk
        bool quick = false;
    };
    struct Entry {
        std::shared_future<Built> built, better; // better: not valid, or the full one to a quick one
        bool counted = false;                    // somebody was told what it took
    };
    std::shared_future<Built> begin(KernelKey key, const std::string &source, Effort effort); // with mutex_ held
    Entry &find(KernelKey key, const std::string &source, Effort effort);                     // the same
    void in_background(std::function<void()> work); // with mutex_ held; throws DeviceError
    void build(const std::string &source, KernelKey key, Effort effort, std::promise<Built> &promise);
    std::string compile(const std::string &source, Effort effort) const;
    void keep_refused(const std::string &source, const char *reason) const;
    ModuleRef from_disk(KernelKey key, const std::string &source) const;
    std::string path(KernelKey key) const;
    bool read_file(KernelKey key, const std::string &source, std::string &image) const;
    void write_file(KernelKey key, const std::string &source, const std::string &image) const;

    std::shared_ptr<Driver> driver_;
    CUcontext context_;
    std::shared_ptr<Compiler> compiler_;
    std::shared_ptr<CompilerProcesses> processes_;
    int architecture_;
    std::string directory_;
    mutable std::atomic<unsigned> written_{0};
    std::mutex mutex_;
    std::condition_variable idle_;
    unsigned running_ = 0; // threads that compile
    std::map<KernelKey, Entry> modules_;
};

} // namespace gpuscan::cuda
