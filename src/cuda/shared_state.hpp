// What the parts of the CUDA device have in common.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "cuda/driver.hpp"
#include "cuda/group_tuning.hpp"
#include "cuda/kernel_cache.hpp"
#include "cuda/memory.hpp"
#include "cuda/prepared_kernels.hpp"
#include "cuda/stream_context.hpp"

namespace gpuscan::cuda {

// How many groups a kernel found when it last ran, so that its next run begins with a table of the right size.
class GroupCounts {
  public:
    uint64_t get(const std::string &kernel) {
        std::lock_guard<std::mutex> lock(mutex_);
        const auto found = counts_.find(std::hash<std::string>()(kernel));
        return found == counts_.end() ? 0 : found->second;
    }
    void put(const std::string &kernel, uint64_t groups) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (counts_.size() >= most)
            counts_.clear();
        counts_[std::hash<std::string>()(kernel)] = groups;
    }

  private:
    static constexpr size_t most = 4096;
    std::mutex mutex_;
    std::unordered_map<size_t, uint64_t> counts_;
};

struct SharedState {
    std::shared_ptr<Driver> driver;
    CUdevice device = 0;
    CUcontext context = nullptr;
    std::string name;
    int architecture = 0;
    unsigned multiprocessors = 1;
    size_t shared_per_block = 49152; // with opting in
    size_t memory_total = 0;
    size_t cache_bytes = 0;                      // the second-level cache; 0: not known
    bool row_cache = true, rows_to_host = false; // cuda_device.hpp
    size_t row_area_bytes = 0;

    WorkMemoryRef work_memory;
    std::shared_ptr<DeviceMemory> memory;
    std::shared_ptr<PinnedMemory> pinned;
    SpinGate own_gate; // unless the options name another
    std::shared_ptr<StreamContextPool> stream_contexts;
    std::shared_ptr<KernelCache> kernels;
    std::shared_ptr<PreparedKernels> prepared; // the same, by what kernels are generated from
    GroupTuning groups;
    GroupCounts group_counts;

    // shared_buffers as the GPU sees it; nullptr: not registered.
    const uint8_t *pool = nullptr;
    size_t pool_bytes = 0;
    CUdeviceptr pool_address = 0;

    // Blocks that fill the GPU, when so many are on a multiprocessor at once.
    unsigned full_grid(unsigned blocks) const { return multiprocessors * blocks; }
};

// The text of the kernels that no query changes.
inline const char *const tables_source =
    "#include \"device/tables.cuh\"\n#include \"device/table_rows.cuh\"\n#include \"device/gather_groups.cuh\"\n";
inline const char *const decode_source = "#include \"device/decode.cuh\"\n";
inline const char *const masks_source = "#include \"device/masks.cuh\"\n";
inline const char *const pack_source = "#include \"device/pack.cuh\"\n";
inline const char *const group_columns_source = "#include \"device/group_columns.cuh\"\n";
inline const char *const windows_source = "#include \"device/windows.cuh\"\n";

} // namespace gpuscan::cuda
