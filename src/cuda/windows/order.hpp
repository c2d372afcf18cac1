// In which order do rows in device memory come, and where do partitions begin?
//
//   ranges  of each key's values, found once
//   words   as in engine/result/row_order.hpp a row's keys become bits, as few as the ranges need. Where 64 do not hold them, there are
//           several words, none of which divides a key
//   sort    by the words, from the last one on (device/radix_sort.cuh)
//   edges   rows that differ from the one before in a word begin a partition, or a group of rows that tie
//
// Rows with equal keys come in any order.
#pragma once

#include <vector>

#include "cuda/windows/row_kernels.hpp"
#include "engine/result/row_order.hpp"

namespace gpuscan::cuda {

// A column in device memory.
struct HeldColumn {
    Type type = Type::I64;
    BufferRef values, nulls; // nulls: nullptr where there are none

    FlatColumn flat() const {
        return {values->data, nulls ? static_cast<const uint8_t *>(nulls->data) : nullptr, static_cast<uint32_t>(type),
                0};
    }
};

class WindowOrder {
  public:
    // Of the first columns of rows, that stay as they are; any type but Code.
    WindowOrder(RowKernels &kernels, const std::vector<HeldColumn> &columns, uint64_t rows);

    // The bits of these keys. False: some value has more than 64.
    bool plan(const std::vector<SortColumn> &keys, size_t partition);
    // Numbers of rows in the order that was planned. nullptr: they stand in it.
    BufferRef sort(uint64_t rows);
    // The edges of rows in the order that was planned, or in one that begins with it.
    BufferRef edges(const BufferRef &numbers, uint64_t rows);
    // The rows, or some of them, stand in another order.
    void moved(const std::vector<HeldColumn> &columns, uint64_t rows) {
        columns_ = columns;
        rows_ = rows;
    }

  private:
    struct Word {
        std::vector<windows::WordField> fields;
        unsigned bits = 0;
        uint64_t partition_bits = 0;
    };
    const windows::OrderRange &range(size_t column);
    void add(windows::WordField field, unsigned bits, bool of_partition);
    void make(const Word &word, const BufferRef &numbers, uint64_t rows, uint64_t *to);
    BufferRef sort_by(const Word &word, BufferRef numbers, uint64_t rows);

    RowKernels &kernels_;
    std::vector<HeldColumn> columns_;
    uint64_t rows_;
    std::vector<windows::OrderRange> ranges_;
    std::vector<uint8_t> known_; // ranges
    std::vector<Word> words_;    // the last one first
    BufferRef sorted_;           // what sort() has left of the first one, in order
};

} // namespace gpuscan::cuda
