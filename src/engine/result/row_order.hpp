// How rows compare in an order: by numbers of 64 bits as far as these go, then by the keys.
//
// A row's number is the first 64 bits of its keys, written so that they order as the keys do: NULL or not (where a key may be
// NULL), then the value with its sign bit turned, of floats as IEEE 754 orders them (NaN last, -0 like 0); DESC turns all bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "engine/device.hpp"

namespace gpuscan {

// A column by which rows are ordered, most significant first. Any type but Code.
struct SortColumn {
    size_t column;
    Type type;
    bool descending, nulls_first;
};

// A row: its number, and where it is.
struct RowEntry {
    uint64_t prefix;
    uint32_t block, row;
};

class RowOrder {
  public:
    RowOrder() = default;
    // nullable: per key, whether its columns may have NULLs.
    RowOrder(std::vector<SortColumn> keys, std::vector<bool> nullable);

    const std::vector<SortColumn> &keys() const { return keys_; }
    // The numbers say all: rows with equal ones have equal keys.
    bool whole() const { return whole_; }
    // The numbers of rows [first, first + n).
    void prefixes(const RowBlock &block, size_t first, size_t n, uint64_t *out) const;
    // By the keys.
    bool before(const RowBlock &x, size_t row_of_x, const RowBlock &y, size_t row_of_y) const;

  private:
    std::vector<SortColumn> keys_;
    std::vector<bool> nullable_;
    bool whole_ = true;
};

// Calls visit(i, entry) for rows [first, last) of a table.
template <class Visit>
void each_number(const RowTable &rows, const RowOrder &order, size_t first, size_t last, const Visit &visit) {
    constexpr size_t at_once = 1024;
    uint64_t numbers[at_once];
    size_t begin = 0; // of the block
    for (size_t b = 0; b < rows.blocks.size() && begin < last; begin += rows.blocks[b++].nrows) {
        const size_t end = std::min(last, begin + rows.blocks[b].nrows);
        for (size_t i = std::max(first, begin); i < end;) {
            const size_t n = std::min(at_once, end - i);
            order.prefixes(rows.blocks[b], i - begin, n, numbers);
            for (size_t k = 0; k < n; ++k, ++i)
                visit(i, RowEntry{numbers[k], static_cast<uint32_t>(b), static_cast<uint32_t>(i - begin)});
        }
    }
}

// The first types.size() columns of n rows of a table, in the order of the entries; types are theirs.
RowBlock gather_rows(const RowTable &rows, const RowEntry *entries, size_t n, const std::vector<Type> &types,
                     const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel);

// Throws Cancelled if it is set. Nobody cancels: nullptr.
void stop_if(const std::atomic<uint32_t> *cancel);

} // namespace gpuscan
