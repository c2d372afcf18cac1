// One kernel with four access patterns, over device memory of the sizes of its caches and beyond, and over pinned host memory. Each is run
// with more work until it takes long enough for the GPU's clock; of that size the fastest of a few runs counts.
#include "cuda/measure.hpp"

#include <algorithm>

#include "device/measure.cuh"

namespace gpuscan::cuda {

namespace {

using measuring::Pattern;
using tier::Count;

constexpr char measure_source[] = "#include \"device/measure.cuh\"\n";
constexpr size_t cached_bytes = size_t(16) << 20, max_bytes = size_t(1) << 30;
constexpr size_t min_bytes = size_t(256) << 20, link_bytes = size_t(64) << 20, first_bytes = size_t(1) << 20;
constexpr uint64_t long_enough_us = 300, first_accesses = 4, max_accesses = 4096;
constexpr int runs = 3;

class Measuring {
  public:
    explicit Measuring(SharedState &state) : state_(state), streams_(state.stream_contexts->borrow()) {
        streams_->use();
        module_ = state.kernels->get(measure_source, nullptr, nullptr);
        function_ = module_->function("measure");
        grid_ = state.full_grid(module_->blocks(function_, measuring::threads, 0));
    }
    ~Measuring() { streams_->drain(); }
    Measuring(const Measuring &) = delete;
    Measuring &operator=(const Measuring &) = delete;

    // ns a byte.
    double stream(void *memory, size_t bytes, Pattern pattern) {
        for (size_t part = std::min(first_bytes, bytes);; part = std::min(part * 2, bytes)) {
            const uint64_t us = run(memory, part, pattern, 0, grid_);
            if (us >= long_enough_us || part == bytes)
                return fastest(us, memory, part, pattern, 0, grid_) * 1000.0 / static_cast<double>(part);
        }
    }

    // ns an access.
    double random(void *memory, size_t bytes, Pattern pattern) {
        for (uint64_t accesses = first_accesses;; accesses *= 2) {
            const uint64_t us = run(memory, bytes, pattern, accesses, grid_);
            if (us >= long_enough_us || accesses >= max_accesses)
                return fastest(us, memory, bytes, pattern, accesses, grid_) * 1000.0 /
                       (static_cast<double>(grid_) * measuring::threads * static_cast<double>(accesses));
        }
    }

  private:
    SharedState &state_;
    std::shared_ptr<StreamContext> streams_;
    ModuleRef module_;
    CUfunction function_ = nullptr;
    unsigned grid_ = 1;
    uint32_t seed_ = 1;

    // Microseconds on the GPU's clock.
    uint64_t run(void *memory, size_t bytes, Pattern pattern, uint64_t accesses, unsigned blocks) {
        measuring::Argument a = {};
        a.memory = static_cast<uint32_t *>(memory);
        a.words = bytes / sizeof(uint32_t);
        a.accesses = accesses;
        a.pattern = pattern;
        a.seed = seed_++;
        a.sink = a.memory;
        streams_->start_clock();
        streams_->launch(function_, blocks, measuring::threads, 0, &a);
        return streams_->wait(nullptr);
    }

    double fastest(uint64_t us, void *memory, size_t bytes, Pattern pattern, uint64_t accesses, unsigned blocks) {
        for (int i = 1; i < runs; ++i)
            us = std::min(us, run(memory, bytes, pattern, accesses, blocks));
        return static_cast<double>(std::max<uint64_t>(us, 1));
    }
};

// As much device memory as there is, up to what is wanted; NULL: too little.
BufferRef take_memory(DeviceMemory &memory) {
    for (size_t bytes = max_bytes; bytes >= min_bytes; bytes /= 2) {
        const size_t used = memory.used(), limit = memory.limit();
        if (limit < used || (limit - used) / 2 < bytes) // queries want some, too
            continue;
        try {
            return memory.allocate(bytes);
        } catch (const OutOfDeviceMemory &) { // less, then
        }
    }
    return nullptr;
}

void measure_memory(Measuring &measuring, Buffer &buffer, tier::Measurement &m) {
    m.put(Count::MemorySeqRead, measuring.stream(buffer.data, buffer.size, measuring::SequentialRead));
    m.put(Count::MemorySeqWrite, measuring.stream(buffer.data, buffer.size, measuring::SequentialWrite));
    m.put(Count::MemoryRandomReadCached, measuring.random(buffer.data, cached_bytes, measuring::RandomRead));
    m.put(Count::MemoryRandomRead, measuring.random(buffer.data, buffer.size, measuring::RandomRead));
    m.put(Count::MemoryRandomWriteCached, measuring.random(buffer.data, cached_bytes, measuring::RandomWrite));
    m.put(Count::MemoryRandomWrite, measuring.random(buffer.data, buffer.size, measuring::RandomWrite));
}

void measure_link(Measuring &measuring, PinnedMemory &pinned, tier::Measurement &m) {
    const std::unique_ptr<PinnedMemory::Piece> piece = pinned.allocate(link_bytes);
    m.put(Count::LinkSeqRead, measuring.stream(piece->data, link_bytes, measuring::SequentialRead));
    m.put(Count::LinkSeqWrite, measuring.stream(piece->data, link_bytes, measuring::SequentialWrite));
}

} // namespace

tier::Measurement measure_gpu(SharedState &state) {
    tier::Measurement m = {};
    m.weights = tier::default_weights(true);
    const BufferRef buffer = take_memory(*state.memory);
    Measuring measuring(state);
    if (buffer)
        measure_memory(measuring, *buffer, m);
    measure_link(measuring, *state.pinned, m);
    m.put(tier::near_cache, static_cast<double>(state.shared_per_block));
    if (state.cache_bytes > 0)
        m.put(tier::far_cache, static_cast<double>(state.cache_bytes));
    return m;
}

} // namespace gpuscan::cuda
