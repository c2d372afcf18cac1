// PostgreSQL's cost functions with one signature for all versions, and the sizes that they compute for themselves.
#pragma once

#include "pg/pg.h"

#include <cmath>

#include "engine/cost/storage_cost.hpp"
#include "pg/page_costs/page_cost_model.h"

namespace gpuscan {

inline void cost_sort_of(Path *result, PlannerInfo *root, List *pathkeys, const Path *input, double rows,
                         double limit) {
    cost_sort(result, root, pathkeys, INPUT_DISABLED_NODES(input) input->total_cost, rows, input->pathtarget->width,
              0.0, work_mem, limit);
}

inline void cost_incremental_sort_of(Path *result, PlannerInfo *root, List *pathkeys, int presorted, const Path *input,
                                     double limit) {
    cost_incremental_sort(result, root, pathkeys, presorted, INPUT_DISABLED_NODES(input) input->startup_cost,
                          input->total_cost, input->rows, input->pathtarget->width, 0.0, work_mem, limit);
}

inline void cost_material_of(Path *result, const Path *input) {
    cost_material(result, INPUT_DISABLED_NODES(input) input->startup_cost, input->total_cost, input->rows,
                  input->pathtarget->width);
}

// A hash aggregation without aggregates.
inline void cost_distinct_of(Path *result, PlannerInfo *root, const Path *input, double rows, int columns,
                             double groups) {
    cost_agg(result, root, AGG_HASHED, nullptr, columns, groups, NIL, INPUT_DISABLED_NODES(input) input->startup_cost,
             input->total_cost, rows, input->pathtarget->width);
}

inline void initial_cost_of_merge(PlannerInfo *root, JoinCostWorkspace *workspace, const MergePath *path,
                                  JoinPathExtraData *extra) {
    const JoinPath *join = &path->jpath;
    initial_cost_mergejoin(root, workspace, join->jointype, path->path_mergeclauses, join->outerjoinpath,
                           join->innerjoinpath, path->outersortkeys, path->innersortkeys,
                           OUTER_PRESORTED_KEYS(path) extra);
}

// ---- sizes (relation_byte_size and page_size of costsize.c) ----

inline double bytes_of(double rows, int width) {
    return rows * static_cast<double>(MAXALIGN(width) + MAXALIGN(SizeofHeapTupleHeader));
}
inline double pages_of(double rows, int width) { return std::ceil(bytes_of(rows, width) / BLCKSZ); }
inline double sort_memory() { return work_mem * 1024.0; }
inline bool is_spilled(double rows, int width) { return bytes_of(rows, width) > sort_memory(); }
inline bool is_spilled(const Path *path) { return is_spilled(path->rows, path->pathtarget->width); }

inline double passes_of(double rows, int width) {
    return storage::merge_passes(bytes_of(rows, width), sort_memory(),
                                 tuplesort_merge_order(work_mem * INT64CONST(1024)));
}

// What an external sort of all these rows costs beyond its comparisons: by the model, and by PostgreSQL.
inline Cost sort_files(const storage::PageCosts &costs, double rows, int width) {
    return is_spilled(rows, width) ? storage::sort(costs, pages_of(rows, width), passes_of(rows, width)) : 0;
}
inline Cost stock_sort_files(storage::Surrogate costs, double rows, int width) {
    return is_spilled(rows, width) ? storage::stock_sort(costs, pages_of(rows, width), passes_of(rows, width)) : 0;
}

// Pages that a hash aggregation writes, and as many that it reads (the disk costs in cost_agg).
double hash_aggregate_pages(const PlannerInfo *root, double rows, int width, double groups, Size transition_space);

// The cost of a page of the sorts within an incremental sort, in one pass: they have the rows of one group each, and how
// many these are only PostgreSQL's formula knows. 0: they fit into memory.
Cost incremental_sort_page(const storage::PageCosts &costs, PlannerInfo *root, List *pathkeys, int presorted,
                           const Path *input, double limit);

// How many different values an expression has; `is_guess`: without statistics.
double distinct_values(PlannerInfo *root, const Node *value, bool *is_guess);

// PostgreSQL keeps a relation's paths in order of their costs, and the first one of several that cost the same.
void order_by_cost(List *paths);

} // namespace gpuscan
