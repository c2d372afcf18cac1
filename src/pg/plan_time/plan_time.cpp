// Counts the steps of a path by going through it, node by node: the table at the end says what counts which. PostgreSQL's estimates of rows
// are taken as they are, but for what is known better (composite_keys.h, group_count.h); what they cost is not looked at, but where a path
// is none of those that are known here, whose own part of the cost counts.
//
// LIMIT. A node is asked for a share of its rows, and asks its inputs for the same share, but those that it needs whole before its first row
// (PlanWalk::whole): a hash join builds its table, a team of workers starts, whatever they are started for.
//
// Parallel workers. A partial path's rows are those of one process. Where there are more processes than cores, each of them takes so much
// longer. A worker is a new process each time, and its first access to each page of shared memory is a page fault, which a session has long had.
#include "pg/pg.h"

#include "pg/plan_time/plan_time.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "pg/cost/composite_keys.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/expression_work.h"
#include "pg/fragment/path.h"
#include "pg/page_costs/planner_formulas.h"
#include "pg/plan_time/level_time.h"
#include "pg/plan_time/plan_walk.h"

namespace gpuscan {

using executor::Step;
using executor::Work;

namespace {

// What every path of one input begins with.
const Path *input_of(const Path *path) { return as<MaterialPath>(path)->subpath; }

// ---- nodes that tell their inputs how many rows are wanted ----

void append_sorted(const PlanWalk &walk, const Path *path, const Path *child) {
    if (pathkeys_contained_in(path->pathkeys, child->pathkeys))
        return walk.hand_on(child);
    const PlanWalk whole = walk.whole();
    whole.count_path(child);
    whole.sort(whole.rows_of(child), walk.bound, path->pathkeys, child->pathtarget->width);
}

void merge_append(const PlanWalk &walk, const Path *path) {
    ListCell *cell;
    foreach (cell, as<MergeAppendPath>(path)->subpaths)
        append_sorted(walk, path, static_cast<const Path *>(lfirst(cell)));
    walk.count(Step::RowKept, walk.rows_of(path));
}

// A partial child is for as many processes as it has been planned for, and gets all of them.
double share_of_processes(const Path *append, const Path *child) {
    return parallel_divisor(child) / parallel_divisor(append);
}

// One child after the other, as far as rows are asked for.
void append_in_turn(const PlanWalk &walk, const Path *path) {
    double wanted = walk.share < 1 ? walk.share * walk.rows_of(path) : DBL_MAX;
    ListCell *cell;
    foreach (cell, as<AppendPath>(path)->subpaths) {
        const Path *child = static_cast<const Path *>(lfirst(cell));
        const double rows = walk.rows_of(child);
        PlanWalk next = walk.divided(share_of_processes(path, child));
        next.share = std::min(wanted / rows, 1.0);
        append_sorted(next, path, child);
        wanted -= rows;
        if (wanted <= 0)
            return;
    }
}

// A whole child is one process's, whoever comes first, and partial ones are everybody's. So each process does its part of the sum, but for
// who has got a child that takes longer than that (and is not contended with by those who have nothing left to do).
void append_in_parallel(const PlanWalk &walk, const Path *path) {
    const AppendPath *append = as<AppendPath>(path);
    const double processes = parallel_divisor(path);
    Work even{};
    double longest = 0;
    ListCell *cell;
    foreach (cell, append->subpaths) {
        const Path *child = static_cast<const Path *>(lfirst(cell));
        const bool whole = foreach_current_index(cell) < append->first_partial_path;
        Work work{};
        walk.into(&work).hand_on(child);
        executor::add(&even, work, whole ? 1 / processes : share_of_processes(path, child));
        if (whole)
            longest = std::max(longest, executor::time_of(work, *device_executor_rates()) / walk.contention);
    }
    const double ns = executor::time_of(even, *device_executor_rates());
    executor::add(walk.work, even, longest > ns && ns > 0 ? longest / ns : 1);
}

void append(const PlanWalk &walk, const Path *path) {
    (path->parallel_aware ? append_in_parallel : append_in_turn)(walk, path);
}

void gather(const PlanWalk &walk, const Path *path) {
    const Path *partial = input_of(path);
    walk.by_workers(std::max(parallel_divisor(partial) / device_cores(), 1.0)).hand_on(partial);
    walk.count(Step::RowGathered, walk.rows_of(path));
    walk.count(Step::TeamStarted, 1);
}

// Rows that are read and not shown. (As PostgreSQL expects: adjust_limit_rows_costs. But functions are not called once more.)
double skipped_rows(const PlanWalk &walk, Node *offset, double rows) {
    if (offset == nullptr)
        return 0;
    const Node *known = IsA(offset, Param) ? estimate_expression_value(walk.root, offset) : offset;
    if (!IsA(known, Const))
        return rows / 10;
    const Const *constant = reinterpret_cast<const Const *>(known);
    return constant->constisnull ? 0 : std::max(static_cast<double>(DatumGetInt64(constant->constvalue)), 0.0);
}

void limit(const PlanWalk &walk, const Path *path) {
    const LimitPath *limit = as<LimitPath>(path);
    const double rows = walk.rows_of(limit->subpath);
    if (limit->limitCount == nullptr)
        return walk.count_path(limit->subpath);
    const double wanted = std::min(path->rows + skipped_rows(walk, limit->limitOffset, rows), rows);
    PlanWalk first = walk.part(wanted / rows);
    first.different = HUGE_VAL; // (whose order is another one)
    first.bound = limit->limitOption == LIMIT_OPTION_COUNT ? wanted : 0;
    first.hand_on(limit->subpath);
}

void projection(const PlanWalk &walk, const Path *path) {
    walk.hand_on(input_of(path));
    walk.expression(path->pathtarget->exprs, walk.rows_of(path));
}

// ---- nodes that read all of their input before the first row, or a part that PostgreSQL knows ----

void sort(const PlanWalk &walk, const Path *path) {
    PlanWalk whole = walk.whole();
    whole.count_path(input_of(path));
    whole.different = walk.different;
    whole.sort(whole.rows_of(input_of(path)), walk.bound, path->pathkeys, path->pathtarget->width);
}

void incremental_sort(const PlanWalk &walk, const Path *path) {
    const double first_group = path->total_cost > 0 ? path->startup_cost / path->total_cost : 1;
    const PlanWalk groups = walk.whole().part(std::max(walk.share, first_group));
    groups.count_path(input_of(path));
    groups.sort(groups.rows_of(input_of(path)), 0, path->pathkeys, path->pathtarget->width);
}

struct WindowMeant {
    Index number;
    bool frames_end; // before the partition does
};

// Does one of the window's functions read a partition to its end? (Some ask how many rows it has, whatever their frame.)
bool reads_partition(Node *node, void *context) {
    if (node == nullptr)
        return false;
    const WindowMeant *window = static_cast<const WindowMeant *>(context);
    const WindowFunc *function = reinterpret_cast<const WindowFunc *>(node);
    if (IsA(node, WindowFunc) && function->winref == window->number)
        return function->winfnoid == F_NTILE || function->winfnoid == F_PERCENT_RANK_ ||
               function->winfnoid == F_CUME_DIST_ ||
               (!window->frames_end && (function->winagg || function->winfnoid == F_LAST_VALUE));
    return walk_expression(node, reads_partition, context);
}

// The share of its input that a window's first row waits for: the whole first partition, if that is read to its end. (Up to 15 PostgreSQL's
// own cost has nothing of this.)
double share_of_first_partition(const PlanWalk &walk, const Path *path) {
    const WindowClause *window = as<WindowAggPath>(path)->winclause;
    const bool frames_end = (window->frameOptions & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) == 0 &&
                            ((window->frameOptions & FRAMEOPTION_ROWS) != 0 || window->orderClause != NIL);
    WindowMeant meant{window->winref, frames_end};
    if (!reads_partition(reinterpret_cast<Node *>(path->pathtarget->exprs), &meant))
        return 0;
    if (window->partitionClause == NIL)
        return 1;
    List *keys = get_sortgrouplist_exprs(window->partitionClause, walk.root->processed_tlist);
    return 1 / std::max(estimate_num_groups(walk.root, keys, walk.rows_of(input_of(path)), nullptr, nullptr), 1.0);
}

// A row is kept with those of its partition, counts in a function, and is handed on.
void window(const PlanWalk &walk, const Path *path) {
    const PlanWalk read = walk.whole().part(std::max(walk.share, share_of_first_partition(walk, path)));
    read.count_path(input_of(path));
    for (const Step step : {Step::RowKept, Step::Operation, Step::Tuple})
        read.count(step, walk.rows_of(input_of(path)));
}

// A node of which it is not known what it does: what PostgreSQL says that it costs by itself.
void own_cost(const PlanWalk &walk, const Path *path) {
    walk.count_units(0, std::max(path->total_cost - input_of(path)->total_cost, 0.0));
}

void unique(const PlanWalk &walk, const Path *path) {
    walk.whole().count_path(input_of(path));
    own_cost(walk.whole(), path);
}

// ---- nodes whose input is counted already ----

void rows_kept(const PlanWalk &walk, const Path *path) { walk.count(Step::RowKept, walk.rows_of(path)); }

// ---- the rest ----

void whole_cost(const PlanWalk &walk, const Path *path) { walk.count_units(path->startup_cost, path->total_cost); }

void plain_path(const PlanWalk &walk, const Path *path) {
    if (path->pathtype == T_SeqScan)
        return count_scan(walk, path);
    if (path->pathtype != T_CteScan)
        return whole_cost(walk, path);
    const double rows = path->parent->tuples;
    walk.once(path->param_info != nullptr).count(Step::RowKept, rows);
    walk.read_again(rows);
    walk.conditions(path->parent->baserestrictinfo, rows);
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
    below.different = HUGE_VAL;
    below.root = root;
    below.key_joins = composite_key_joins(root);
    below.anew |= path->param_info != nullptr; // (LATERAL)
    const double rows = below.rows_of(input);
    if (root->init_plans != NIL) {
        *walk.missing_columns = list_concat(*walk.missing_columns, init_plans_missing_columns(root));
        walk.work->other_ns += init_plans_ns(root);
        const double counted = init_plans_in_cost_ns(root, input);
        below.count_ns(-counted, -counted);
    }
    if (path->parent->baserestrictinfo == NIL)
        below.hand_on(input);
    else
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
    ns = std::max(ns, 0.0);
    walk.count_ns(path->total_cost > 0 ? ns * path->startup_cost / path->total_cost : ns, ns);
}

// ---- which node is counted by what ----

struct NodeKind {
    NodeTag tag;
    void (*count)(const PlanWalk &walk, const Path *path);
    bool streams;    // one input, which is read as far as rows are asked for: then that is counted first
    bool hands_each; // row of its input on, and no other
    bool keeps;      // its rows, so that it is executed once by each process, if nothing else has changed
};

constexpr NodeKind node_kinds[] = {
    {T_Path, plain_path, false, false, false},
    {T_IndexPath, count_index_scan, false, false, false},
    {T_BitmapHeapPath, count_bitmap_scan, false, false, false},
    {T_SubqueryScanPath, subquery_scan, false, false, false},
    {T_NestPath, count_nested_loop, false, false, false},
    {T_MergePath, count_merge_join, false, false, false},
    {T_HashPath, count_hash_join, false, false, false},
    {T_AppendPath, append, false, false, false},
    {T_MergeAppendPath, merge_append, false, false, false},
    {T_GatherPath, gather, false, true, false},
    {T_GatherMergePath, gather, false, true, false},
    {T_LimitPath, limit, false, false, false},
    {T_MaterialPath, rows_kept, true, true, true},
    {T_ProjectionPath, projection, false, true, false},
    {T_SortPath, sort, false, true, true},
    {T_IncrementalSortPath, incremental_sort, false, true, false},
    {T_WindowAggPath, window, false, true, false},
    {T_GroupPath, count_group, true, false, false},
    {T_AggPath, count_aggregate, false, false, false},
    {T_GroupingSetsPath, count_grouping_sets, false, false, false},
    {T_UniquePath, unique, false, false, false},
    {T_UpperUniquePath, own_cost, true, false, false},
    {T_ProjectSetPath, own_cost, true, false, false},
    {T_LockRowsPath, own_cost, true, false, false},
    {T_CustomPath, custom, false, false, false},
};
constexpr NodeKind unknown_kind = {T_Invalid, whole_cost, false, false, false};

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

// ---- the walk ----

PlanWalk PlanWalk::whole() const {
    PlanWalk walk = *this;
    walk.share = 1;
    walk.different = HUGE_VAL;
    walk.bound = 0;
    return walk;
}

PlanWalk PlanWalk::once(bool depends) const {
    PlanWalk walk = whole();
    if (!depends && !anew)
        walk.executions = 1;
    return walk;
}

// (One that is begun is an execution, if one that is not asked for all of its rows.)
PlanWalk PlanWalk::repeated(double often) const {
    PlanWalk walk = whole();
    walk.executions = executions * std::max(often * share, 1.0);
    walk.share = std::min(often * share, 1.0);
    return walk;
}

PlanWalk PlanWalk::part(double of_rows) const {
    PlanWalk walk = *this;
    walk.share = share * std::min(of_rows, 1.0);
    return walk;
}

PlanWalk PlanWalk::by_workers(double contended) const {
    PlanWalk walk = *this;
    walk.lives = lives * executions;
    walk.contention = contended;
    walk.executions = 1;
    walk.is_worker = true;
    return walk;
}

PlanWalk PlanWalk::divided(double share_of_process) const {
    PlanWalk walk = *this;
    walk.lives = lives * share_of_process;
    return walk;
}

PlanWalk PlanWalk::into(Work *other) const {
    PlanWalk walk = *this;
    walk.work = other;
    return walk;
}

void PlanWalk::hand_on(const Path *path) const {
    check_stack_depth();
    const NodeKind &kind = kind_of(path);
    if (kind.keeps && executions > 1 && !anew && path->param_info == nullptr) {
        once(false).hand_on(path);
        return read_again(rows_of(path));
    }
    if (kind.streams)
        count_path(input_of(path));
    kind.count(*this, path);
}

void PlanWalk::count_path(const Path *path) const {
    PlanWalk walk = *this;
    walk.different = HUGE_VAL;
    walk.bound = 0;
    walk.hand_on(path);
}

double PlanWalk::correction_of(const Path *path) const {
    while (path->parent->reloptkind == RELOPT_UPPER_REL && kind_of(path).hands_each)
        path = input_of(path);
    if (path->parent->reloptkind == RELOPT_UPPER_REL)
        return group_correction(root, path);
    return key_joins != NIL ? row_correction(key_joins, path->parent) : 1;
}

double PlanWalk::rows_of(const Path *path) const { return std::max(path->rows * correction_of(path), 1.0); }

void PlanWalk::count(Step step, double amount) const {
    executor::add(work, step, amount * times() * (executor::info(step).per == executor::Per::Row ? share : 1));
}

void PlanWalk::count_all(const Work &more) const { executor::add(work, more, times() * share); }

void PlanWalk::count_ns(double before_first_row, double in_all) const {
    work->other_ns += times() * (before_first_row + (in_all - before_first_row) * share);
}

void PlanWalk::count_units(Cost before_first_row, Cost in_all) const {
    count_ns(before_first_row * device_ns_per_unit(), in_all * device_ns_per_unit());
}

void PlanWalk::conditions(const List *list, double rows) const {
    const ExpressionCounting to = {root, device_ns_per_unit(), work};
    count_conditions(&to, list, rows * times() * share);
}

void PlanWalk::expression(const void *node, double rows) const {
    if (rows <= 0)
        return;
    const ExpressionCounting to = {root, device_ns_per_unit(), work};
    count_expression(&to, static_cast<Node *>(const_cast<void *>(node)), rows * times() * share);
}

void PlanWalk::sort(double rows, double kept, const List *pathkeys, int width) const {
    // (A quicksort leaves equal keys together, so as many rows of each take as many comparisons as one does.)
    const double keys = kept > 0 ? rows : std::min(rows, std::max(different, 2.0));
    Work sorted{}, of_keys{};
    executor::sort(&of_keys, keys, kept, has_text(pathkeys));
    executor::add(&sorted, of_keys, rows / keys);
    count_all(sorted);
    if (kept <= 0 && is_spilled(rows, width)) {
        const Cost files = sort_files(device_page_costs(), rows, width);
        count_units(files, files);
    }
}

void PlanWalk::read_again(double rows) const {
    executor::add(work, Step::Tuple, rows * share * (executions - 1) * lives * contention);
}

// ---- paths ----

void count_path(PlannerInfo *root, const Path *path, Work *work, List **missing_columns) {
    List *brought = NIL;
    PlanWalk{root, composite_key_joins(root), work, &brought, 1, 1, HUGE_VAL, 0, 1, 1, false, false}.count_path(path);
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
