// The table of one join: which build rows have this key, and what is their payload?
//
// Rows are collected first (BuildRows, one per thread), then the table is made in the form that its keys call for:
//
//   bitmap  unique keys from a small domain: one bit per possible key, in cache for any dimension table; a key's number
//           (key - min, several keys combined by strides) is at the same time its entry
//   dense   the same domain with duplicates, or too wide for payload by key: offsets by key number into the entries
//   hash    keys whose combined number fits in 62 bits: open addressing by that number, load at most 1/2
//   wide    all others (numeric keys beyond 64 bits, combinations without a number): open addressing by hash, the key
//           words compared with those of the first entry
//
// Of several keys in the last two forms, one whose values are few of those that could be is asked first, by a bit for each (the
// semi-join filter): most rows of a selective join end there, and only the others' keys are put together.
//
// Entries with one key lie side by side, so any number of matches is a range of entries. Payload is columnar, its
// integers as offsets from their minimum in 1, 2, 4 or 8 bytes. Rows with a NULL key are never collected.
//
// The table is made by all threads at once, by pieces of the collected rows (join_build.cpp). Where rows ask for intervals of their
// partners, a key's entries are put in order (join_intervals.cpp).
#pragma once

#include <string>
#include <vector>

#include "engine/device.hpp"
#include "host/batch.hpp"
#include "host/kernels/kernels.hpp"
#include "host/work.hpp"

namespace gpuscan::host {

// Rows of a Build sink as one thread saw them.
struct BuildRows {
    struct Column {
        Column(Type type, const WorkMemoryRef &memory) : type(type), values(memory), nulls(memory) {}
        Type type;
        WorkArray<uint8_t> values;
        WorkArray<uint8_t> nulls; // empty: no NULL so far
    };
    size_t n = 0;
    std::vector<Column> keys, payload;

    void append(Column &column, Vec vec, uint32_t count);
};

struct PayloadColumn {
    Type type = Type::I32;
    size_t stored = 4; // bytes of one value in `values`
    int64_t low = 0;   // what is added to it
    WorkArray<uint8_t> values;
    WorkArray<uint8_t> nulls; // empty: no NULL
    bool has_range = false;   // integer types, Bool, Code: over the values that are not NULL
    int64_t min = 0, max = -1;
};

// What a probe needs from its thread.
struct ProbeScratch {
    std::vector<uint64_t> packed = std::vector<uint64_t>(batch_rows + batch_slack);
    std::vector<uint8_t> invalid = std::vector<uint8_t>(batch_rows + batch_slack);
    std::vector<uint64_t> words; // wide keys, column by column
};

// What rows ask of the intervals of their partners, for each row of a batch.
struct IntervalProbe {
    Vec values;
    Type type = Type::I64; // I16, I32 or I64
    bool strict = false;   // equal to the bound is outside
};

class JoinTable : public BuiltTable {
  public:
    // What is asked of the table beside partners of rows.
    enum class Use {
        Partners,
        KeysOnly, // nothing more than which keys there are: a key stands for all of its rows, and there is no payload
        Rows,     // its rows: every entry is one
    };

    // Makes the table of the rows of all parts, which is used up.
    void build(const WorkContext &work, std::vector<BuildRows> &parts, Use use);

    // Puts the entries of each key in the order of `low`, or of `high` where there is no `low` (join_intervals.cpp). They have a bound for
    // each entry, NULL as the one that nothing reaches; one of them may be empty.
    void order_by_intervals(const WorkContext &work, WorkArray<int64_t> low, WorkArray<int64_t> high);
    bool has_intervals() const { return !low_.empty() || !reach_.empty(); }
    // Of the entries that probe() has found those that can hold the rows' values: `low` is not below an entry's, `high` not above. How
    // many rows are left.
    uint32_t narrow(const IntervalProbe &low, const IntervalProbe &high, uint32_t matched, uint32_t *positions,
                    uint32_t *entries, uint32_t *counts) const;

    // The rows of which it was made (of several with one key, if only keys are asked for, one), but without these, into empty columns
    // (join_change.cpp). False: it has not all of these, or too many others.
    bool read(const WorkContext &work, const std::vector<BuildRows> &without, BuildRows &rows) const;
    bool has_same_rows(const WorkContext &work, const JoinTable &other) const;

    size_t bytes() const override;
    ColumnStats key_bounds(ir::Index key) const override;
    bool unique() const { return unique_; }
    size_t rows() const { return rows_; }
    size_t entries() const { return entries_; }
    size_t payload_columns() const { return payload_.size(); }
    std::string describe() const;
    const PayloadColumn &payload(ir::Index column) const { return payload_[column]; }

    // Rows of the batch that have a match, as positions, and per such row its first entry and number of entries
    // (`counts` is left alone when every key is unique).
    uint32_t probe(const Vec *keys, uint32_t n, ProbeScratch &scratch, uint32_t *positions, uint32_t *entries,
                   uint32_t *counts) const;

  private:
    enum class Form { Empty, Bitmap, Dense, Hash, Wide };
    struct Key {
        Type type;
        int64_t min = 0, max = 0;
        uint64_t stride = 1;
        size_t word = 0; // Wide: index of its (first) word
    };
    struct Slot {
        uint64_t key; // Hash: the number; Wide: the hash
        uint32_t first, count;
    };
    class Builder;
    class Reader;

    // Hash, Wide: the slot of a key; nullptr: no entry has it.
    const Slot *find(uint64_t number, uint64_t at) const;
    template <class Equal> const Slot *find_words(uint64_t hash, Equal equal) const;
    const Slot *find_row(const Vec *keys, uint32_t row) const;
    bool equal_words(const uint64_t *words, size_t stride, uint32_t row, uint32_t entry) const;
    template <class Task> void each_run(const WorkContext &work, Task task) const;
    uint32_t probe_filtered(const Vec *keys, uint32_t n, uint32_t *positions, uint32_t *entries,
                            uint32_t *counts) const;

    Form form_ = Form::Empty;
    bool unique_ = true;
    size_t rows_ = 0, entries_ = 0;
    uint64_t domain_ = 0;
    std::vector<Key> keys_;
    WorkArray<uint32_t> bitmap_;
    WorkArray<uint32_t> offsets_; // Dense: domain + 1
    WorkArray<Slot> slots_;       // Hash, Wide
    uint64_t slot_mask_ = 0;
    size_t words_ = 0;                // Wide: words of a key
    WorkArray<uint64_t> entry_words_; // Wide: words_ per entry
    WorkArray<uint32_t> filter_;      // a bit for each value of key filter_key_ from filter_min_ on; empty: none
    size_t filter_key_ = 0;
    int64_t filter_min_ = 0;
    uint64_t filter_domain_ = 0;
    WorkArray<int64_t> low_;   // of each entry, ascending within a key; empty: not asked
    WorkArray<int64_t> reach_; // the highest `high` of a key's entries up to this one; empty: not asked
    std::vector<PayloadColumn> payload_;
};

// Have both the same rows? False, too, where that cannot be told (of tables of another device).
bool have_same_rows(const WorkContext &work, const BuiltTable &a, const BuiltTable &b);

// The 64-bit words that stand for values of `type`: one, for I128 two. Equal values have equal words.
void key_words(Type type, size_t n, const void *values, uint64_t *low, uint64_t *high);
inline size_t words_of(Type type) { return type == Type::I128 ? 2 : 1; }

} // namespace gpuscan::host
