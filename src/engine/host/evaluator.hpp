// What an expression is worth for the rows of a batch.
//
// An evaluator belongs to one thread. It keeps the vector of every node for the batch it was asked about last (batches
// are told apart by their epoch), so that a subexpression shared by filter, keys and aggregates is worked out once.
// Values exist only for rows that are still in the batch, and are dense: no loop below looks at a row that was dropped,
// so only rows that really reach an expression can raise its error. The arms of CASE and COALESCE, and the right side of
// an AND or OR that can raise an error, see a smaller batch of their own, one level deeper, with vectors of its own.
#pragma once

#include <vector>

#include "engine/device.hpp"
#include "engine/host/batch.hpp"
#include "engine/host/join_table.hpp"
#include "engine/host/kernels.hpp"
#include "engine/program.hpp"

namespace gpuscan::host {

// What every thread of an execution reads.
struct Context {
    Context() = default;
    explicit Context(const Program &program); // no lookup is set, no table finished

    Program program;
    std::vector<ir::Index> canonical;               // of each node: the first node that says the same
    std::vector<uint8_t> safe;                      // of each node: it can raise no error
    std::vector<int128> constants;                  // their bits, aligned for vector loads
    std::vector<LookupRef> lookups;                 // nullptr: not set
    std::vector<std::shared_ptr<JoinTable>> tables; // by pipeline; nullptr: not finished
    std::vector<uint8_t *> met; // by join, by entry: it was a row's partner; nullptr: nobody will ask
};

class Evaluator {
  public:
    Evaluator(const Context &context, const ir::Pipeline &pipeline) : context_(context), pipeline_(pipeline) {}

    void set_chunk(const ChunkView *chunk) { chunk_ = chunk; }
    static void renew(Batch &batch) { batch.epoch = ++next_epoch(); }

    Vec evaluate(ir::Index expr, const Batch &batch) { return evaluate(expr, batch, 0); }
    // The same, one value per row even for a constant.
    Vec evaluate_full(ir::Index expr, const Batch &batch) { return full(expr, evaluate(expr, batch, 0), batch, 0); }

    static void subset(const Batch &from, const uint32_t *positions, uint32_t n, BatchStorage &storage, Batch &to);

  private:
    struct Slot {
        uint64_t epoch = 0;
        Vec vec;
        std::unique_ptr<uint8_t[]> values, nulls, broadcast, broadcast_nulls;
    };
    struct Level { // of nested arms
        std::vector<Slot> slots;
        BatchStorage storage;
        std::unique_ptr<uint32_t[]> taken, left; // positions of the parent batch
    };

    static uint64_t &next_epoch();
    static void *buffer(std::unique_ptr<uint8_t[]> &memory, size_t width);

    Level &level(size_t depth);
    Slot &slot(ir::Index expr, size_t depth) { return level(depth).slots[expr]; }
    Vec evaluate(ir::Index expr, const Batch &batch, size_t depth);
    Vec compute(ir::Index expr, const Batch &batch, size_t depth);
    Vec full(ir::Index expr, Vec vec, const Batch &batch, size_t depth);
    const uint8_t *either_null(Slot &to, Vec a, Vec b, size_t n);
    Vec column(const ir::Expr &e, Slot &to, const Batch &batch);
    Vec outer_payload(const PayloadColumn &payload, const uint32_t *entries, uint32_t n, Slot &to);
    Vec binary(ir::Index expr, const Batch &batch, size_t depth);
    Vec unary(ir::Index expr, const Batch &batch, size_t depth);
    Vec logic(ir::Index expr, const Batch &batch, size_t depth);
    Vec undecided(ir::Index expr, Vec left, const Batch &batch, size_t depth);
    Vec truth(ir::Index expr, const Batch &batch, size_t depth);
    Vec lookup(ir::Index expr, const Batch &batch, size_t depth);
    Vec search(ir::Index expr, const Batch &batch, size_t depth);
    Vec conditional(ir::Index expr, const Batch &batch, size_t depth);
    Vec coalesce(ir::Index expr, const Batch &batch, size_t depth);
    void arm(ir::Index value, Slot &to, size_t width, bool &any_null, const uint32_t *positions, uint32_t n,
             const Batch &batch, size_t depth);

    const Context &context_;
    const ir::Pipeline &pipeline_;
    const Kernels &k_ = kernels();
    const ChunkView *chunk_ = nullptr;
    std::vector<std::unique_ptr<Level>> levels_;
};

// The one message of all SQL errors: the CPU plan finds out which it is.
[[noreturn]] void raise_row_error();

} // namespace gpuscan::host
