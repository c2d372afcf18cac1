// What flows through a pipeline of the host device: batches of rows, and vectors of values for the rows of a batch.
//
// A batch holds no values, only where its rows are: the row of the chunk, and per join passed the entry of its table.
// Filters and probes shrink these index vectors; values are fetched for the rows that are left, when somebody asks.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/ir/ir.hpp"

namespace gpuscan::host {

// 2048 rows: the vectors of an ordinary expression stay in the L1 and L2 caches (Boncz et al., MonetDB/X100).
constexpr uint32_t batch_rows = 2048;
constexpr uint32_t batch_slack = 64;       // vector stores may write this many values too many
constexpr uint32_t no_entry = 0xffffffffu; // of a join's table: the row has no partner (ir::keeps_rows)

// One value per row of a batch, or one for all of them.
struct Vec {
    const void *values = nullptr;
    const uint8_t *nulls = nullptr; // 1 = NULL; nullptr: no NULL
    bool constant = false;          // values[0], nulls[0] stand for every row

    template <class T> const T *as() const { return static_cast<const T *>(values); }
    bool null_constant() const { return constant && nulls != nullptr && nulls[0] != 0; }
};

// Value number `at` of an array of I16, I32 or I64.
inline int64_t integer_at(Type type, const void *values, size_t at) {
    switch (type) {
    case Type::I16:
        return static_cast<const int16_t *>(values)[at];
    case Type::I32:
        return static_cast<const int32_t *>(values)[at];
    default:
        return static_cast<const int64_t *>(values)[at];
    }
}

struct Batch {
    uint32_t n = 0;
    bool identity = false; // rows are base, base + 1, ...; `rows` is not set
    uint32_t base = 0;
    uint32_t *rows = nullptr;              // of the chunk
    uint32_t *entries[ir::max_joins] = {}; // of the tables of the joins passed; nullptr where nobody will ask
    uint64_t epoch = 0;                    // changes whenever the rows change; names them in caches
    // A part of another batch, in an arm of a conditional (evaluator.hpp):
    uint32_t level = 0;                  // how many batches it is a part of
    const Batch *parent = nullptr;       // nullptr: none
    const uint32_t *positions = nullptr; // of its rows in the parent
};

// The index vectors of one batch.
struct BatchStorage {
    std::unique_ptr<uint32_t[]> rows{new uint32_t[batch_rows + batch_slack]};
    std::unique_ptr<uint32_t[]> entries[ir::max_joins];

    uint32_t *entries_of(uint32_t join) {
        if (!entries[join])
            entries[join].reset(new uint32_t[batch_rows + batch_slack]);
        return entries[join].get();
    }
};

} // namespace gpuscan::host
