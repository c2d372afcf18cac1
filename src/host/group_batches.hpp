// Groups of a result as batches of rows, for expressions over groups: conditions and sort keys.
//
// A batch of groups becomes a batch of columns, those that some expression reads, and the host device's own pipeline
// (pipeline.hpp) does with it what it does with rows: the same three-valued logic, order of evaluation and errors.
#pragma once

#include "host/pipeline.hpp"

namespace gpuscan::host {

// What the threads share.
struct GroupEvaluation {
    struct Column { // of the groups, as the expressions see it
        ir::Index step, index;
        Type type;
    };
    size_t nkeys = 0, naggregates = 0;
    std::vector<Column> columns;
    Context context; // of a program over the columns, with the expressions' numbers as they are in the query's

    // `conditions` (into the program's lists): what a group must pass. `lookups`: of the program, if any expression over
    // groups has some.
    GroupEvaluation(const Program &program, ir::Range conditions, const WorkMemoryRef &memory,
                    const std::vector<LookupRef> &lookups = {});

  private:
    ir::Index column_of(const ir::Expr &e);
};

// One thread's.
class GroupBatches {
  public:
    // `sink` gets the groups that pass, their rows being counted from `at` on.
    GroupBatches(const GroupEvaluation &scope, const std::atomic<uint32_t> *cancel, PipelineRunner::Sink sink);

    // Groups [at, at + n) of a table; n is at most batch_rows.
    void run(const GroupTable &groups, size_t at, size_t n);

  private:
    struct Buffer {
        std::unique_ptr<uint8_t[]> values, nulls;
    };

    void load(const GroupTable &groups, size_t column, size_t at, size_t n);

    const GroupEvaluation &scope_;
    std::vector<Buffer> buffers_;
    ChunkView chunk_;
    PipelineRunner runner_;
};

} // namespace gpuscan::host
