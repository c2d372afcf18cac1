// How rows compare in an order: by numbers of 64 bits as far as these go, then by the keys.
//
// A row's number is the first 64 bits of its keys, written so that they order as the keys do: NULL or not (where a key may be
// NULL), then how far the value is from the smallest (DESC: the largest) that there is, in no more bits than the range of values needs.
// Ranges are of the values with their sign bits turned, of floats as IEEE 754 orders them (NaN last, -0 like 0). So two integers and a
// time mostly fit into one number.
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

// Between which unsigned numbers of its type's width a key's values are, in their order; low > high: there are none but NULL.
struct KeyRange {
    uint128 low, high;
};

// A row: its number, and where it is.
struct RowEntry {
    uint64_t prefix;
    uint32_t block, row;
};

class RowOrder {
  public:
    RowOrder() = default;
    // nullable: per key, whether its columns may have NULLs. ranges: of each key's values; without them any value may come.
    RowOrder(const std::vector<SortColumn> &keys, std::vector<bool> nullable);
    RowOrder(std::vector<SortColumn> keys, std::vector<bool> nullable, std::vector<KeyRange> ranges);

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
    std::vector<KeyRange> ranges_;
    bool whole_ = true;
};

// Widens *range to the values that a key has in rows [first, first + n); start with no_values.
constexpr KeyRange no_values = {~uint128(0), 0};
void add_to_range(const SortColumn &key, const RowBlock &block, size_t first, size_t n, KeyRange *range);

constexpr size_t piece_rows = 1024;

// Calls visit(i, block, row, n) for pieces of rows [first, last) of a table: the first one's number in it, its block and place there.
template <class Visit> void each_piece(const RowTable &rows, size_t first, size_t last, const Visit &visit) {
    size_t begin = 0; // of the block
    for (size_t b = 0; b < rows.blocks.size() && begin < last; begin += rows.blocks[b++].nrows) {
        const size_t end = std::min(last, begin + rows.blocks[b].nrows);
        for (size_t i = std::max(first, begin); i < end; i += piece_rows)
            visit(i, b, i - begin, std::min(piece_rows, end - i));
    }
}

// Calls visit(i, entry) for rows [first, last) of a table.
template <class Visit>
void each_number(const RowTable &rows, const RowOrder &order, size_t first, size_t last, const Visit &visit) {
    each_piece(rows, first, last, [&](size_t i, size_t block, size_t row, size_t n) {
        uint64_t numbers[piece_rows];
        order.prefixes(rows.blocks[block], row, n, numbers);
        for (size_t k = 0; k < n; ++k)
            visit(i + k, RowEntry{numbers[k], static_cast<uint32_t>(block), static_cast<uint32_t>(row + k)});
    });
}

// The first types.size() columns of n rows of a table, in the order of the entries; types are theirs.
RowBlock gather_rows(const RowTable &rows, const RowEntry *entries, size_t n, const std::vector<Type> &types,
                     const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel);

// Throws Cancelled if it is set. Nobody cancels: nullptr.
void stop_if(const std::atomic<uint32_t> *cancel);

} // namespace gpuscan
