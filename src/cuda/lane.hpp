// What one session needs to talk to the GPU: a stream, events, a control block, and waiting that can be cancelled.
//
// Lanes are made rarely and used again (LanePool). Waiting never blocks in the driver: the event is polled, first
// spinning, then with short sleeps. When nobody waits for the session any more, the control block's cancel word is set
// through a stream of its own, so that kernels with unbounded loops end; the wait goes on until the GPU has finished,
// because the memory that its kernels use is about to be given away, and then throws Cancelled.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/driver.hpp"
#include "cuda/memory.hpp"

namespace gpuscan::cuda {

// Device memory of every lane, zeroed by Lane::reset().
struct ControlBlock {
    uint32_t status = 0;
    uint32_t cancel = 0;
    uint64_t counter = 0;
    uint64_t groups = 0;
    uint64_t unused = 0;
};

class Lane {
  public:
    Lane(std::shared_ptr<Driver> driver, CUcontext context, std::shared_ptr<DeviceMemory> memory,
         std::shared_ptr<PinnedMemory> pinned);
    ~Lane();
    Lane(const Lane &) = delete;
    Lane &operator=(const Lane &) = delete;

    void use() const; // makes the context current in this thread
    CUdeviceptr control() const { return address_of(*control_); }
    CUdeviceptr status_word() const { return control(); }
    CUdeviceptr cancel_word() const { return control() + offsetof(ControlBlock, cancel); }
    CUdeviceptr counter_word() const { return control() + offsetof(ControlBlock, counter); }
    CUdeviceptr groups_word() const { return control() + offsetof(ControlBlock, groups); }
    void reset_control();
    // Queues a copy of the control block to the host; valid after wait().
    void fetch_control();
    const ControlBlock &fetched() const { return *static_cast<const ControlBlock *>(fetched_->data); }

    void copy_in(CUdeviceptr to, const void *from, size_t bytes); // `from` is pinned or goes through staging
    void copy_out(void *to, CUdeviceptr from, size_t bytes);      // `to` is pinned
    void copy_inside(CUdeviceptr to, CUdeviceptr from, size_t bytes);
    void fill(CUdeviceptr to, uint8_t byte, size_t bytes);
    void launch(CUfunction function, unsigned blocks, unsigned threads, size_t shared, void *argument);

    void start_clock();
    // Waits for all that was queued. Returns the microseconds since start_clock() on the GPU's clock.
    uint64_t wait(const std::atomic<uint32_t> *cancel);
    // The same for work that takes its time: sleeps between looks from the start, so that many lanes wait on few cores.
    void wait_for_long(const std::atomic<uint32_t> *cancel);
    // Waits without looking at anything and without throwing; for cleaning up.
    void drain() noexcept;

    // Pinned and device memory that the lane itself holds until the next wait(), so that an exception between a launch
    // and the wait gives nothing away that a kernel still uses.
    PinnedMemory::Piece &stage(size_t bytes);
    std::shared_ptr<Buffer> allocate(size_t bytes);
    // Device memory that stays with the lane; one user at a time, its contents last until the lane goes back.
    CUdeviceptr scratch(size_t bytes);
    // Device memory with a copy of these bytes, which need not be pinned.
    std::shared_ptr<Buffer> send(const void *bytes, size_t size);

    CUstream stream() const { return stream_; }
    DeviceMemory &memory() { return *memory_; }
    PinnedMemory &pinned() { return *pinned_; }
    const Driver &driver() const { return *driver_; }

  private:
    std::shared_ptr<Driver> driver_;
    CUcontext context_;
    std::shared_ptr<DeviceMemory> memory_;
    std::shared_ptr<PinnedMemory> pinned_;
    CUstream stream_ = nullptr;
    CUstream control_stream_ = nullptr;
    CUevent started_ = nullptr;
    CUevent finished_ = nullptr;
    std::shared_ptr<Buffer> control_;
    std::unique_ptr<PinnedMemory::Piece> fetched_;
    bool pending_ = false;                                     // something was queued since the last wait
    std::vector<std::unique_ptr<PinnedMemory::Piece>> staged_; // in use until the next wait
    std::vector<std::shared_ptr<Buffer>> kept_;                // likewise
    std::shared_ptr<Buffer> scratch_;

    void poll(const std::atomic<uint32_t> *cancel, std::chrono::nanoseconds spin);
};

class LanePool {
  public:
    LanePool(std::shared_ptr<Driver> driver, CUcontext context, std::shared_ptr<DeviceMemory> memory,
             std::shared_ptr<PinnedMemory> pinned)
        : driver_(std::move(driver)), context_(context), memory_(std::move(memory)), pinned_(std::move(pinned)) {}

    // A lane that goes back to the pool with its last user.
    std::shared_ptr<Lane> borrow();

  private:
    std::shared_ptr<Driver> driver_;
    CUcontext context_;
    std::shared_ptr<DeviceMemory> memory_;
    std::shared_ptr<PinnedMemory> pinned_;
    struct Free {
        std::mutex mutex;
        std::vector<std::unique_ptr<Lane>> lanes;
    };
    std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

// Declared behind memory that the lane's work uses: whatever happens, that work ends before the memory is given away.
class Drain {
  public:
    explicit Drain(Lane &lane) : lane_(lane) {}
    ~Drain() { lane_.drain(); }
    Drain(const Drain &) = delete;
    Drain &operator=(const Drain &) = delete;

  private:
    Lane &lane_;
};

} // namespace gpuscan::cuda
