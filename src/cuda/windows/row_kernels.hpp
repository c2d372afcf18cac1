// Launching the kernels of device/windows.cuh, each over some number of rows.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cuda/shared_state.hpp"
#include "device/windows.cuh"

namespace gpuscan::cuda {

// Memory that kernels use is given away by wait() alone, when nobody else holds it any more: whoever drops a buffer need not know what was
// launched and has not ended.
class RowKernels {
  public:
    RowKernels(const SharedState &state, StreamContext &streams, ModuleRef module, const std::atomic<uint32_t> *cancel,
               ExecutionStats &stats)
        : state_(state), streams_(streams), module_(std::move(module)), cancel_(cancel), stats_(stats) {}

    void launch(const char *name, uint64_t rows, void *argument) {
        const uint64_t blocks = (rows + row_threads - 1) / row_threads;
        launch_blocks(name, std::min<uint64_t>(blocks, uint64_t(state_.multiprocessors) * row_blocks), argument);
    }
    // By blocks that take a tile each.
    void launch_tiles(const char *name, uint64_t tiles, void *argument) {
        launch_blocks(name, std::min<uint64_t>(tiles, max_tile_blocks), argument);
    }
    // The three kernels of an operation (device/scan.cuh), over its rows.
    template <class Operation> void scan(const std::string &name, Operation operation) {
        const uint64_t tiles = (operation.rows + scan::tile_rows - 1) / scan::tile_rows;
        const BufferRef totals = allocate(tiles * sizeof(typename Operation::Sum));
        operation.totals = static_cast<typename Operation::Sum *>(totals->data);
        launch_tiles((name + "_tiles").c_str(), tiles, &operation);
        launch_blocks((name + "_totals").c_str(), 1, &operation);
        launch_tiles((name + "_rows").c_str(), tiles, &operation);
    }

    BufferRef allocate(size_t bytes) { return hold(streams_.allocate(std::max<size_t>(bytes, 1))); }
    // Memory from elsewhere that kernels use.
    BufferRef hold(BufferRef buffer) {
        if (buffer)
            held_.push_back(buffer);
        return buffer;
    }
    // For so many values of a column that is read several at once, with zeros behind them.
    BufferRef column(uint64_t rows, size_t width) {
        BufferRef values = allocate(rows * width + tail_bytes);
        streams_.fill(address_of(*values) + rows * width, 0, tail_bytes);
        return values;
    }
    static constexpr size_t tail_bytes = 64;
    template <class T> T *array(BufferRef &buffer, uint64_t count) {
        buffer = allocate(count * sizeof(T));
        return static_cast<T *>(buffer->data);
    }
    void fill(const Buffer &buffer, uint8_t byte, size_t bytes) { streams_.fill(address_of(buffer), byte, bytes); }

    // Until all that was launched is done; returns the status word. Throws Cancelled.
    uint32_t wait() {
        streams_.fetch_control();
        stats_.kernel_us += streams_.wait(cancel_);
        clock_runs_ = false;
        held_.erase(
            std::remove_if(held_.begin(), held_.end(), [](const BufferRef &buffer) { return buffer.use_count() == 1; }),
            held_.end());
        return streams_.fetched().status;
    }
    // A copy of what is in device memory, and wait().
    void fetch(const Buffer &from, void *to, size_t bytes) {
        const std::unique_ptr<PinnedMemory::Piece> piece = state_.pinned->allocate(bytes);
        streams_.copy_out(piece->data, address_of(from), bytes);
        wait();
        memcpy(to, piece->data, bytes);
    }
    uint32_t *status() const { return reinterpret_cast<uint32_t *>(streams_.status_word()); }
    StreamContext &streams() const { return streams_; }

  private:
    static constexpr unsigned row_threads = 256, row_blocks = 16;
    static constexpr uint64_t max_tile_blocks = 1 << 20;

    void launch_blocks(const char *name, uint64_t blocks, void *argument) {
        if (blocks == 0)
            return;
        if (!clock_runs_)
            streams_.start_clock();
        clock_runs_ = true;
        streams_.launch(module_->function(name), static_cast<unsigned>(blocks), row_threads, 0, argument);
    }

    const SharedState &state_;
    StreamContext &streams_;
    const ModuleRef module_;
    const std::atomic<uint32_t> *const cancel_;
    ExecutionStats &stats_;
    std::vector<BufferRef> held_;
    bool clock_runs_ = false; // since the first launch behind a wait
};

} // namespace gpuscan::cuda
