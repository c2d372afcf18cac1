// Which rows does a pipeline deliver? Their expressions, as one thread worked them out, in blocks that are handed on as
// they are. A thread's first block grows to block_rows rows, so that one which meets few rows takes little memory; the next
// ones are made large at once, and their rows are copied once, from the vectors of a batch, and never moved again.
#pragma once

#include <memory>
#include <vector>

#include "engine/host/evaluator.hpp"

namespace gpuscan::host {

class RowSink {
  public:
    RowSink(const Program &program, const ir::Pipeline &pipeline, WorkMemoryRef memory);
    void append(const Batch &batch, Evaluator &evaluator);
    // Moves all rows to the end of `to`.
    void hand_over(RowTable &to);

  private:
    void begin_block(size_t rows);

    const Program &program_;
    const ir::Pipeline &pipeline_;
    const WorkMemoryRef memory_;
    std::vector<std::shared_ptr<BuildRows>> blocks_;
};

} // namespace gpuscan::host
