// Groups and their aggregate states, as one thread builds them up.
//
// The grouping is chosen before the first row and is the same for all threads:
//
//   none   no GROUP BY: one state per aggregate, reduced batch by batch
//   dense  every key comes from a known domain (bounds of a column, of a join's payload, of a lookup's entries): the group's
//          number is computed from the keys. In a small domain states lie in arrays by number. In a large one (sparse) few of
//          its groups may exist; then states lie in the order in which groups appear, and their numbers are looked up, in a
//          hash table as long as there are few of them, and in a table of all numbers from then on. Rows that lie in the
//          order of their keys, as those of many tables nearly do, find all of that in the cache, which no hash table
//          gives them
//   hash   open addressing by the key words, states lie in arrays in the order in which groups appear
//
// Per group one count of rows is kept, and per aggregate only how many arguments were NULL, so that columns without
// NULLs cost nothing to count. Small integers are added in 64 bits and carried over to 128 long before they could wrap.
//
// collect_groups makes one table of what the threads have: dense groups by number or by ranges of numbers, hashed ones by
// parts of the hash, so that all threads merge at once and each in a table that fits into its cache.
#pragma once

#include <string>
#include <vector>

#include "engine/ir/value_range.hpp"
#include "host/evaluator.hpp"
#include "host/work.hpp"

namespace gpuscan::host {

struct Grouping {
    enum class Form { None, Dense, Hash };
    struct Key {
        ir::Index expr;
        Type type;
        int64_t min = 0, max = -1; // Dense
        uint32_t stride = 0;       // Dense; NULL has the number max - min + 1
    };
    Form form = Form::None;
    uint32_t domain = 1;              // Dense: how many group numbers there are
    bool sparse = false;              // Dense: states only of the groups that exist
    uint32_t index_from = UINT32_MAX; // sparse: so many of them, from which on there is a table of all numbers
    std::vector<Key> keys;

    // Groups are added as they are met, and threads meet them in different orders.
    bool in_order_met() const { return form == Form::Hash || sparse; }
    const char *name() const { return form == Form::None ? "none" : form == Form::Dense ? "dense" : "hash"; }
};

// Of every value of the main pipeline, as far as it is known without looking at the rows.
ValueRanges ranges_of(const Context &context, const std::vector<ChunkView> &chunks);

// By the first `nkeys` of the keys.
Grouping plan_grouping(const WorkContext &work, const Context &context, const std::vector<ChunkView> &chunks,
                       ir::Index nkeys);

class DistinctValues;

class Aggregator {
  public:
    // `distincts`: hears of all rows by the numbers of their groups, from this worker; nullptr: nobody wants to.
    Aggregator(const Context &context, const Grouping &grouping, const WorkContext &work,
               DistinctValues *distincts = nullptr, unsigned worker = 0);
    void consume(const Batch &batch, Evaluator &evaluator);

    void end(); // nothing more will be consumed

    // What was consumed, by group. Of a dense grouping that is not sparse every number is a group, with or without rows.
    uint32_t groups() const { return groups_; }
    bool has_rows(uint32_t group) const { return rows_[group] != 0; }
    uint64_t hash(uint32_t group) const;                                // where groups are in the order met
    uint32_t number(uint32_t group) const { return number_of_[group]; } // where they are sparse
    // Key k of a group; the state of each aggregate.
    void key(uint32_t group, size_t k, ir::Value &value, uint8_t &null) const;
    void states(uint32_t group, ir::AggregateState *out) const;
    void prefetch(uint32_t group) const; // what the two above will read

  private:
    struct Accumulator {
        Accumulator(ir::AggregateKind kind, ir::Index arg, Type type, const WorkMemoryRef &memory)
            : kind(kind), arg(arg), type(type), nulls(memory), narrow(memory), wide(memory), real(memory),
              rest(memory) {}
        ir::AggregateKind kind;
        ir::Index arg;
        Type type;
        WorkArray<int64_t> nulls;  // per group, empty: no NULL so far
        WorkArray<int64_t> narrow; // Sum of I16 and I32 since the last carry; Min, Max and bits of up to 64 bits
        WorkArray<int128> wide;    // Sum; Min and Max of I128
        WorkArray<double> real;    // F64 and F32
        WorkArray<double> rest;    // LongSum: what `real` lacks
    };

    template <class T> void extend(WorkArray<T> &array, size_t size, T value);
    size_t room_for_more() const;
    void resize(uint32_t groups);
    void resize(Accumulator &a);
    void carry();
    void number_few(uint32_t n);
    void number_many(uint32_t n);
    void index_numbers();
    const uint32_t *number_dense(const Batch &batch, Evaluator &evaluator);
    const uint32_t *number_hash(const Batch &batch, Evaluator &evaluator);
    uint64_t hash(const uint64_t *words) const;
    uint32_t find(const uint64_t *words, uint64_t hash);
    size_t slot_of(uint64_t hash) const;
    void add_group();
    void grow();
    void update_one(Accumulator &a, Vec v, uint32_t n);
    void update_many(Accumulator &a, Vec v, uint32_t n, const uint32_t *ids);
    ir::AggregateState state(const Accumulator &a, uint32_t group) const;

    const Context &context_;
    const Grouping &grouping_;
    const WorkContext &work_;
    DistinctValues *const distincts_;
    const unsigned worker_;
    const Kernels &k_ = kernels();
    uint32_t groups_ = 0;
    size_t capacity_ = 0;
    WorkArray<int64_t> rows_; // per group
    std::vector<Accumulator> accumulators_;
    std::vector<uint32_t> ids_ = std::vector<uint32_t>(batch_rows + batch_slack);
    uint64_t since_carry_ = 0;

    // Sparse: the number of each group; and from index_from on the group + 1 of each number, 0 = none yet.
    WorkArray<uint32_t> number_of_, group_of_;
    uint32_t index_from_;

    // Hash: a group's words are one or two per key and one of NULL flags.
    size_t words_ = 0;
    std::vector<size_t> key_word_; // of each key: its (first) word
    WorkArray<uint64_t> group_words_;
    std::vector<uint64_t> columns_, row_words_;

    // Hash, and sparse below index_from: upper half of the hash (all of a number's), group + 1; 0 = empty.
    WorkArray<uint64_t> slots_;
};

// The groups of all threads, as one table. Uses the aggregators up (nullptr: a thread that saw no row).
GroupTable collect_groups(const WorkContext &work, const Context &context, const Grouping &grouping,
                          std::vector<std::unique_ptr<Aggregator>> &threads);

} // namespace gpuscan::host
