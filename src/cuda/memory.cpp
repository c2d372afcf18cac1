// Pools of device and pinned host memory; see memory.hpp.
#include "cuda/memory.hpp"

#include <algorithm>

namespace gpuscan::cuda {

namespace {

constexpr size_t granule = 512;                  // what the driver's pool rounds to
constexpr size_t small_bytes = size_t(4) << 20;  // pieces up to this size are kept when they are freed
constexpr size_t kept_limit = size_t(256) << 20; // of them together ...
constexpr size_t kept_share = 64;                // ... and at most this part of the limit
constexpr size_t sizes_between = 4; // powers of two: no piece is more than a quarter, or a granule, too large

} // namespace

// ---- device memory -----------------------------------------------------------------------------------------------

DeviceMemory::DeviceMemory(std::shared_ptr<Driver> driver, CUcontext context, CUdevice device, size_t limit)
    : driver_(std::move(driver)), context_(context), limit_(limit) {
    int pools = 0;
    driver_->cuDeviceGetAttribute(&pools, attribute_memory_pools, device);
    driver_->check(driver_->cuStreamCreate(&stream_, stream_non_blocking), "cuStreamCreate");
    if (pools) {
        driver_->check(driver_->cuDeviceGetDefaultMemPool(&pool_, device), "cuDeviceGetDefaultMemPool");
        uint64_t threshold = UINT64_MAX;
        driver_->check(driver_->cuMemPoolSetAttribute(pool_, pool_attribute_release_threshold, &threshold),
                       "cuMemPoolSetAttribute");
    }
}

DeviceMemory::~DeviceMemory() {
    free_kept();
    if (driver_->cuCtxSetCurrent(context_) == success)
        driver_->cuStreamDestroy(stream_);
}

void DeviceMemory::set_limit(size_t bytes) {
    limit_.store(bytes);
    trim(bytes);
}

void DeviceMemory::ping() noexcept {
    if (driver_->cuCtxSetCurrent(context_) == success)
        driver_->cuStreamQuery(stream_);
}

void DeviceMemory::warm_up(size_t bytes) {
    CUdeviceptr address = take(bytes);
    release(address, bytes);
}

// Few sizes, where small pieces are kept. (Without pools every piece is the driver's and ends at its granule, so that tools which
// guard the ends of allocations see who writes behind them.)
size_t DeviceMemory::rounded(size_t bytes) const {
    size_t step = granule;
    while (pool_ && bytes <= small_bytes && 2 * sizes_between * step < bytes)
        step *= 2;
    return (std::max<size_t>(bytes, 1) + step - 1) / step * step;
}

CUdeviceptr DeviceMemory::take_kept(size_t bytes) {
    std::lock_guard<std::mutex> guard(mutex_);
    const auto found = kept_.find(bytes);
    if (found == kept_.end() || found->second.empty())
        return 0;
    const CUdeviceptr address = found->second.back();
    found->second.pop_back();
    kept_bytes_ -= bytes;
    return address;
}

// Where there is no room for one more, all of them go: those that are wanted come back, and the others do not stay in the way.
bool DeviceMemory::keep(CUdeviceptr address, size_t bytes) noexcept {
    const size_t room = std::min(kept_limit, limit() / kept_share);
    if (bytes > small_bytes || bytes > room || !pool_)
        return false;
    std::unique_lock<std::mutex> guard(mutex_);
    if (kept_bytes_ + bytes > room) {
        guard.unlock();
        free_kept();
        guard.lock();
        if (kept_bytes_ + bytes > room) // others were as fast
            return false;
    }
    try {
        kept_[bytes].push_back(address);
    } catch (const std::bad_alloc &) {
        return false;
    }
    kept_bytes_ += bytes;
    return true;
}

void DeviceMemory::free_kept() noexcept {
    std::unordered_map<size_t, std::vector<CUdeviceptr>> kept;
    {
        std::lock_guard<std::mutex> guard(mutex_);
        kept.swap(kept_);
        kept_bytes_ = 0;
    }
    for (const auto &of_size : kept)
        for (const CUdeviceptr address : of_size.second)
            free(address);
}

// What is free goes back from the pool to the GPU, but for so many bytes.
void DeviceMemory::trim(size_t bytes) noexcept {
    free_kept();
    if (!pool_ || driver_->cuCtxSetCurrent(context_) != success)
        return;
    driver_->cuStreamSynchronize(stream_); // frees are queued there
    driver_->cuMemPoolTrimTo(pool_, bytes);
}

// The address, usable by every stream when this returns.
CUdeviceptr DeviceMemory::take(size_t bytes) {
    if (const CUdeviceptr kept = take_kept(bytes))
        return kept;
    driver_->check(driver_->cuCtxSetCurrent(context_), "cuCtxSetCurrent");
    CUdeviceptr address = 0;
    const auto allocate = [&] {
        return pool_ ? driver_->cuMemAllocAsync(&address, bytes, stream_) : driver_->cuMemAlloc(&address, bytes);
    };
    CUresult result = allocate();
    if (result == error_out_of_memory && pool_) {
        trim(0); // what is free may be kept here, or lie in the pool in the wrong places
        result = allocate();
    }
    driver_->check(result, pool_ ? "cuMemAllocAsync" : "cuMemAlloc");
    if (pool_)
        driver_->check(driver_->cuStreamSynchronize(stream_), "cuStreamSynchronize");
    return address;
}

void DeviceMemory::release(CUdeviceptr address, size_t bytes) noexcept {
    if (!keep(address, bytes))
        free(address);
}

void DeviceMemory::free(CUdeviceptr address) noexcept {
    if (driver_->cuCtxSetCurrent(context_) != success)
        return;
    if (pool_)
        driver_->cuMemFreeAsync(address, stream_);
    else
        driver_->cuMemFree(address);
}

std::shared_ptr<Buffer> DeviceMemory::allocate(size_t bytes) {
    return std::make_shared<DeviceBuffer>(shared_from_this(), bytes);
}

DeviceBuffer::DeviceBuffer(std::shared_ptr<DeviceMemory> memory, size_t bytes) : memory_(std::move(memory)) {
    const size_t taken = memory_->rounded(bytes);
    if (taken < bytes)
        throw OutOfDeviceMemory("more device memory asked for than there can be");
    size_t before = memory_->used_.load();
    do {
        if (before + taken > memory_->limit_.load() || before + taken < before)
            throw OutOfDeviceMemory("device memory limit reached: " + std::to_string(before) + " bytes in use, " +
                                    std::to_string(taken) + " more wanted, limit " +
                                    std::to_string(memory_->limit_.load()));
    } while (!memory_->used_.compare_exchange_weak(before, before + taken));
    try {
        data = reinterpret_cast<void *>(memory_->take(taken));
    } catch (...) {
        memory_->used_.fetch_sub(taken);
        throw;
    }
    size = bytes;
}

DeviceBuffer::~DeviceBuffer() {
    const size_t taken = memory_->rounded(size);
    memory_->release(address(), taken);
    memory_->used_.fetch_sub(taken);
}

// ---- pinned host memory ------------------------------------------------------------------------------------------

PinnedMemory::PinnedMemory(std::shared_ptr<Driver> driver, CUcontext context)
    : driver_(std::move(driver)), context_(context) {}

PinnedMemory::~PinnedMemory() {
    if (driver_->cuCtxSetCurrent(context_) != success)
        return;
    for (std::vector<void *> &pieces : free_)
        for (void *piece : pieces)
            driver_->cuMemFreeHost(piece);
}

std::unique_ptr<PinnedMemory::Piece> PinnedMemory::allocate(size_t bytes) {
    unsigned power = 16; // 64 KB at least
    while ((static_cast<size_t>(1) << power) < bytes)
        ++power;
    auto piece = std::make_unique<Piece>();
    piece->size = static_cast<size_t>(1) << power;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!free_[power].empty()) {
            piece->data = free_[power].back();
            free_[power].pop_back();
            free_bytes_ -= piece->size;
        }
    }
    if (!piece->data) {
        driver_->check(driver_->cuCtxSetCurrent(context_), "cuCtxSetCurrent");
        driver_->check(driver_->cuMemHostAlloc(&piece->data, piece->size, host_alloc_portable), "cuMemHostAlloc");
    }
    piece->owner = shared_from_this();
    return piece;
}

PinnedMemory::Piece::~Piece() {
    if (!owner || !data)
        return;
    unsigned power = 0;
    while ((static_cast<size_t>(1) << power) < size)
        ++power;
    if (power <= 26) {
        std::lock_guard<std::mutex> lock(owner->mutex_);
        if (owner->free_bytes_ + size <= max_kept) {
            owner->free_[power].push_back(data);
            owner->free_bytes_ += size;
            return;
        }
    }
    // Above 64 MB, or too much of it: give it back, page-locked memory is taken from everybody.
    if (owner->driver_->cuCtxSetCurrent(owner->context_) == success)
        owner->driver_->cuMemFreeHost(data);
}

} // namespace gpuscan::cuda
