// The table of a lookup: what an expression makes of every entry of a dictionary, and of NULL.
//
// Filled once, then shared by executions, which do not copy it; a device keeps its own copy beside it for as long as it lives.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/ir/types.hpp"
#include "engine/util/work_memory.hpp"

namespace gpuscan {

// Ranks [first, last) of a table of ranks, of whose texts nobody knows the order: all have the rank `first`. They begin with the same
// `depth` bytes.
struct RoughRanks {
    uint32_t first, last, depth;
};

class LookupTable {
  public:
    // `memory`: the account that it is charged to for as long as it lives; nullptr: none. Throws OutOfWorkMemory.
    LookupTable(Type type, size_t entries, WorkMemoryRef memory = nullptr)
        : type(type), entries(entries),
          charge_(std::move(memory), sizeof(*this) + (entries + 1) * (type_width(type) + 1)),
          values((entries + 1) * type_width(type)), nulls(entries + 1), by_rank(charge_.memory) {}
    LookupTable(const LookupTable &) = delete;
    LookupTable &operator=(const LookupTable &) = delete;

    const Type type; // Bool, I32, I64, F64 or Code
    const size_t entries;

  private:
    const WorkCharge charge_; // before the arrays: what cannot be charged is not made

  public:
    std::vector<uint8_t> values; // of the entries, then of NULL
    std::vector<uint8_t> nulls;  // likewise, 1 = NULL
    WorkArray<uint32_t>
        by_rank; // of a table of ranks (text_order.hpp): the entry of each, the first of several; else empty
    std::vector<RoughRanks> rough; // of a table of ranks, ascending; none: every rank is a text's own

    // To be called when the table is filled: makes truths and flags 0 or 1, and finds out about the table what follows.
    void finish();
    bool any_null = false;
    bool has_range = false; // min and max bound the values that are not NULL (not F64); min > max: there are none
    int64_t min = 0, max = 0;
    uint64_t id = 0; // of a table that is cached (cached_lookups.hpp): unique in this process; else 0

    size_t bytes() const {
        return sizeof(*this) + values.capacity() + nulls.capacity() + by_rank.bytes() +
               rough.capacity() * sizeof rough[0];
    }

    // A device's copy, which it makes under the lock when it first needs it.
    struct DeviceCopy {
        virtual ~DeviceCopy() = default;
    };
    mutable std::mutex copy_lock;
    mutable std::shared_ptr<DeviceCopy> copy;
};
using LookupRef = std::shared_ptr<const LookupTable>;

} // namespace gpuscan
