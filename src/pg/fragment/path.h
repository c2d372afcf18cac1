// The CustomPath of a fragment and the CustomScan made of it; the path of an aggregating one.
#pragma once

#include "pg/pg.h"

#include "pg/cost/device_cost.h"
#include "pg/fragment/candidates.h"

namespace gpuscan {

// A path of `rel` that runs the spec. `fallback` answers the same with PostgreSQL's means and delivers the
// spec's outputs; `children` feed sources. The caller sets rows and costs, and has noted in `breakdown` what these are made of
// (NULL: nobody will ask).
CustomPath *make_gpuscan_path(RelOptInfo *rel, FragmentSpec *spec, List *having, Path *fallback, List *children,
                              const tier::Breakdown *breakdown);

bool is_gpuscan_path(const Path *path);

// PostgreSQL's cheapest path of a relation: what a device's path is compared with.
struct CpuBaseline {
    Cost cost;
    double ns;
};
CpuBaseline cpu_baseline_of(PlannerInfo *root, const RelOptInfo *rel);

// The path's costs are so far what it takes, in units of device_ns_per_unit(). Makes them such that the path costs less than its baseline
// exactly if it takes less time. Whoever joins, sorts or limits either goes on from there. In a level that is evaluated anew for the rows of
// a level above, bringing columns is no part of the costs: it is done once, and not before the CPU plan has taken as long (exec/cpu_first.h).
void price_path(PlannerInfo *root, const Candidate *candidate, const CpuBaseline *baseline, const TextWork *texts,
                CustomPath *path);
// The same of a path that is priced for the first time, and requests admission (cost/cache_admission.h); what the CPU plan takes in such a
// level is noted when it is executed.
void price_new_path(PlannerInfo *root, const Candidate *candidate, const CpuBaseline *baseline, const TextWork *texts,
                    CustomPath *path);
double gpuscan_path_ns(const Path *path);
// Its fragment, as it has been translated, may be a stage of the query around it.
void may_be_stage(CustomPath *path, const Fragment *fragment);
// Of a path that shows just what the device makes, and could hand it on (stage.h): its fragment. NULL: it is another one.
const Fragment *stage_of_path(const Path *path);
// ... and what making tuples of them takes.
double stage_emitted_ns(const Path *path);
const List *gpuscan_path_missing_columns(const Path *path);

// How many plan nodes have been made of such paths so far.
extern int planned_nodes;

// Adds a GpuScan path to the grouping relation, or that of distinct rows, where the candidate, aggregated, is shippable; else
// refuses. The path shows `results` for the groups that pass `having`. With `force` it becomes the relation's only path.
bool add_aggregate_path(PlannerInfo *root, const Candidate *candidate, RelOptInfo *input, RelOptInfo *output,
                        PathTarget *results, Node *having, bool force, bool ordered);

// SELECT DISTINCT of what scans and joins deliver: groups without aggregates.
bool removes_duplicates(const Query *query);

// By what the level groups: SortGroupClauses of its GROUP BY or DISTINCT.
List *grouping_clause(const PlannerInfo *root);

// Will add_aggregate_path find the query level's aggregation shippable? To be asked while its input is planned.
bool can_aggregate(PlannerInfo *root, const Candidate *candidate);

// A copy of a path of PostgreSQL's that add_path cannot free; NULL for a kind of path whose size is not known.
Path *copy_of_path(const Path *path);

} // namespace gpuscan
