// Which pages of a device's cache has WAL named? See wal_follower.hpp.
#include "server/wal_follower.hpp"

#include <algorithm>
#include <new>

#include "engine/util/monotonic_clock.hpp"

namespace gpuscan {
namespace {

constexpr uint64_t read_by_a_query = uint64_t(8) << 20; // bytes: 5 ms, of records of 100 bytes
constexpr uint64_t read_in_one_go = uint64_t(4) << 20;  // behind the queries, while one may wait for it
constexpr int goes = 8;                                 // ... between two beats of the process's heart
constexpr uint64_t read_at_all = uint64_t(256) << 20;   // 0.2 s: so long it takes to compare some millions of pages
constexpr uint64_t asked_lately = uint64_t(60) * 1000000000; // ns
// The cache's mutex is held meanwhile: 25 us, or some hundreds where all are of other chunks.
constexpr size_t told_at_once = 512;

static_assert(Cache::Reference::whole_file == WalReference::whole_file);

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
    if (told == 0 || to.timeline != timeline_ || to.end - told > read_at_all)
        return begin(to);
    asked_for_ = std::max(asked_for_, to.end);
    return to.end - told <= read_by_a_query && read(to.end);
}

bool WalFollower::is_wanted() const {
    const uint64_t asked = asked_ns_.load(std::memory_order_relaxed);
    return asked != 0 && monotonic_ns() < asked + asked_lately;
}

// Whoever holds the lock reads as well, and may have to wait for a file: the process's heart must not.
void WalFollower::keep_up(uint64_t end) {
    for (int go = 0; go < goes; ++go) {
        std::unique_lock<std::mutex> guard(lock_, std::try_to_lock);
        if (!guard)
            return;
        if (!is_wanted()) {
            if (reader_)
                reader_->close_file();
            return;
        }
        const uint64_t told = told_.load(std::memory_order_relaxed);
        end = std::max(end, asked_for_);
        if (told == 0 || end <= told || end - told > read_at_all)
            return;
        if (!read(std::min(end, told + read_in_one_go)))
            return;
    }
}

// Of what lies before nothing is told.
bool WalFollower::begin(const WalPosition &to) {
    give_up();
    WalPosition before = to;
    --before.end; // (the page at which WAL ends may not be there yet)
    reader_ = std::make_unique<WalReader>(directory_, before);
    timeline_ = to.timeline;
    asked_for_ = to.end;
    if (!reader_->read(to.end, [](const WalReference &) {}) || reader_->first() == 0) {
        reader_.reset();
        return false;
    }
    // (The record at the end may have begun on an earlier page, and is not read. Nothing is taken to be known before the first one
    // behind it.)
    cache_.begin_following(std::max(to.end, reader_->first()));
    told_.store(to.end, std::memory_order_release);
    return true;
}

// Without the memory for what it is told the cache forgets all: it is nobody's error.
bool WalFollower::read(uint64_t to) {
    bool whole = false;
    try {
        whole = tell_cache(to);
    } catch (const std::bad_alloc &) {
        whole = false;
    }
    if (whole)
        told_.store(to, std::memory_order_release);
    else
        give_up();
    return whole;
}

bool WalFollower::tell_cache(uint64_t to) {
    references_.clear();
    const bool whole = reader_->read(to, [&](const WalReference &name) {
        if (name.fork != 0)
            return;
        if (references_.size() >= told_at_once && name.end != references_.back().end) { // (a record's blocks together)
            cache_.note_references(references_, references_.back().end);
            references_.clear();
        }
        references_.push_back({{name.tablespace, name.database, name.relation}, name.block, name.end, name.tidies});
    });
    if (whole)
        cache_.note_references(references_, to);
    return whole;
}

void WalFollower::give_up() {
    told_.store(0, std::memory_order_release);
    reader_.reset();
    cache_.begin_following(QuietPages::never);
}

} // namespace gpuscan
