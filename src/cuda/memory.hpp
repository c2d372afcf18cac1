// Device memory and pinned host memory, without a slow allocation in the path of a query.
//
// Device memory comes from the driver's stream-ordered pool with the release threshold at its maximum: memory that was
// once taken from the GPU stays in the pool (0.6 us for 64 MB then, alone, against 150 us for cuMemAlloc and cuMemFree), and
// the driver remaps pages, so that pieces of all sizes live side by side for weeks. Allocations and frees are queued in
// one stream of their own; everybody frees only what no kernel uses any more, so that the order is always right.
// Small pieces, of which a query beside writers wants dozens, do not even ask the driver: each call takes the locks of the
// context and waits for that one stream, 10 to 40 us where many sessions do. They have few sizes, and freed ones are kept for
// the next who wants that size. What is handed out is counted and bounded by the limit; what is kept comes on top, a 64th of it
// at most. No managed memory is used.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cuda/driver.hpp"
#include "engine/device.hpp"

namespace gpuscan::cuda {

class DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
  public:
    DeviceMemory(std::shared_ptr<Driver> driver, CUcontext context, CUdevice device, size_t limit);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory &) = delete;
    DeviceMemory &operator=(const DeviceMemory &) = delete;

    // Throws OutOfDeviceMemory beyond the limit or when the GPU has no more. At least 256-byte aligned.
    std::shared_ptr<Buffer> allocate(size_t bytes);
    void set_limit(size_t bytes);
    size_t limit() const { return limit_.load(); }
    size_t used() const { return used_.load(); }
    // A short call that takes the locks of the driver's context.
    void ping() noexcept;
    // Takes `bytes` from the GPU into the pool now.
    void warm_up(size_t bytes);

  private:
    friend class DeviceBuffer;
    size_t rounded(size_t bytes) const;
    // `bytes`: what rounded() answers.
    CUdeviceptr take(size_t bytes);
    void release(CUdeviceptr address, size_t bytes) noexcept;
    CUdeviceptr take_kept(size_t bytes); // 0: there is none
    bool keep(CUdeviceptr address, size_t bytes) noexcept;
    void free(CUdeviceptr address) noexcept;
    void free_kept() noexcept;
    void trim(size_t bytes) noexcept;

    std::shared_ptr<Driver> driver_;
    CUcontext context_;
    CUmemoryPool pool_ = nullptr; // null: this GPU has no pools, cuMemAlloc is used
    CUstream stream_ = nullptr;
    std::atomic<size_t> limit_;
    std::atomic<size_t> used_{0};
    std::mutex mutex_;
    std::unordered_map<size_t, std::vector<CUdeviceptr>> kept_; // by their size
    size_t kept_bytes_ = 0;
};

class DeviceBuffer : public Buffer {
  public:
    DeviceBuffer(std::shared_ptr<DeviceMemory> memory, size_t bytes);
    ~DeviceBuffer() override;
    CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(data); }

  private:
    std::shared_ptr<DeviceMemory> memory_;
};

inline CUdeviceptr address_of(const Buffer &buffer) { return reinterpret_cast<CUdeviceptr>(buffer.data); }

// Page-locked host memory: freed pieces are kept and used again, up to max_kept bytes of them.
class PinnedMemory : public std::enable_shared_from_this<PinnedMemory> {
  public:
    PinnedMemory(std::shared_ptr<Driver> driver, CUcontext context);
    ~PinnedMemory();
    PinnedMemory(const PinnedMemory &) = delete;
    PinnedMemory &operator=(const PinnedMemory &) = delete;

    struct Piece {
        ~Piece();
        std::shared_ptr<PinnedMemory> owner;
        void *data = nullptr;
        size_t size = 0;
    };
    // At least `bytes`, rounded up to a power of two.
    std::unique_ptr<Piece> allocate(size_t bytes);

  private:
    static constexpr size_t max_kept = size_t(2) << 30;

    std::shared_ptr<Driver> driver_;
    CUcontext context_;
    std::mutex mutex_;
    std::vector<void *> free_[64]; // by the power of two
    size_t free_bytes_ = 0;
};

} // namespace gpuscan::cuda
