// What one session needs to talk to the GPU: a stream, events, a control block, and waiting that can be cancelled.
//
// Stream contexts are made rarely and used again (StreamContextPool). Waiting never blocks in the driver, nor calls it: the last thing in the
// stream is a store of the wait's number into pinned memory, and that is polled, first spinning (spin.hpp says when), then with short sleeps.
// (All sessions share one lock in the driver: what is not asked of it costs the others nothing.) When nobody waits for the
// session any more, the control block's cancel word is set through a stream of its own, so that kernels with unbounded loops
// end; the wait goes on until the GPU has finished, because the memory that its kernels use is about to be given away, and
// then throws Cancelled.
//
// Every stream context has a piece of device memory and its mirror in pinned memory:
//
//     ... <- inputs of the program (send) | control block | results of one run (results)
//
// Inputs are written to the mirror, downwards from the control block, and stay until the stream context goes back. Whatever the mirror
// has and the device not, zeros of control block and results included, goes over in one copy before the next thing is
// queued; control block and results come back in one. So a hot query is a copy, a kernel and a copy, and allocates nothing.
// A place in the mirror is written only once while copies may read it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/driver.hpp"
#include "cuda/memory.hpp"
#include "engine/util/spin.hpp"

namespace gpuscan::cuda {

// Device memory of every stream context, zeroed by StreamContext::reset_control().
struct ControlBlock {
    uint32_t status = 0;
    uint32_t cancel = 0;
    uint64_t counter = 0;
    uint64_t groups = 0;
    uint64_t dropped = 0;
};

class StreamContext {
  public:
    StreamContext(std::shared_ptr<Driver> driver, CUcontext context, std::shared_ptr<DeviceMemory> memory,
                  std::shared_ptr<PinnedMemory> pinned, SpinGate &gate);
    ~StreamContext();
    StreamContext(const StreamContext &) = delete;
    StreamContext &operator=(const StreamContext &) = delete;

    void use() const; // makes the context current in this thread
    void begin();     // of a new use: nothing is in the stream context
    CUdeviceptr control() const { return address_of(*area_) + control_at; }
    CUdeviceptr status_word() const { return control(); }
    CUdeviceptr cancel_word() const { return control() + offsetof(ControlBlock, cancel); }
    CUdeviceptr counter_word() const { return control() + offsetof(ControlBlock, counter); }
    CUdeviceptr groups_word() const { return control() + offsetof(ControlBlock, groups); }
    CUdeviceptr dropped_word() const { return control() + offsetof(ControlBlock, dropped); }
    void reset_control();
    // Zeroed device memory for what a run leaves, at most max_results bytes; until the next call of results().
    CUdeviceptr results(size_t bytes, bool zeros = true);
    static constexpr size_t max_results = size_t(384) << 10;
    // Queues a copy of the control block, and of this much of the results, to the host; valid after wait().
    void fetch_control(size_t result_bytes = 0);
    const ControlBlock &fetched() const { return *static_cast<const ControlBlock *>(fetched_->data); }
    const void *fetched_results() const { return static_cast<const char *>(fetched_->data) + control_room; }

    void copy_in(CUdeviceptr to, const void *from, size_t bytes); // `from` is pinned or goes through staging
    void copy_out(void *to, CUdeviceptr from, size_t bytes);      // `to` is pinned
    void copy_inside(CUdeviceptr to, CUdeviceptr from, size_t bytes);
    void fill(CUdeviceptr to, uint8_t byte, size_t bytes);
    void launch(CUfunction function, unsigned blocks, unsigned threads, size_t shared, void *argument,
                unsigned grid_y = 1);

    void start_clock();
    // Waits for all that was queued. Returns the microseconds since start_clock() on the GPU's clock; 0 if that was not called
    // since the last wait.
    uint64_t wait(const std::atomic<uint32_t> *cancel);
    // The same for work that takes its time: sleeps between looks from the start, so that many stream_contexts wait on few cores.
    void wait_for_long(const std::atomic<uint32_t> *cancel);
    // Waits without looking at anything and without throwing; for cleaning up.
    void drain() noexcept;

    // Pinned and device memory that the stream context itself holds until the next wait(), so that an exception between a launch
    // and the wait gives nothing away that a kernel still uses.
    PinnedMemory::Piece &stage(size_t bytes);
    std::shared_ptr<Buffer> allocate(size_t bytes);
    // Device memory that stays with the stream context; one user at a time, its contents last until the stream context goes back.
    CUdeviceptr scratch(size_t bytes);
    // Device memory with a copy of these bytes, which need not be pinned; the stream context keeps it too.
    std::shared_ptr<Buffer> send(const void *bytes, size_t size);

    DeviceMemory &memory() { return *memory_; }
    PinnedMemory &pinned() { return *pinned_; }
    const Driver &driver() const { return *driver_; }

  private:
    std::shared_ptr<Driver> driver_;
    CUcontext context_;
    std::shared_ptr<DeviceMemory> memory_;
    std::shared_ptr<PinnedMemory> pinned_;
    SpinGate &gate_;
    CUstream stream_ = nullptr;
    CUstream control_stream_ = nullptr;
    CUevent started_ = nullptr;
    CUevent finished_ = nullptr;
    static constexpr size_t area_bytes = size_t(1) << 20;
    static constexpr size_t control_room = 256; // results begin behind it
    static constexpr size_t control_at = area_bytes - max_results - control_room;
    std::shared_ptr<Buffer> area_;
    std::unique_ptr<PinnedMemory::Piece> mirror_;  // of the area; zeros from the control block on
    std::unique_ptr<PinnedMemory::Piece> fetched_; // control block and results, at its end the word that waits look at
    std::atomic<uint32_t> *done_ = nullptr;
    const uint32_t *one_ = nullptr;          // behind that word, what is copied into the cancel word
    CUdeviceptr done_address_ = 0;           // the GPU's, 0: the driver cannot store words, events are asked
    uint32_t waits_ = 0;                     // number of the last wait
    size_t inputs_at_ = 0;                   // where the last input begins
    size_t dirty_first_ = 0, dirty_end_ = 0; // what the mirror has and the area not
    bool control_used_ = false;              // by a kernel, since it was zeroed
    bool pending_ = false;                   // something was queued since the last wait
    bool clock_runs_ = false;                // started_ was recorded since the last wait
    std::vector<std::unique_ptr<PinnedMemory::Piece>> staged_; // in use until the next wait
    std::vector<std::shared_ptr<Buffer>> kept_;                // likewise
    std::shared_ptr<Buffer> scratch_;

    void mark(size_t first, size_t end);
    void queue(); // before anything is queued: sends what the area lacks
    void tell_to_end() noexcept;
    bool finished(uint64_t now);
    uint64_t next_question_ = 0; // to the driver, whether there was an error; by monotonic_ns()
    void poll(const std::atomic<uint32_t> *cancel, bool spin);
};

class StreamContextPool {
  public:
    StreamContextPool(std::shared_ptr<Driver> driver, CUcontext context, std::shared_ptr<DeviceMemory> memory,
                      std::shared_ptr<PinnedMemory> pinned, SpinGate &gate)
        : driver_(std::move(driver)), context_(context), memory_(std::move(memory)), pinned_(std::move(pinned)),
          gate_(gate) {}

    // A stream context that goes back to the pool with its last user.
    std::shared_ptr<StreamContext> borrow();

  private:
    std::shared_ptr<Driver> driver_;
    CUcontext context_;
    std::shared_ptr<DeviceMemory> memory_;
    std::shared_ptr<PinnedMemory> pinned_;
    SpinGate &gate_;
    struct Free {
        std::mutex mutex;
        std::vector<std::unique_ptr<StreamContext>> stream_contexts;
    };
    std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

// Declared behind memory that the stream context's work uses: whatever happens, that work ends before the memory is given away.
class Drain {
  public:
    explicit Drain(StreamContext &streams) : streams_(streams) {}
    ~Drain() { streams_.drain(); }
    Drain(const Drain &) = delete;
    Drain &operator=(const Drain &) = delete;

  private:
    StreamContext &streams_;
};

} // namespace gpuscan::cuda
