// What a device holds now, for those who plan: of each column, how many pages of its relation are cached.
//
// A table of fixed size in shared memory. The cache of one device writes it, under the cache's mutex, each time that it
// exchanges a version of a chunk; any process reads it without a lock. It is a set-associative table, as a processor's cache
// is: a column has one bucket of eight slots, and takes one whose count is 0. Who finds none free is not counted, and then
// looks as if nothing of it was cached. Keys are kept as 64-bit fingerprints: two columns may have the same, once in 10^11
// pairs of full tables. Both only make an estimate worse.
//
// Attribute 0 stands for the pages of which the cache knows the rows, whatever columns it has of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gpuscan {

// A column of a relation: RelFileLocator and attribute number.
struct ResidentColumn {
    uint32_t tablespace, database, relation, attnum;
};

class Residency {
  public:
    // Adds `pages` (which may be negative) to a column's count. One writer at a time.
    void add(const ResidentColumn &column, int64_t pages);
    // Pages of the column that are cached. Columns of one attribute that are cached in several layouts count together.
    uint64_t pages(const ResidentColumn &column) const;
    // Nothing is cached. No other writer may be there.
    void clear();

  private:
    static constexpr size_t buckets = 1024, ways = 8;
    struct Slot {
        std::atomic<uint64_t> fingerprint;
        std::atomic<uint64_t> pages; // 0: the slot is free
    };
    static uint64_t fingerprint(const ResidentColumn &column);

    Slot slots_[buckets][ways];
};

} // namespace gpuscan
