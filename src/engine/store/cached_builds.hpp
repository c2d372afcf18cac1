// What a device keeps now, for those who plan: of which builds it has the finished table (cached_join_tables.hpp).
//
// A build is known by its fingerprint (build_fingerprint.hpp). The device's CachedJoinTables writes, under its lock; any process reads
// without one. Who finds no free slot (count_table.hpp) displaces the build that was told first: that one looks as if its table
// were not there, which, like two builds with the same fingerprint, only makes an estimate worse.
#pragma once

#include "engine/store/count_table.hpp"

namespace gpuscan {

class CachedBuilds {
  public:
    // Is anything cached at all?
    bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
    bool has(uint64_t fingerprint) const { return fingerprint != 0 && table_.count(fingerprint) != 0; }

    // One writer at a time. Fingerprints are not 0.
    void add(uint64_t fingerprint);
    void remove(uint64_t fingerprint);
    void clear();

  private:
    CountTable<256> table_; // counts: which one it was that was told, from 1 on
    uint64_t last_;         // of the counts; the writer's
    std::atomic<uint32_t> count_;
};

} // namespace gpuscan
