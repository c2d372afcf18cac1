// The device interface on an NVIDIA GPU. Made in the device process only: nothing here may run before its fork.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cuda/group_tuning.hpp"
#include "engine/device.hpp"
#include "engine/util/spin.hpp"

namespace gpuscan {

namespace cuda {
class CompilerProcesses;
}

struct CudaOptions {
    int ordinal = 0;
    std::shared_ptr<cuda::CompilerProcesses> compilers; // null: kernels are compiled in this process
    std::string cache_dir;                              // compiled kernels; empty: not kept on disk
    const void *pool = nullptr;                         // shared_buffers, to be read in place; null: none
    size_t pool_bytes = 0;
    SpinGate *spin_gate = nullptr; // of all who wait on this machine, outlives the device; null: one of its own
    // How rows leave the GPU (measured by bench/join_bench.cpp): through a cache in shared memory or one by one, into
    // device memory and then by copies, or by the kernel itself into pinned host memory.
    bool row_cache = true;
    bool rows_to_host = false;
    size_t row_area_bytes = 256u << 20; // device memory that rows are collected in
};

class CudaDevice : public Device {
  public:
    // Empty: pages are read in place. Else why they are copied through pinned memory instead.
    std::string register_note;
    // For tests and benchmarks, while nothing runs.
    virtual void tune_groups(const GroupTuning &tuning) = 0;
};

// Throws DeviceError with a text for people where there is no driver, no GPU or no NVRTC.
std::unique_ptr<CudaDevice> make_cuda_device(const CudaOptions &options);

} // namespace gpuscan
