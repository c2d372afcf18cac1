// Streams, uploads and waiting; see lane.hpp.
#include "cuda/lane.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace gpuscan::cuda {

namespace {

constexpr auto spin_time = std::chrono::microseconds(50);
constexpr long sleep_ns = 20000; // the device process's timers have no slack
constexpr size_t least_scratch = size_t(256) << 10;
constexpr unsigned fewest_cores_to_spin = 3;

bool may_spin() {
    static const bool enough = std::thread::hardware_concurrency() >= fewest_cores_to_spin;
    return enough;
}

} // namespace

Lane::Lane(std::shared_ptr<Driver> driver, CUcontext context, std::shared_ptr<DeviceMemory> memory,
           std::shared_ptr<PinnedMemory> pinned)
    : driver_(std::move(driver)), context_(context), memory_(std::move(memory)), pinned_(std::move(pinned)) {
    use();
    driver_->check(driver_->cuStreamCreate(&stream_, stream_non_blocking), "cuStreamCreate");
    driver_->check(driver_->cuStreamCreate(&control_stream_, stream_non_blocking), "cuStreamCreate");
    driver_->check(driver_->cuEventCreate(&started_, event_default), "cuEventCreate");
    driver_->check(driver_->cuEventCreate(&finished_, event_default), "cuEventCreate");
    control_ = memory_->allocate(sizeof(ControlBlock));
    fetched_ = pinned_->allocate(sizeof(ControlBlock));
    reset_control();
}

Lane::~Lane() {
    if (driver_->cuCtxSetCurrent(context_) != success)
        return;
    driver_->cuStreamSynchronize(stream_);
    driver_->cuEventDestroy(started_);
    driver_->cuEventDestroy(finished_);
    driver_->cuStreamDestroy(control_stream_);
    driver_->cuStreamDestroy(stream_);
}

void Lane::use() const { driver_->check(driver_->cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }

void Lane::reset_control() { fill(control(), 0, sizeof(ControlBlock)); }

void Lane::fetch_control() { copy_out(fetched_->data, control(), sizeof(ControlBlock)); }

PinnedMemory::Piece &Lane::stage(size_t bytes) {
    staged_.push_back(pinned_->allocate(bytes));
    return *staged_.back();
}

void Lane::copy_in(CUdeviceptr to, const void *from, size_t bytes) {
    pending_ = true;
    driver_->check(driver_->cuMemcpyHtoDAsync(to, from, bytes, stream_), "cuMemcpyHtoDAsync");
}

void Lane::copy_out(void *to, CUdeviceptr from, size_t bytes) {
    pending_ = true;
    driver_->check(driver_->cuMemcpyDtoHAsync(to, from, bytes, stream_), "cuMemcpyDtoHAsync");
}

void Lane::copy_inside(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    pending_ = true;
    if (bytes > 0)
        driver_->check(driver_->cuMemcpyDtoDAsync(to, from, bytes, stream_), "cuMemcpyDtoDAsync");
}

void Lane::fill(CUdeviceptr to, uint8_t byte, size_t bytes) {
    pending_ = true;
    if (bytes > 0)
        driver_->check(driver_->cuMemsetD8Async(to, byte, bytes, stream_), "cuMemsetD8Async");
}

void Lane::launch(CUfunction function, unsigned blocks, unsigned threads, size_t shared, void *argument) {
    pending_ = true;
    void *arguments[] = {argument};
    driver_->check(driver_->cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, static_cast<unsigned>(shared),
                                           stream_, arguments, nullptr),
                   "cuLaunchKernel");
}

std::shared_ptr<Buffer> Lane::allocate(size_t bytes) {
    kept_.push_back(memory_->allocate(bytes));
    return kept_.back();
}

std::shared_ptr<Buffer> Lane::send(const void *bytes, size_t size) {
    std::shared_ptr<Buffer> buffer = allocate(size);
    if (size > 0) {
        PinnedMemory::Piece &piece = stage(size);
        memcpy(piece.data, bytes, size);
        copy_in(address_of(*buffer), piece.data, size);
    }
    return buffer;
}

void Lane::start_clock() { driver_->check(driver_->cuEventRecord(started_, stream_), "cuEventRecord"); }

CUdeviceptr Lane::scratch(size_t bytes) {
    if (!scratch_ || scratch_->size < bytes) {
        if (scratch_)
            kept_.push_back(std::move(scratch_)); // (may be in use until the next wait)
        scratch_ = memory_->allocate(std::max(bytes, least_scratch));
    }
    return address_of(*scratch_);
}

uint64_t Lane::wait(const std::atomic<uint32_t> *cancel) {
    poll(cancel, spin_time);
    float milliseconds = 0;
    if (driver_->cuEventElapsedTime(&milliseconds, started_, finished_) != success)
        milliseconds = 0;
    return static_cast<uint64_t>(milliseconds * 1000);
}

void Lane::wait_for_long(const std::atomic<uint32_t> *cancel) { poll(cancel, std::chrono::nanoseconds::zero()); }

void Lane::poll(const std::atomic<uint32_t> *cancel, std::chrono::nanoseconds spin) {
    driver_->check(driver_->cuEventRecord(finished_, stream_), "cuEventRecord");
    const auto start = std::chrono::steady_clock::now();
    bool cancelled = false;
    for (;;) {
        const CUresult result = driver_->cuEventQuery(finished_);
        if (result == success)
            break;
        if (result != error_not_ready)
            driver_->check(result, "waiting for the GPU");
        if (!cancelled && cancel && cancel->load(std::memory_order_relaxed)) {
            cancelled = true;
            driver_->cuMemsetD8Async(cancel_word(), 1, 1, control_stream_);
        }
        if (!may_spin() || std::chrono::steady_clock::now() - start >= spin) {
            const timespec pause = {0, sleep_ns};
            nanosleep(&pause, nullptr);
        }
    }
    pending_ = false;
    staged_.clear();
    kept_.clear();
    if (cancelled || (cancel && cancel->load(std::memory_order_relaxed))) {
        driver_->cuStreamSynchronize(control_stream_);
        throw Cancelled();
    }
}

void Lane::drain() noexcept {
    if (pending_ && driver_->cuCtxSetCurrent(context_) == success) {
        driver_->cuMemsetD8Async(cancel_word(), 1, 1, control_stream_);
        driver_->cuStreamSynchronize(control_stream_);
        driver_->cuStreamSynchronize(stream_);
        pending_ = false;
    }
    staged_.clear();
    kept_.clear();
}

std::shared_ptr<Lane> LanePool::borrow() {
    std::unique_ptr<Lane> lane;
    {
        std::lock_guard<std::mutex> lock(free_->mutex);
        if (!free_->lanes.empty()) {
            lane = std::move(free_->lanes.back());
            free_->lanes.pop_back();
        }
    }
    if (!lane)
        lane = std::make_unique<Lane>(driver_, context_, memory_, pinned_);
    lane->use();
    lane->reset_control();
    std::weak_ptr<Free> home = free_;
    return std::shared_ptr<Lane>(lane.release(), [home](Lane *used) {
        std::unique_ptr<Lane> owned(used);
        owned->drain(); // after an exception kernels may still run
        if (std::shared_ptr<Free> free = home.lock()) {
            std::lock_guard<std::mutex> lock(free->mutex);
            free->lanes.push_back(std::move(owned));
        }
    });
}

} // namespace gpuscan::cuda
