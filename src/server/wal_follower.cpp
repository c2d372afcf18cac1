// Which pages of a device's cache has WAL named? See wal_follower.hpp.
#include "server/wal_follower.hpp"

#include <algorithm>

#include "engine/util/monotonic_clock.hpp"

namespace gpuscan {
namespace {

constexpr uint64_t read_by_a_query = uint64_t(8) << 20; // bytes: 5 ms, of records of 100 bytes
constexpr uint64_t read_behind_it = uint64_t(32) << 20; // at a time; the process's heart does not beat meanwhile
constexpr uint64_t read_at_all = uint64_t(256) << 20;   // 0.2 s: so long it takes to compare some millions of pages
constexpr uint64_t asked_lately = uint64_t(60) * 1000000000; // ns
constexpr size_t told_at_once = 512;                         // the cache's mutex is held meanwhile: 25 us

} // namespace

bool WalFollower::follow(const WalPosition &to) {
    if (to.end == 0 || to.segment_size == 0 || to.segment_size % wal_page_bytes != 0)
        return false;
    asked_ns_.store(monotonic_ns(), std::memory_order_relaxed);
    if (told_.load(std::memory_order_acquire) >= to.end)
        return true;
    std::lock_guard<std::mutex> guard(lock_);
    const uint64_t told = told_.load(std::memory_order_relaxed);
    if (told >= to.end)
        return true;
    if (told == 0 || to.timeline != began_.timeline || to.end - told > read_at_all)
        return begin(to);
    return to.end - told <= read_by_a_query && read(to.end);
}

bool WalFollower::is_wanted() const {
    const uint64_t asked = asked_ns_.load(std::memory_order_relaxed);
    return asked != 0 && monotonic_ns() < asked + asked_lately;
}

void WalFollower::keep_up(uint64_t end) {
    std::lock_guard<std::mutex> guard(lock_);
    const uint64_t told = told_.load(std::memory_order_relaxed);
    if (told != 0 && end > told && end - told <= read_at_all)
        read(std::min(end, told + read_behind_it));
}

// Of what lies before nothing is told.
bool WalFollower::begin(const WalPosition &to) {
    give_up();
    WalPosition before = to;
    --before.end; // (the page at which WAL ends may not be there yet)
    reader_ = std::make_unique<WalReader>(directory_, before);
    began_ = to;
    if (!reader_->read(to.end, [](const WalReference &) {}) || reader_->first() == 0) {
        reader_.reset();
        return false;
    }
    // (The record at the end may have begun on an earlier page, and is not read. That it was written is seen in what it wrote: nothing is
    // taken to be known before the first record behind it.)
    cache_.begin_following(std::max(to.end, reader_->first()));
    told_.store(to.end, std::memory_order_release);
    return true;
}

bool WalFollower::read(uint64_t to) {
    bool told = false;
    try {
        told = tell_cache(to);
    } catch (...) { // (without the memory for what it was told)
        give_up();
        throw;
    }
    if (told)
        told_.store(to, std::memory_order_release);
    else
        give_up();
    return told;
}

bool WalFollower::tell_cache(uint64_t to) {
    references_.clear();
    const auto tell = [&](uint64_t told) {
        cache_.note_references(references_, told);
        references_.clear();
    };
    const bool whole = reader_->read(to, [&](const WalReference &name) {
        if (name.fork != 0)
            return;
        references_.push_back({{name.tablespace, name.database, name.relation}, name.block, name.end});
        if (references_.size() == told_at_once)
            tell(name.end);
    });
    if (whole)
        tell(to);
    return whole;
}

void WalFollower::give_up() {
    told_.store(0, std::memory_order_release);
    reader_.reset();
    cache_.begin_following(QuietPages::never);
}

} // namespace gpuscan
