// Sources that several sessions stage together; see shared_source.hpp.
#include "server/shared_source.hpp"

#include <iterator>
#include <random>

namespace gpuscan {

namespace {

// A pass is full when it keeps this part of the cache from being evicted, or this part of it is nobody else's.
constexpr size_t held_part = 2, private_part = 8;

} // namespace

bool SharedSource::is_staged(uint32_t chunk) const {
    std::lock_guard<std::mutex> guard(lock_);
    return chunk < staged_.size() && staged_[chunk];
}

bool SharedSource::note_staged(uint32_t chunk) {
    std::lock_guard<std::mutex> guard(lock_);
    if (staged_.size() <= chunk)
        staged_.resize(chunk + 1);
    if (staged_[chunk])
        return false;
    staged_[chunk] = true;
    return true;
}

bool SharedSource::forget_staged() {
    std::lock_guard<std::mutex> guard(lock_);
    staged_.clear();
    return delivered_.empty();
}

void SharedSource::add(const HeldChunk &chunk) {
    load->bytes.fetch_add(chunk.bytes, std::memory_order_relaxed);
    load->private_bytes.fetch_add(chunk.is_private ? chunk.bytes : 0, std::memory_order_relaxed);
}

void SharedSource::count(const HeldChunk &chunk) { add(chunk); }

void SharedSource::discount(size_t bytes, size_t private_bytes) {
    load->bytes.fetch_sub(bytes, std::memory_order_relaxed);
    load->private_bytes.fetch_sub(private_bytes, std::memory_order_relaxed);
}

void SharedSource::deliver(HeldChunk chunk) {
    std::lock_guard<std::mutex> guard(lock_);
    if (closed_)
        return; // (freed after the lock: the argument outlives the guard)
    add(chunk);
    delivered_.push_back(std::move(chunk));
}

std::vector<HeldChunk> SharedSource::collect() {
    std::lock_guard<std::mutex> guard(lock_);
    return std::exchange(delivered_, {});
}

void SharedSource::offer(std::shared_ptr<ChunkInWork> build) {
    std::lock_guard<std::mutex> guard(lock_);
    build_.swap(build); // (the old one goes after the lock)
}

std::shared_ptr<ChunkInWork> SharedSource::offered() const {
    std::lock_guard<std::mutex> guard(lock_);
    return build_;
}

void SharedSource::close() {
    std::vector<HeldChunk> dropped; // let go outside the lock
    offer(nullptr);
    std::lock_guard<std::mutex> guard(lock_);
    closed_ = true;
    dropped = std::exchange(delivered_, {});
}

bool SharedSource::is_closed() const {
    std::lock_guard<std::mutex> guard(lock_);
    return closed_;
}

bool PassLoad::full(size_t cache_budget) const {
    return bytes.load(std::memory_order_relaxed) > cache_budget / held_part ||
           private_bytes.load(std::memory_order_relaxed) > cache_budget / private_part;
}

uint64_t Shares::offer(const std::shared_ptr<ServedDevice> &device, const std::shared_ptr<SharedSource> &source) {
    static thread_local std::random_device random;
    std::lock_guard<std::mutex> guard(lock_);
    for (auto old = offers_.begin(); old != offers_.end();)
        old = old->second.source.expired() ? offers_.erase(old) : std::next(old);
    for (;;) {
        const uint64_t ticket = uint64_t(random()) << 32 | random();
        if (ticket != 0 && offers_.emplace(ticket, Offer{device, source}).second)
            return ticket;
    }
}

Shares::Share Shares::find(uint64_t ticket) {
    std::lock_guard<std::mutex> guard(lock_);
    const auto found = offers_.find(ticket);
    if (found == offers_.end())
        return {};
    Share share = {found->second.device.lock(), found->second.source.lock()};
    return share.device && share.source && !share.source->is_closed() ? share : Share();
}

} // namespace gpuscan
