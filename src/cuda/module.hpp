// Kernels that the driver has loaded, and how they lie on the GPU's multiprocessors.
//
// A multiprocessor divides one memory into first-level cache and shared memory, in a few fixed ways, and can change that only
// while nothing runs on it. Left to itself the driver finds the best division for each kernel; then kernels of different
// sessions wait for each other's last blocks instead of running side by side, which is 35 % slower than one after the other
// (doc/performance.md, "Sessions at once"). So kernels of queries ask for one division, the common one, with room for a few
// blocks of those that group in shared memory, and most of the cache left to join tables.
//
// A kernel that would lose half of its blocks by the common division, or would not run at all, because a block of it needs
// much shared memory, is left to the driver: it gets what it needs, and beside others it waits.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "cuda/driver.hpp"

namespace gpuscan::cuda {

// A kernel that is ready to be launched with so many threads and so much shared memory a block.
struct Resident {
    CUfunction function = nullptr;
    unsigned blocks = 1; // of it on a multiprocessor at once, if it is there alone
};

// A loaded module; unloaded with the last reference.
class Module {
  public:
    // `image`: machine code, or PTX. Throws DeviceError.
    Module(std::shared_ptr<Driver> driver, CUcontext context, const std::string &image);
    ~Module();
    Module(const Module &) = delete;
    Module &operator=(const Module &) = delete;

    CUfunction function(const char *name) const; // memory is divided as the driver likes
    // For the kernels of queries. `shared`: bytes of dynamic shared memory of a block of `threads`. Asks the driver only once for the same.
    Resident resident(const char *name, unsigned threads, size_t shared) const;

    // How many blocks of `function` are on a multiprocessor at once; at least 1.
    unsigned blocks(CUfunction function, unsigned threads, size_t shared) const;

  private:
    std::shared_ptr<Driver> driver_;
    CUcontext context_;
    CUmodule module_ = nullptr;
    mutable std::mutex mutex_;
    mutable std::map<std::tuple<std::string, unsigned, size_t>, Resident> residents_;
    mutable std::map<CUfunction, size_t> most_shared_; // that a kernel was made ready for
};
using ModuleRef = std::shared_ptr<const Module>;

} // namespace gpuscan::cuda
