// The second pass of a right or full join: rows of the table that were no row's partner.
//
// While the main pipeline runs, in however many passes, the device notes which rows of such a join's table are partners
// (Execution::unmatched). Afterwards those that are none run through what is left of the pipeline, the steps behind the join,
// as the rows of a source of their own: their columns are the table's payload, and all that stands before them is NULL.
// That is a program like any other, so devices know nothing of it. Later joins of the pipeline note their partners in it,
// too; so the joins have their turns in the order of the pipeline, and a row of a later join's table is unmatched if it was
// so in all of the programs before.
#pragma once

#include <functional>

#include "engine/device.hpp"

namespace gpuscan {

// What join `step` (from 0) of the main pipeline leaves to be done, over one source more, the last one. Builds keep their
// numbers, and join `step + 1 + i` of the pipeline is join number program.joins.size() + i of the result.
Program program_of_unmatched(const Program &program, ir::Index step);

// Does a join of the main pipeline keep its table's rows?
bool has_unmatched(const Program &program);

// What remains when `main` has run the main pipeline for the last time. `prepare` makes an execution whose lookups are set
// like those of `main`, on the same device; `run` runs its main pipeline over these chunks, and answers whether more is wanted.
void run_unmatched(const Program &program, Execution &main,
                   const std::function<std::unique_ptr<Execution>(const Program &)> &prepare,
                   const std::function<bool(Execution &, const std::vector<ChunkView> &)> &run);

} // namespace gpuscan
