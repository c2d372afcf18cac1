// What an expression is worth for the rows of a batch.
//
// An evaluator belongs to one thread. It keeps the vector of every node for the batch it was asked about last (batches
// are told apart by their epoch), so that a subexpression shared by filter, keys and aggregates is worked out once.
// Values exist only for rows that are still in the batch, and are dense: no loop below looks at a row that was dropped,
// so only rows that really reach an expression can raise its error. The arms of CASE and COALESCE, and the right side of
// an AND or OR that can raise an error, see a smaller batch of their own, a level deeper, with vectors of its own; what an outer
// batch has worked out they take from there. So each node is worked out at most once for the rows of a batch and once for each
// arm that it alone stands in, as PostgreSQL does, and never once for each way that leads to it.
#pragma once

#include <vector>

#include "engine/device.hpp"
#include "engine/ir/program.hpp"
#include "host/batch.hpp"
#include "host/join_table.hpp"
#include "host/kernels/kernels.hpp"
#include "host/number_set.hpp"
#include "host/step_table.hpp"

namespace gpuscan::host {

// A comparison that says whether a number is one of a table's: x = Lookup(Search(x, table), table).
struct Membership {
    ir::Index argument, table;
    MadeWhenWorth<NumberSet> set;

    Membership(ir::Index of, ir::Index in) : argument(of), table(in) {}
};

// What every thread of an execution reads.
struct Context {
    Context() = default;
    explicit Context(const Program &program); // no lookup is set, no table finished

    Program program;
    std::vector<ir::Index> canonical; // of each node: the first node that says the same
    std::vector<uint8_t> raises;      // of each node: evaluating it can raise an error
    std::vector<StepNode> chains;
    std::vector<std::unique_ptr<StepTable>> steps; // of each node; nullptr: it is no chain that is worth a table
    std::vector<std::unique_ptr<MadeWhenWorth<StepNumbers>>> searches; // of each node; nullptr: it is no Search
    std::vector<std::unique_ptr<Membership>> memberships;              // of each node; nullptr: it asks for none
    std::vector<int128> constants;                                     // their bits, aligned for vector loads
    std::vector<LookupRef> lookups;                                    // nullptr: not set
    std::vector<std::shared_ptr<JoinTable>> tables;                    // by pipeline; nullptr: not finished
    WorkMemoryRef memory;                // that evaluators' vectors are charged to; nullptr: nobody counts
    std::vector<uint8_t *> matched_rows; // by join, by entry: it was a row's partner; nullptr: nobody will ask
};

class Evaluator {
  public:
    Evaluator(const Context &context, const ir::Pipeline &pipeline) : context_(context), pipeline_(pipeline) {}

    ~Evaluator();
    Evaluator(const Evaluator &) = delete;
    Evaluator &operator=(const Evaluator &) = delete;

    void set_chunk(const ChunkView *chunk) { chunk_ = chunk; }
    static void renew(Batch &batch) { batch.epoch = ++next_epoch(); }

    Vec evaluate(ir::Index expr, const Batch &batch);
    // The same, one value per row even for a constant.
    Vec evaluate_full(ir::Index expr, const Batch &batch) { return full(expr, evaluate(expr, batch), batch); }

    static void subset(const Batch &from, const uint32_t *positions, uint32_t n, BatchStorage &storage, Batch &to);

  private:
    struct Slot {
        uint64_t epoch = 0;
        Vec vec;
        std::unique_ptr<uint8_t[]> values, nulls, broadcast, broadcast_nulls;
    };
    struct Level {                                // of nested arms
        std::vector<std::unique_ptr<Slot>> slots; // by expression; nullptr: never asked for at this level
        BatchStorage storage, rest_storage;
        std::unique_ptr<uint32_t[]> taken, left, rest; // positions of the parent batch
    };
    static constexpr size_t positions_bytes = (batch_rows + batch_slack) * sizeof(uint32_t);

    static uint64_t &next_epoch();
    void charge(size_t bytes);
    void *buffer(std::unique_ptr<uint8_t[]> &memory, size_t width);

    Level &level(size_t depth);
    Slot &slot(ir::Index expr, const Batch &batch);
    // The batch, or the first of those that it is a part of, for which the expression is worked out; nullptr: none.
    const Batch *knower(ir::Index expr, const Batch *batch) const;
    static void part(const Batch &from, const uint32_t *positions, uint32_t n, BatchStorage &storage, Batch &to);
    bool inherit(ir::Index expr, const Batch &batch, Slot &to);
    Vec compute(ir::Index expr, const Batch &batch);
    Vec full(ir::Index expr, Vec vec, const Batch &batch);
    const uint8_t *either_null(Slot &to, Vec a, Vec b, size_t n);
    Vec column(const ir::Expr &e, Slot &to, const Batch &batch);
    Vec outer_payload(const PayloadColumn &payload, const uint32_t *entries, uint32_t n, Slot &to);
    Vec binary(ir::Index expr, const Batch &batch);
    Vec unary(ir::Index expr, const Batch &batch);
    Vec logic(ir::Index expr, const Batch &batch);
    Vec undecided(ir::Index expr, Vec left, const Batch &batch);
    Vec truth(ir::Index expr, const Batch &batch);
    Vec lookup(ir::Index expr, const Batch &batch);
    Vec search(ir::Index expr, const Batch &batch);
    Vec member(ir::Index expr, const NumberSet &set, const Batch &batch);
    Vec step(ir::Index expr, const StepChoices &choices, const Batch &batch);
    Vec conditional(ir::Index expr, const Batch &batch);
    Vec coalesce(ir::Index expr, const Batch &batch);
    void put(Vec v, const uint32_t *positions, uint32_t n, Slot &to, size_t width, bool &any_null, const Batch &batch);

    const Context &context_;
    const ir::Pipeline &pipeline_;
    const Kernels &k_ = kernels();
    const ChunkView *chunk_ = nullptr;
    std::vector<std::unique_ptr<Level>> levels_;
    size_t charged_ = 0; // to the context's account
};

// The one message of all SQL errors: the CPU plan finds out which it is.
[[noreturn]] void raise_row_error();

} // namespace gpuscan::host
