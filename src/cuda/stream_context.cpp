// Streams, uploads and waiting; see stream_context.hpp.
#include "cuda/stream_context.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace gpuscan::cuda {

namespace {

constexpr long shortest_sleep_ns = 20000; // the device process's timers have no slack
constexpr long longest_sleep_ns = 200000;
constexpr long sleep_part = 16; // of the time waited so far
constexpr size_t min_scratch = size_t(256) << 10;
constexpr size_t few_zeros = 16 << 10; // copied from the mirror; more are filled in by the GPU
constexpr size_t input_alignment = 256;
constexpr uint64_t question_ns = 2000000; // an error leaves the word as it is
constexpr uint64_t cancel_ns = 5000000;   // between two times that kernels are told to end

} // namespace

StreamContext::StreamContext(std::shared_ptr<Driver> driver, CUcontext context, std::shared_ptr<DeviceMemory> memory,
                             std::shared_ptr<PinnedMemory> pinned, SpinGate &gate)
    : driver_(std::move(driver)), context_(context), memory_(std::move(memory)), pinned_(std::move(pinned)),
      gate_(gate) {
    use();
    // Memory first: it may be short, and gives itself back.
    area_ = memory_->allocate(area_bytes);
    mirror_ = pinned_->allocate(area_bytes);
    memset(static_cast<char *>(mirror_->data) + control_at, 0, area_bytes - control_at);
    fetched_ = pinned_->allocate(control_room + max_results + sizeof(*done_) + sizeof(*one_));
    driver_->check(driver_->cuStreamCreate(&stream_, stream_non_blocking), "cuStreamCreate");
    driver_->check(driver_->cuStreamCreate(&control_stream_, stream_non_blocking), "cuStreamCreate");
    driver_->check(driver_->cuEventCreate(&started_, event_default), "cuEventCreate");
    driver_->check(driver_->cuEventCreate(&finished_, event_default), "cuEventCreate");
    done_ = new (static_cast<char *>(fetched_->data) + control_room + max_results) std::atomic<uint32_t>(0);
    one_ = new (static_cast<char *>(fetched_->data) + control_room + max_results + sizeof(*done_)) uint32_t(1);
    if (!driver_->cuStreamWriteValue32 || driver_->cuMemHostGetDevicePointer(&done_address_, done_, 0) != success)
        done_address_ = 0;
    begin();
}

StreamContext::~StreamContext() {
    if (driver_->cuCtxSetCurrent(context_) != success)
        return;
    driver_->cuStreamSynchronize(stream_);
    driver_->cuEventDestroy(started_);
    driver_->cuEventDestroy(finished_);
    driver_->cuStreamDestroy(control_stream_);
    driver_->cuStreamDestroy(stream_);
}

void StreamContext::use() const { driver_->check(driver_->cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }

void StreamContext::begin() {
    inputs_at_ = control_at;
    dirty_first_ = dirty_end_ = 0;
    control_used_ = true;
    clock_runs_ = false;
    reset_control();
}

// Kernels may still use the control block: then zeros are queued behind them.
void StreamContext::reset_control() {
    if (!control_used_)
        return;
    if (pending_)
        fill(control(), 0, sizeof(ControlBlock));
    else
        mark(control_at, control_at + sizeof(ControlBlock));
    control_used_ = false;
}

CUdeviceptr StreamContext::results(size_t bytes, bool zeros) {
    if (bytes > max_results)
        throw DeviceError("more results than a streams has room for");
    const size_t at = control_at + control_room;
    if (zeros && !pending_ && bytes <= few_zeros)
        mark(at, at + bytes);
    else if (zeros)
        fill(address_of(*area_) + at, 0, bytes);
    return address_of(*area_) + at;
}

void StreamContext::fetch_control(size_t result_bytes) {
    copy_out(fetched_->data, control(), result_bytes > 0 ? control_room + result_bytes : sizeof(ControlBlock));
}

void StreamContext::mark(size_t first, size_t end) {
    const bool none = dirty_first_ == dirty_end_;
    dirty_first_ = none ? first : std::min(dirty_first_, first);
    dirty_end_ = none ? end : std::max(dirty_end_, end);
}

// Inputs lie side by side and end at the control block, so that what lies between two marks is inputs again, or zeros of the
// results; those a running kernel may be writing are never in between, because nothing is marked while one runs but inputs
// below those that are sent already.
void StreamContext::queue() {
    pending_ = true;
    if (dirty_first_ == dirty_end_)
        return;
    const size_t first = dirty_first_, size = dirty_end_ - dirty_first_;
    dirty_first_ = dirty_end_ = 0;
    driver_->check(driver_->cuMemcpyHtoDAsync(address_of(*area_) + first,
                                              static_cast<const char *>(mirror_->data) + first, size, stream_),
                   "cuMemcpyHtoDAsync");
}

PinnedMemory::Piece &StreamContext::stage(size_t bytes) {
    staged_.push_back(pinned_->allocate(bytes));
    return *staged_.back();
}

void StreamContext::copy_in(CUdeviceptr to, const void *from, size_t bytes) {
    queue();
    driver_->check(driver_->cuMemcpyHtoDAsync(to, from, bytes, stream_), "cuMemcpyHtoDAsync");
}

void StreamContext::copy_out(void *to, CUdeviceptr from, size_t bytes) {
    queue();
    driver_->check(driver_->cuMemcpyDtoHAsync(to, from, bytes, stream_), "cuMemcpyDtoHAsync");
}

void StreamContext::copy_inside(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    queue();
    if (bytes > 0)
        driver_->check(driver_->cuMemcpyDtoDAsync(to, from, bytes, stream_), "cuMemcpyDtoDAsync");
}

void StreamContext::fill(CUdeviceptr to, uint8_t byte, size_t bytes) {
    queue();
    if (bytes > 0)
        driver_->check(driver_->cuMemsetD8Async(to, byte, bytes, stream_), "cuMemsetD8Async");
}

void StreamContext::launch(CUfunction function, unsigned blocks, unsigned threads, size_t shared, void *argument,
                           unsigned grid_y) {
    queue();
    control_used_ = true;
    void *arguments[] = {argument};
    driver_->check(driver_->cuLaunchKernel(function, blocks, grid_y, 1, threads, 1, 1, static_cast<unsigned>(shared),
                                           stream_, arguments, nullptr),
                   "cuLaunchKernel");
}

std::shared_ptr<Buffer> StreamContext::allocate(size_t bytes) {
    kept_.push_back(memory_->allocate(bytes));
    return kept_.back();
}

std::shared_ptr<Buffer> StreamContext::send(const void *bytes, size_t size) {
    if (size <= inputs_at_) {
        const size_t end = inputs_at_;
        inputs_at_ = (inputs_at_ - size) / input_alignment * input_alignment;
        memcpy(static_cast<char *>(mirror_->data) + inputs_at_, bytes, size);
        mark(inputs_at_, end);
        auto part = std::make_shared<Buffer>();
        part->data = reinterpret_cast<void *>(address_of(*area_) + inputs_at_);
        part->size = size;
        return part;
    }
    std::shared_ptr<Buffer> buffer = allocate(size);
    if (size > 0) {
        PinnedMemory::Piece &piece = stage(size);
        memcpy(piece.data, bytes, size);
        copy_in(address_of(*buffer), piece.data, size);
    }
    return buffer;
}

void StreamContext::start_clock() {
    queue();
    driver_->check(driver_->cuEventRecord(started_, stream_), "cuEventRecord");
    clock_runs_ = true;
}

CUdeviceptr StreamContext::scratch(size_t bytes) {
    if (!scratch_ || scratch_->size < bytes) {
        if (scratch_)
            kept_.push_back(std::move(scratch_)); // (may be in use until the next wait)
        scratch_ = memory_->allocate(std::max(bytes, min_scratch));
    }
    return address_of(*scratch_);
}

uint64_t StreamContext::wait(const std::atomic<uint32_t> *cancel) {
    poll(cancel, true);
    float milliseconds = 0;
    if (!clock_runs_)
        return 0; // what was recorded last belongs to another run, perhaps of another query
    clock_runs_ = false;
    if (driver_->cuEventElapsedTime(&milliseconds, started_, finished_) != success)
        milliseconds = 0;
    return static_cast<uint64_t>(milliseconds * 1000);
}

void StreamContext::wait_for_long(const std::atomic<uint32_t> *cancel) { poll(cancel, false); }

bool StreamContext::finished(uint64_t now) {
    if (done_address_ != 0) {
        if (done_->load(std::memory_order_acquire) == waits_)
            return true;
        if (now < next_question_)
            return false;
        next_question_ = now + question_ns;
    }
    const CUresult result = driver_->cuEventQuery(finished_);
    if (result != success && result != error_not_ready)
        driver_->check(result, "waiting for the GPU");
    return result == success;
}

// Has to be said again until they have: zeros for the control block may still wait in the stream, before a kernel, and take the
// word back. By a copy: filling memory is a kernel, which would wait for a place behind those of other sessions.
void StreamContext::tell_to_end() noexcept {
    driver_->cuMemcpyHtoDAsync(cancel_word(), one_, sizeof(*one_), control_stream_);
    control_used_ = true;
}

void StreamContext::poll(const std::atomic<uint32_t> *cancel, bool spin) {
    queue();
    driver_->check(driver_->cuEventRecord(finished_, stream_), "cuEventRecord");
    ++waits_;
    if (done_address_ != 0 && driver_->cuStreamWriteValue32(stream_, done_address_, waits_, 0) != success)
        done_address_ = 0;
    const uint64_t start = monotonic_ns();
    next_question_ = start + question_ns;
    bool cancelled = false;
    uint64_t next_word = start;
    for (uint64_t now = start; !finished(now);) {
        if (now >= next_word && cancel && cancel->load(std::memory_order_relaxed)) {
            cancelled = true;
            tell_to_end();
            next_word = now + cancel_ns;
        }
        const uint64_t before = now;
        if (!spin || now - start >= SpinGate::longest_ns || !gate_.is_open(now)) {
            const long waited = static_cast<long>(now - start);
            const timespec pause = {0, std::clamp(waited / sleep_part, shortest_sleep_ns, longest_sleep_ns)};
            nanosleep(&pause, nullptr);
            now = monotonic_ns();
        } else {
            spin_pause();
            now = monotonic_ns();
            if (done_address_ != 0 && !cancelled) // (a call of the driver takes longer than a look)
                gate_.note_gap(before, now);
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

void StreamContext::drain() noexcept {
    if (pending_ && driver_->cuCtxSetCurrent(context_) == success) {
        const bool recorded = driver_->cuEventRecord(finished_, stream_) == success;
        do {
            tell_to_end();
            driver_->cuStreamSynchronize(control_stream_);
            const timespec pause = {0, longest_sleep_ns};
            nanosleep(&pause, nullptr);
        } while (recorded && driver_->cuEventQuery(finished_) == error_not_ready);
        driver_->cuStreamSynchronize(stream_);
        pending_ = false;
    }
    staged_.clear();
    kept_.clear();
}

std::shared_ptr<StreamContext> StreamContextPool::borrow() {
    std::unique_ptr<StreamContext> streams;
    {
        std::lock_guard<std::mutex> lock(free_->mutex);
        if (!free_->stream_contexts.empty()) {
            streams = std::move(free_->stream_contexts.back());
            free_->stream_contexts.pop_back();
        }
    }
    if (!streams)
        streams = std::make_unique<StreamContext>(driver_, context_, memory_, pinned_, gate_);
    streams->use();
    streams->begin();
    std::weak_ptr<Free> home = free_;
    return std::shared_ptr<StreamContext>(streams.release(), [home](StreamContext *used) {
        std::unique_ptr<StreamContext> owned(used);
        owned->drain(); // after an exception kernels may still run
        if (std::shared_ptr<Free> free = home.lock()) {
            std::lock_guard<std::mutex> lock(free->mutex);
            free->stream_contexts.push_back(std::move(owned));
        }
    });
}

} // namespace gpuscan::cuda
