// Counts the steps of a path by going through it, node by node: the table at the end says what counts which. PostgreSQL's estimates of rows
// are taken as they are, but for what is known better (composite_keys.h, group_count.h); what they cost is not looked at, but where a path
// is none of those that are known here, whose own part of the cost counts.
//
// Parallel workers. A partial path's rows are those of one process. Where there are more processes than cores, each of them takes so much
// longer. A worker is a new process each time, and its first access to each page of shared memory is a page fault, which a session has long had.
#include "pg/pg.h"

#include "pg/cost/plan_time.h"

#include <algorithm>

#include "pg/cost/composite_keys.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/expression_work.h"
#include "pg/cost/level_time.h"
#include "pg/cost/plan_walk.h"
#include "pg/fragment/path.h"
#include "pg/page_costs/planner_formulas.h"

namespace gpuscan {

using executor::Step;
using executor::Work;

namespace {

// What every path of one input begins with.
const Path *input_of(const Path *path) { return as<MaterialPath>(path)->subpath; }

// ---- appending, gathering, limits ----

void append(const PlanWalk &walk, const Path *path) {
    const bool merges = IsA(path, MergeAppendPath);
    ListCell *cell;
    foreach (cell, merges ? as<MergeAppendPath>(path)->subpaths : as<AppendPath>(path)->subpaths)
        walk.count_path(static_cast<const Path *>(lfirst(cell)));
    if (merges)
        walk.count(Step::RowKept, walk.rows_of(path));
}

// More processes than cores: each takes so much longer.
double contention(const Path *partial, int workers) {
    const double processes = workers + (parallel_leader_participation ? 1.0 : 0.0);
    // PostgreSQL takes the leader for a part of a process (get_parallel_divisor).
    const double divisor = partial->parent->rows > 0 && partial->rows > 0
                               ? std::clamp(partial->parent->rows / partial->rows, 1.0, processes)
                               : processes;
    return std::max(divisor / device_cores(), 1.0);
}

void gather(const PlanWalk &walk, const Path *path) {
    const int workers =
        IsA(path, GatherPath) ? as<GatherPath>(path)->num_workers : as<GatherMergePath>(path)->num_workers;
    walk.by_workers(contention(input_of(path), workers)).count_path(input_of(path));
    walk.count(Step::RowGathered, walk.rows_of(path));
    walk.count(Step::TeamStarted, 1);
}

void limit(const PlanWalk &walk, const Path *path) {
    const Path *below = input_of(path);
    const double rows = walk.rows_of(below), wanted = std::min(path->rows, rows);
    if (IsA(below, SortPath)) {
        walk.count_path(input_of(below));
        return walk.sort(walk.rows_of(input_of(below)), wanted, below->pathkeys, below->pathtarget->width);
    }
    // What comes before the first row is needed whole.
    const double whole = below->total_cost > 0 ? below->startup_cost / below->total_cost : 1;
    walk.repeated(whole + (1 - whole) * wanted / rows).count_path(below);
}

// ---- nodes whose input is counted already ----

void rows_kept(const PlanWalk &walk, const Path *path) { walk.count(Step::RowKept, walk.rows_of(path)); }

void projection(const PlanWalk &walk, const Path *path) {
    walk.expression(path->pathtarget->exprs, walk.rows_of(path));
}

void sort(const PlanWalk &walk, const Path *path) {
    walk.sort(walk.rows_of(input_of(path)), 0, path->pathkeys, path->pathtarget->width);
}

// A row is kept with those of its partition, counts in a function, and is handed on.
void window(const PlanWalk &walk, const Path *path) {
    for (const Step step : {Step::RowKept, Step::Operation, Step::Tuple})
        walk.count(step, walk.rows_of(input_of(path)));
}

// A node of which it is not known what it does: what PostgreSQL says that it costs by itself.
void own_cost(const PlanWalk &walk, const Path *path) {
    walk.count_units(std::max(path->total_cost - input_of(path)->total_cost, 0.0));
}

// ---- the rest ----

void whole_cost(const PlanWalk &walk, const Path *path) { walk.count_units(path->total_cost); }

void plain_path(const PlanWalk &walk, const Path *path) {
    if (path->pathtype == T_SeqScan)
        return count_scan(walk, path);
    if (path->pathtype != T_CteScan)
        return whole_cost(walk, path);
    walk.count(Step::RowKept, path->parent->tuples);
    walk.conditions(path->parent->baserestrictinfo, path->parent->tuples);
}

// PostgreSQL has added the costs of expressions' subqueries that are computed once to those of the level's paths, and of ours the costs
// are all that is known.
double init_plans_in_cost_ns(const PlannerInfo *root, const Path *path) {
    return is_gpuscan_path(path) ? gpuscan_path_ns(path) * init_plans_cost(root) / path->total_cost : 0;
}

void subquery_scan(const PlanWalk &walk, const Path *path) {
    PlannerInfo *root = path->parent->subroot;
    const Path *input = input_of(path);
    PlanWalk below = walk;
    below.root = root;
    below.key_joins = composite_key_joins(root);
    const double rows = below.rows_of(input);
    if (root->init_plans != NIL) {
        *walk.missing_columns = list_concat(*walk.missing_columns, init_plans_missing_columns(root));
        walk.work->other_ns += init_plans_ns(root) - walk.times * init_plans_in_cost_ns(root, input);
    }
    below.count_path(input);
    walk.conditions(path->parent->baserestrictinfo, rows);
    walk.count(Step::Tuple, rows);
}

// What another node of the plan brings as well is in the prices of both, and brought once.
void custom(const PlanWalk &walk, const Path *path) {
    if (!is_gpuscan_path(path))
        return whole_cost(walk, path);
    double ns = gpuscan_path_ns(path);
    ListCell *cell;
    foreach (cell, gpuscan_path_missing_columns(path)) {
        const MissingColumns *missing = static_cast<const MissingColumns *>(lfirst(cell));
        if (brings(*walk.missing_columns, missing))
            ns -= device_ns(missing->price - missing->saved);
    }
    *walk.missing_columns = list_concat(*walk.missing_columns, gpuscan_path_missing_columns(path));
    walk.work->other_ns += walk.times * std::max(ns, 0.0);
}

// ---- which node is counted by what ----

struct NodeKind {
    NodeTag tag;
    void (*count)(const PlanWalk &walk, const Path *path);
    bool reads_all;  // its input once and to the end: then that is counted first
    bool hands_each; // row of its input on, and no other
};

constexpr NodeKind node_kinds[] = {
    {T_Path, plain_path, false, false},
    {T_IndexPath, count_index_scan, false, false},
    {T_BitmapHeapPath, count_bitmap_scan, false, false},
    {T_SubqueryScanPath, subquery_scan, false, false},
    {T_NestPath, count_nested_loop, false, false},
    {T_MergePath, count_merge_join, false, false},
    {T_HashPath, count_hash_join, false, false},
    {T_AppendPath, append, false, false},
    {T_MergeAppendPath, append, false, false},
    {T_GatherPath, gather, false, true},
    {T_GatherMergePath, gather, false, true},
    {T_LimitPath, limit, false, false},
    {T_MaterialPath, rows_kept, true, true},
    {T_MemoizePath, rows_kept, true, false},
    {T_ProjectionPath, projection, true, true},
    {T_SortPath, sort, true, true},
    {T_IncrementalSortPath, sort, true, true},
    {T_WindowAggPath, window, true, true},
    {T_GroupPath, count_group, true, false},
    {T_AggPath, count_aggregate, true, false},
    {T_GroupingSetsPath, count_grouping_sets, true, false},
    {T_UniquePath, own_cost, true, false},
    {T_UpperUniquePath, own_cost, true, false},
    {T_ProjectSetPath, own_cost, true, false},
    {T_LockRowsPath, own_cost, true, false},
    {T_CustomPath, custom, false, false},
};
constexpr NodeKind unknown_kind = {T_Invalid, whole_cost, false, false};

const NodeKind &kind_of(const Path *path) {
    for (const NodeKind &kind : node_kinds)
        if (kind.tag == nodeTag(path))
            return kind;
    return unknown_kind;
}

bool has_text(const List *pathkeys) {
    ListCell *cell;
    foreach (cell, pathkeys) {
        const EquivalenceClass *keys = lfirst_node(PathKey, cell)->pk_eclass;
        if (keys->ec_members != NIL &&
            step_of_type(linitial_node(EquivalenceMember, keys->ec_members)->em_datatype) == Step::Text)
            return true;
    }
    return false;
}

} // namespace

void PlanWalk::count_path(const Path *path) const {
    check_stack_depth();
    const NodeKind &kind = kind_of(path);
    if (kind.reads_all)
        count_path(input_of(path));
    kind.count(*this, path);
}

double PlanWalk::correction_of(const Path *path) const {
    if (key_joins == NIL)
        return 1;
    while (path->parent->reloptkind == RELOPT_UPPER_REL && kind_of(path).hands_each)
        path = input_of(path);
    return row_correction(key_joins, path->parent);
}

double PlanWalk::rows_of(const Path *path) const { return std::max(path->rows * correction_of(path), 1.0); }

void PlanWalk::count_all(const Work &more) const {
    for (int i = 0; i < executor::steps; ++i)
        work->amount[i] += more.amount[i] * times;
}

void PlanWalk::count_units(Cost units) const { work->other_ns += times * units * device_ns_per_unit(); }

void PlanWalk::conditions(const List *list, double rows) const {
    const ExpressionCounting to = {root, device_ns_per_unit(), work};
    count_conditions(&to, list, rows * times);
}

void PlanWalk::expression(const void *node, double rows) const {
    const ExpressionCounting to = {root, device_ns_per_unit(), work};
    count_expression(&to, static_cast<Node *>(const_cast<void *>(node)), rows * times);
}

void PlanWalk::sort(double rows, double kept, const List *pathkeys, int width) const {
    Work sorted{};
    executor::sort(&sorted, rows, kept, has_text(pathkeys));
    count_all(sorted);
    if (kept <= 0 && is_spilled(rows, width))
        count_units(sort_files(device_page_costs(), rows, width));
}

void count_path(PlannerInfo *root, const Path *path, Work *work, List **missing_columns) {
    List *brought = NIL;
    PlanWalk{root, composite_key_joins(root), work, 1, 0, &brought}.count_path(path);
    if (missing_columns != nullptr)
        *missing_columns = brought;
    else
        list_free(brought);
}

List *path_missing_columns(PlannerInfo *root, const Path *path) {
    Work work{};
    List *missing_columns;
    count_path(root, path, &work, &missing_columns);
    return missing_columns;
}

bool brings(const List *missing_columns, const MissingColumns *missing) {
    ListCell *cell;
    foreach (cell, missing_columns) {
        const MissingColumns *brought = static_cast<const MissingColumns *>(lfirst(cell));
        if (brought->relid == missing->relid && bms_is_subset(missing->columns, brought->columns))
            return true;
    }
    return false;
}

double path_ns(PlannerInfo *root, const Path *path) {
    Work work{};
    count_path(root, path, &work);
    return executor::time_of(work, *device_executor_rates());
}

} // namespace gpuscan
