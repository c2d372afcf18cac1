// What a device holds now, for those who plan: of each column, how many pages of its relation are cached.
//
// The cache of one device writes it, under the cache's mutex, each time that it exchanges a version of a chunk; any process reads
// it without a lock. Who finds no free slot (count_table.hpp) is not counted, and then looks as if nothing of it was cached; that,
// like two columns with the same fingerprint, only makes an estimate worse.
//
// Attribute 0 stands for the pages of which the cache knows the rows, whatever columns it has of them.
#pragma once

#include "engine/store/count_table.hpp"

namespace gpuscan {

// A column of a relation: RelFileLocator and attribute number.
struct ColumnLocator {
    uint32_t tablespace, database, relation, attnum;
};

class CacheStatistics {
  public:
    // Adds `pages` (which may be negative) to a column's count. One writer at a time.
    void add(const ColumnLocator &column, int64_t pages);
    // Pages of the column that are cached. Columns of one attribute that are cached in several layouts count together.
    uint64_t pages(const ColumnLocator &column) const;
    // Nothing is cached. No other writer may be there.
    void clear() { table_.clear(); }

  private:
    CountTable<1024> table_;
};

} // namespace gpuscan
