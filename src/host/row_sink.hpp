// Which rows does a pipeline deliver? Their expressions, as one thread worked them out, in blocks that are handed on as
// they are. A thread's first block grows to block_rows rows, so that one which meets few rows takes little memory; the next
// ones are made large at once, and their rows are copied once, from the vectors of a batch, and never moved again. Where only
// the first rows of an order are wanted (first_rows.hpp), a batch loses those that cannot be among them before the other
// expressions are worked out, and the thread keeps no more than a few times the rows that are wanted.
#pragma once

#include <memory>
#include <vector>

#include "engine/result/first_rows.hpp"
#include "host/evaluator.hpp"

namespace gpuscan::host {

class RowSink {
  public:
    // first: which rows are wanted, for all threads; nullptr: all.
    RowSink(const Program &program, const ir::Pipeline &pipeline, WorkMemoryRef memory, FirstRows *first);
    void append(const Batch &batch, Evaluator &evaluator);
    // Moves all rows to the end of `to`.
    void hand_over(RowTable &to);

  private:
    void begin_block(size_t rows);
    void store(const Batch &batch, Evaluator &evaluator);
    uint32_t choose(const Batch &batch, Evaluator &evaluator);
    void keep_first();

    const Program &program_;
    const ir::Pipeline &pipeline_;
    const WorkMemoryRef memory_;
    std::vector<std::shared_ptr<BuildRows>> blocks_;
    // Of the first rows:
    FirstRows *const first_;
    RowTable kept_;
    size_t stored_ = 0,
           enough_ = 0; // rows in blocks_, and with how many of them and of those kept a choice is worth it
    RowBlock keys_;     // of a batch
    std::unique_ptr<uint64_t[]> numbers_;
    std::unique_ptr<uint32_t[]> positions_;
    BatchStorage chosen_rows_;
    Batch chosen_;
};

} // namespace gpuscan::host
