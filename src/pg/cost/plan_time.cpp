// Counts the steps of a path by going through it. PostgreSQL's estimates of rows are taken as they are, but for what is known better
// (composite_keys.h, group_count.h); what they cost is not looked at, but where a path is none of those that are known here, whose own
// part of the cost counts.
//
// Pages. What fits into shared buffers is taken to be there, as on the device's side of the comparison (device_cost.cpp), and the rest
// costs what the page costs say. In memory a page out of order takes about as long as one in order, so an index is not four times as dear as its pages are
// (random_page_cost = 4), which is what decides between it and a device that has to read the whole table.
//
// Parallel workers. A partial path's rows are those of one process. Where there are more processes than cores, each of them takes so much
// longer. A worker is a new process each time, and its first access to each page of shared memory is a page fault, which a session has long had.
#include "pg/pg.h"

#include "pg/cost/plan_time.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "pg/cost/composite_keys.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/expression_work.h"
#include "pg/cost/group_count.h"
#include "pg/cost/level_time.h"
#include "pg/fragment/path.h"
#include "pg/page_costs/planner_formulas.h"

namespace gpuscan {

using executor::add;
using executor::Step;
using executor::Work;

constexpr double hash_entry_bytes = 48; // of a join's table or of a group, beside its columns
constexpr double leaves_missed =
    0.75; // of an index's descents: pages that are not in the caches, where the index is not

namespace {

struct Walk {
    PlannerInfo *root;
    const List *key_joins; // of the query level
    Work *work;
    double times; // of each step below
    // In parallel workers: the share of those times in which a process does it. 0: a session's process.
    double worker;
    List **loads; // what devices have brought so far
};

template <class T> const T *as(const Path *path) { return reinterpret_cast<const T *>(path); }

Walk repeated(const Walk &walk, double times) {
    return {walk.root, walk.key_joins, walk.work, walk.times * times, walk.worker, walk.loads};
}

// By workers of whom there are so many for a core.
Walk by_workers(const Walk &walk, double contention) {
    return {walk.root, walk.key_joins, walk.work, walk.times * contention, 1 / (walk.times * contention), walk.loads};
}

void count(const Walk &walk, Step step, double amount) { add(walk.work, step, amount * walk.times); }

void count_all(const Walk &walk, const Work &work) {
    for (int i = 0; i < executor::steps; ++i)
        walk.work->amount[i] += work.amount[i] * walk.times;
}

ExpressionCounting expressions(const Walk &walk) { return {walk.root, device_ns_per_unit(), walk.work}; }

void count_units(const Walk &walk, Cost units) { walk.work->other_ns += walk.times * units * device_ns_per_unit(); }

// What hands on each row that it gets.
const Path *input_of(const Path *path) {
    switch (nodeTag(path)) {
    case T_MaterialPath:
        return reinterpret_cast<const MaterialPath *>(path)->subpath;
    case T_ProjectionPath:
        return reinterpret_cast<const ProjectionPath *>(path)->subpath;
    case T_SortPath:
        return reinterpret_cast<const SortPath *>(path)->subpath;
    case T_IncrementalSortPath:
        return reinterpret_cast<const IncrementalSortPath *>(path)->spath.subpath;
    case T_WindowAggPath:
        return reinterpret_cast<const WindowAggPath *>(path)->subpath;
    case T_GatherPath:
        return reinterpret_cast<const GatherPath *>(path)->subpath;
    case T_GatherMergePath:
        return reinterpret_cast<const GatherMergePath *>(path)->subpath;
    default:
        return nullptr;
    }
}

double correction_of(const Walk &walk, const Path *path) {
    if (walk.key_joins == NIL)
        return 1;
    while (path->parent->reloptkind == RELOPT_UPPER_REL && input_of(path) != nullptr)
        path = input_of(path);
    return row_correction(walk.key_joins, path->parent);
}

double rows_of(const Walk &walk, const Path *path) { return std::max(path->rows * correction_of(walk, path), 1.0); }

void count_path_of(const Walk &walk, const Path *path);

// ---- expressions ----

void conditions(const Walk &walk, const List *list, double rows) {
    const ExpressionCounting to = expressions(walk);
    count_conditions(&to, list, rows * walk.times);
}

void targets(const Walk &walk, const PathTarget *target, double rows) {
    const ExpressionCounting to = expressions(walk);
    ListCell *cell;
    foreach (cell, target->exprs)
        if (!IsA(lfirst(cell), Var))
            count_expression(&to, static_cast<Node *>(lfirst(cell)), rows * walk.times);
}

bool has_text(const List *pathkeys) {
    ListCell *cell;
    foreach (cell, pathkeys) {
        const EquivalenceClass *keys = lfirst_node(PathKey, cell)->pk_eclass;
        if (keys->ec_members != NIL && is_text(linitial_node(EquivalenceMember, keys->ec_members)->em_datatype))
            return true;
    }
    return false;
}

// ---- scans ----

// Of the columns that a row is taken apart for, the last one's number: first for its conditions, then for what it hands on.
struct Depth {
    double conditions, all;
};

double last_of(const Bitmapset *columns) {
    double last = 0;
    for (int i = -1; (i = bms_next_member(columns, i)) >= 0;)
        last = std::max(last, static_cast<double>(i + FirstLowInvalidHeapAttributeNumber));
    return last;
}

Depth depth_of(const RelOptInfo *rel, const List *conditions) {
    Bitmapset *columns = nullptr;
    ListCell *cell;
    foreach (cell, conditions)
        pull_varattnos(reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause), rel->relid, &columns);
    Depth depth{};
    depth.conditions = last_of(columns);
    pull_varattnos(reinterpret_cast<Node *>(rel->reltarget->exprs), rel->relid, &columns);
    depth.all = last_of(columns);
    return depth;
}

// Rows that a scan has found, its conditions, and those that pass.
void scanned_rows(const Walk &walk, const Path *path, const List *filters, double found, double passing) {
    const Depth depth = depth_of(path->parent, filters);
    count(walk, Step::Tuple, found);
    count(walk, Step::Attribute, found * depth.conditions + passing * std::max(depth.all - depth.conditions, 0.0));
    conditions(walk, filters, found);
}

// Pages that are not in shared buffers cost what the settings say; returns the share of the others.
double resident_share(const RelOptInfo *rel) {
    const double pages = rel->pages;
    return pages > NBuffers ? NBuffers / pages : 1;
}

// Of a process that shares the scan with others: PostgreSQL's rows are its own already.
double share_of_process(const Path *path, double rows) {
    return path->parallel_aware && path->parent->rows > 0 ? std::min(rows / path->parent->rows, 1.0) : 1;
}

// Pages of `all` that each execution looks at. In a worker the first look at each counts: of n executions, each at other pages by chance,
// it is all * (1 - (1 - pages / all)^n) (Cardenas, CACM 18, 1975).
void touch(const Walk &walk, double all, double pages) {
    if (walk.worker <= 0 || all < 1)
        return;
    const double executions = walk.times * walk.worker;
    const double touched = all * (1 - std::pow(1 - std::min(pages / all, 1.0), executions));
    add(walk.work, Step::PageTouched, touched / walk.worker);
}

void sequential_scan(const Walk &walk, const Path *path) {
    const RelOptInfo *rel = path->parent;
    const double share = share_of_process(path, path->rows), resident = resident_share(rel);
    count(walk, Step::PageInOrder, rel->pages * share);
    touch(walk, rel->pages, rel->pages * share);
    count_units(walk, rel->pages * share * (1 - resident) * device_page_costs().seq_read);
    scanned_rows(walk, path, rel->baserestrictinfo, rel->tuples * share, rows_of(walk, path));
}

double bytes_of_table(const RelOptInfo *rel) { return static_cast<double>(rel->pages) * BLCKSZ; }

// `far`: those of the pages that were not looked at a moment ago.
void fetch(const Walk &walk, const RelOptInfo *rel, double far, double pages) {
    count(walk, Step::PageOutOfOrder, pages);
    count(walk, Step::PageFar, far * executor::far_share(bytes_of_table(rel)));
    touch(walk, rel->pages, pages);
}

// ... which then finds so many entries.
void start_index(const Walk &walk, const IndexOptInfo *index, double found) {
    const double pages = index->pages;
    count(walk, Step::IndexStarted, 1);
    count(walk, Step::PageFar, leaves_missed * executor::far_share(pages * BLCKSZ));
    touch(walk, pages, 1 + found * pages / std::max(index->tuples, 1.0));
}

// What an index path's own conditions leave to be tested.
List *remaining_conditions(const IndexPath *path) {
    List *rest = NIL;
    const List *all[2] = {path->path.parent->baserestrictinfo,
                          path->path.param_info != nullptr ? path->path.param_info->ppi_clauses : NIL};
    for (const List *conditions : all) {
        ListCell *cell;
        foreach (cell, conditions)
            if (!is_redundant_with_indexclauses(lfirst_node(RestrictInfo, cell), path->indexclauses))
                rest = lappend(rest, lfirst(cell));
    }
    return rest;
}

// How far an index is in the order of its table: 0 (not at all) to 1.
double order_of_index(PlannerInfo *root, const IndexOptInfo *index) {
    if (index->ncolumns == 0 || index->indexkeys[0] <= 0)
        return 0;
    Var column = index_column(index, 0);
    VariableStatData statistics;
    double order = 0;
    examine_variable(root, reinterpret_cast<Node *>(&column), 0, &statistics);
    AttStatsSlot slot;
    if (HeapTupleIsValid(statistics.statsTuple) &&
        get_attstatsslot(&slot, statistics.statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS)) {
        if (slot.nnumbers > 0)
            order = slot.numbers[0] * slot.numbers[0];
        free_attstatsslot(&slot);
    }
    ReleaseVariableStats(statistics);
    return order;
}

void index_scan(const Walk &walk, const IndexPath *path) {
    const RelOptInfo *rel = path->path.parent;
    const double share = share_of_process(&path->path, path->path.rows);
    const double rows = rows_of(walk, &path->path);
    const double found = std::max(rel->tuples * path->indexselectivity * share, rows);
    const bool only = path->path.pathtype == T_IndexOnlyScan;
    const double visited = only ? found * (1 - rel->allvisfrac) : found;
    start_index(walk, path->indexinfo, found);
    count(walk, Step::IndexTuple, found);
    // A row's page is most often the one before if the index is in the table's order.
    const double in_order = order_of_index(walk.root, path->indexinfo);
    const double pages = std::min(
        visited, std::max(visited * (1 - in_order), std::ceil(visited * rel->pages / std::max(rel->tuples, 1.0))));
    fetch(walk, rel, pages * (1 - in_order / 2), pages);
    count(walk, Step::PageAgain, only ? found : visited - pages); // (or the look into the visibility map)
    count_units(walk, pages * (1 - resident_share(rel)) * device_page_costs().random_read);
    scanned_rows(walk, &path->path, remaining_conditions(path), found, rows);
}

void bitmap_of(const Walk &walk, const Path *path) {
    ListCell *cell;
    switch (nodeTag(path)) {
    case T_IndexPath: {
        const IndexPath *index = reinterpret_cast<const IndexPath *>(path);
        const double found = index->path.parent->tuples * index->indexselectivity;
        start_index(walk, index->indexinfo, found);
        count(walk, Step::BitmapTuple, found);
        break;
    }
    case T_BitmapAndPath:
        foreach (cell, reinterpret_cast<const BitmapAndPath *>(path)->bitmapquals)
            bitmap_of(walk, static_cast<const Path *>(lfirst(cell)));
        break;
    case T_BitmapOrPath:
        foreach (cell, reinterpret_cast<const BitmapOrPath *>(path)->bitmapquals)
            bitmap_of(walk, static_cast<const Path *>(lfirst(cell)));
        break;
    default:
        break;
    }
}

double bitmap_selectivity(const Path *path) {
    Cost cost;
    Selectivity selectivity;
    cost_bitmap_tree_node(const_cast<Path *>(path), &cost, &selectivity);
    return selectivity;
}

void bitmap_scan(const Walk &walk, const BitmapHeapPath *path) {
    const RelOptInfo *rel = path->path.parent;
    const double share = share_of_process(&path->path, path->path.rows);
    const double rows = rows_of(walk, &path->path);
    const double found = std::max(rel->tuples * bitmap_selectivity(path->bitmapqual) * share, rows);
    const double all = std::max(static_cast<double>(rel->pages), 1.0);
    const double pages = std::min(2 * all * found / (2 * all + found), all); // Mackert and Lohman
    bitmap_of(walk, path->bitmapqual);
    fetch(walk, rel, pages, pages);
    count(walk, Step::PageAgain, std::max(found - pages, 0.0));
    count_units(walk, pages * (1 - resident_share(rel)) * device_page_costs().random_read);
    List *filters = rel->baserestrictinfo;
    if (path->path.param_info != nullptr)
        filters = list_concat_copy(filters, path->path.param_info->ppi_clauses);
    scanned_rows(walk, &path->path, filters, found, rows);
}

// ---- joins ----

double table_bytes(double rows, const Path *path) { return rows * (hash_entry_bytes + path->pathtarget->width); }

Step comparison_of(Oid type) {
    return is_numeric(type) ? Step::NumericCompared : is_text(type) ? Step::TextCompared : Step::Operation;
}

// Clauses that compare a value of one side with one of the other: the values are computed once for each row of their side, and compared so
// often.
void keys_of(const Walk &walk, const List *clauses, double outer, double inner, double compared) {
    const ExpressionCounting to = expressions(walk);
    ListCell *cell;
    foreach (cell, clauses) {
        const RestrictInfo *info = lfirst_node(RestrictInfo, cell);
        Node *sides[2] = {get_leftop(info->clause), get_rightop(info->clause)};
        const double rows[2] = {info->outer_is_left ? outer : inner, info->outer_is_left ? inner : outer};
        for (int side = 0; side < 2; ++side)
            count_expression(&to, sides[side], rows[side] * walk.times);
        count(walk, comparison_of(exprType(sides[0])), compared);
    }
}

// What hashing takes more where the values are not of fixed length.
void hashed_keys(const Walk &walk, const List *clauses, double rows) {
    ListCell *cell;
    foreach (cell, clauses) {
        const Step step = comparison_of(exprType(get_leftop(lfirst_node(RestrictInfo, cell)->clause)));
        if (step != Step::Operation)
            count(walk, step, rows);
    }
}

// What is written to files and read from them, by PostgreSQL's formulas.
void files(const Walk &walk, const storage::FileCost &cost) { count_units(walk, cost.total); }

void hash_join(const Walk &walk, const HashPath *path) {
    const JoinPath *join = &path->jpath;
    const double outer = rows_of(walk, join->outerjoinpath), inner = rows_of(walk, join->innerjoinpath);
    const double rows = rows_of(walk, &join->path);
    count_path_of(walk, join->outerjoinpath);
    count_path_of(walk, join->innerjoinpath);
    // (Batches: each of them has a table that fits into work_mem.)
    const double all = path->inner_rows_total * correction_of(walk, join->innerjoinpath);
    const double bytes = std::min(table_bytes(std::max(inner, all), join->innerjoinpath),
                                  path->num_batches > 1 ? sort_memory() * hash_mem_multiplier : DBL_MAX);
    Work table{};
    executor::build(&table, inner, bytes);
    executor::probe(&table, outer, bytes);
    count_all(walk, table);
    keys_of(walk, path->path_hashclauses, outer, inner, rows);
    hashed_keys(walk, path->path_hashclauses, outer + inner);
    count(walk, Step::RowJoined, rows);
    conditions(walk, list_difference_ptr(join->joinrestrictinfo, path->path_hashclauses), rows);
    if (path->num_batches > 1)
        files(walk, storage::hash_join(device_page_costs(), pages_of(inner, join->innerjoinpath->pathtarget->width),
                                       pages_of(outer, join->outerjoinpath->pathtarget->width)));
}

void sort(const Walk &walk, double rows, double kept, const List *pathkeys, int width) {
    Work sorted{};
    executor::sort(&sorted, rows, kept, has_text(pathkeys));
    count_all(walk, sorted);
    if (kept <= 0 && is_spilled(rows, width))
        count_units(walk, sort_files(device_page_costs(), rows, width));
}

void merge_join(const Walk &walk, const MergePath *path) {
    const JoinPath *join = &path->jpath;
    const Path *sides[2] = {join->outerjoinpath, join->innerjoinpath};
    const List *keys[2] = {path->outersortkeys, path->innersortkeys};
    const double inputs[2] = {rows_of(walk, sides[0]), rows_of(walk, sides[1])};
    for (int side = 0; side < 2; ++side) {
        const double rows = inputs[side];
        count_path_of(walk, sides[side]);
        if (keys[side] != NIL)
            sort(walk, rows, 0, keys[side], sides[side]->pathtarget->width);
    }
    if (path->materialize_inner)
        count(walk, Step::RowKept, inputs[1]);
    const double rows = rows_of(walk, &join->path);
    keys_of(walk, path->path_mergeclauses, inputs[0], inputs[1], inputs[0] + inputs[1]);
    count(walk, Step::RowJoined, rows);
    conditions(walk, list_difference_ptr(join->joinrestrictinfo, path->path_mergeclauses), rows);
}

// The inner side of a nested loop, executed `loops` times.
void inner_side(const Walk &walk, const Path *inner, double loops) {
    switch (nodeTag(inner)) {
    case T_MaterialPath: {
        const Path *kept = reinterpret_cast<const MaterialPath *>(inner)->subpath;
        count_path_of(walk, kept);
        count(walk, Step::RowKept, rows_of(walk, kept));
        count(walk, Step::RowLooped, rows_of(walk, kept) * loops);
        break;
    }
    case T_MemoizePath: {
        const MemoizePath *memoize = reinterpret_cast<const MemoizePath *>(inner);
        count(walk, Step::RowMemoized, loops);
        count_path_of(repeated(walk, std::clamp(static_cast<double>(memoize->est_entries), 1.0, loops)),
                      memoize->subpath);
        break;
    }
    default:
        count_path_of(repeated(walk, loops), inner);
    }
    count(walk, Step::Loop, loops);
}

bool stops_at_first(const JoinPath *join) {
    return join->inner_unique || join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI;
}

void nested_loop(const Walk &walk, const JoinPath *join) {
    const Path *inner = join->innerjoinpath;
    const double loops = rows_of(walk, join->outerjoinpath), rows = rows_of(walk, &join->path);
    count_path_of(walk, join->outerjoinpath);
    inner_side(walk, inner, loops);
    // An index that is asked for each row finds at least what the join yields, however few rows it was taken to find.
    const double found = loops * rows_of(walk, inner), pairs = std::max(found, rows);
    if (inner->param_info != nullptr && pairs > found)
        fetch(walk, inner->parent, pairs - found, pairs - found);
    conditions(walk, join->joinrestrictinfo, stops_at_first(join) ? std::min(pairs, loops) : pairs);
    count(walk, Step::RowJoined, rows);
}

// ---- grouping and aggregates ----

// Of one more row in each aggregate of the query.
void transitions(const Walk &walk, double rows, AggSplit split) {
    const ExpressionCounting to = expressions(walk);
    ListCell *cell;
    foreach (cell, walk.root->aggtransinfos) {
        const AggTransInfo *transition = static_cast<const AggTransInfo *>(lfirst(cell));
        const bool combines = DO_AGGSPLIT_COMBINE(split);
        const Node *first = transition->args != NIL
                                ? reinterpret_cast<const Node *>(linitial_node(TargetEntry, transition->args)->expr)
                                : nullptr;
        const Oid type = first != nullptr ? exprType(first) : InvalidOid;
        const Cost declared = declared_cost(walk.root, combines ? transition->combinefn_oid : transition->transfn_oid);
        if (declared > 0)
            count_units(walk, rows * declared);
        else
            count(walk, is_numeric(type) || is_text(type) ? Step::NumericTransition : Step::Transition, rows);
        if (combines)
            continue;
        count_expression(&to, reinterpret_cast<Node *>(transition->aggfilter), rows * walk.times);
        ListCell *argument;
        foreach (argument, transition->args)
            count_expression(&to, reinterpret_cast<Node *>(lfirst_node(TargetEntry, argument)->expr),
                             rows * walk.times);
    }
    foreach (cell, walk.root->agginfos) { // DISTINCT or ORDER BY within: each group's rows are sorted
        const AggInfo *info = static_cast<const AggInfo *>(lfirst(cell));
        const Aggref *aggref = first_aggref(info);
        if (aggref->aggdistinct != NIL || aggref->aggorder != NIL)
            sort(walk, rows, 0, NIL, 0);
    }
}

void group_keys(const Walk &walk, const List *clauses, double rows) {
    ListCell *cell;
    foreach (cell, clauses) {
        const SortGroupClause *clause = static_cast<const SortGroupClause *>(lfirst(cell));
        Oid left, right;
        op_input_types(clause->eqop, &left, &right);
        count(walk, comparison_of(left), rows);
    }
}

void hash_groups(const Walk &walk, double rows, double groups, int width) {
    Work grouped{};
    executor::group(&grouped, rows, groups, hash_entry_bytes + width);
    count_all(walk, grouped);
}

void aggregate(const Walk &walk, const AggPath *path) {
    const double rows = rows_of(walk, path->subpath), most = most_groups(walk.root, path->groupClause),
                 groups = std::min(path->path.rows, most);
    count_path_of(walk, path->subpath);
    transitions(walk, rows, path->aggsplit);
    if (path->aggstrategy != AGG_PLAIN)
        group_keys(walk, path->groupClause, rows);
    if (path->aggstrategy == AGG_HASHED || path->aggstrategy == AGG_MIXED)
        hash_groups(walk, rows, std::max(std::min(static_cast<double>(path->numGroups), most), groups),
                    path->path.pathtarget->width);
    const ExpressionCounting to = expressions(walk);
    count_expression(&to, reinterpret_cast<Node *>(path->qual), groups * walk.times);
    targets(walk, path->path.pathtarget, groups);
    count(walk, Step::Tuple, groups);
}

void grouping_sets(const Walk &walk, const GroupingSetsPath *path) {
    const double rows = rows_of(walk, path->subpath);
    count_path_of(walk, path->subpath);
    ListCell *cell;
    bool first = true;
    foreach (cell, path->rollups) {
        const RollupData *rollup = lfirst_node(RollupData, cell);
        if (rollup->is_hashed)
            hash_groups(walk, rows, rollup->numGroups, path->path.pathtarget->width);
        else if (!first)
            sort(walk, rows, 0, NIL, path->subpath->pathtarget->width);
        for (int set = 0; set < list_length(rollup->gsets); ++set)
            transitions(walk, rows, AGGSPLIT_SIMPLE);
        group_keys(walk, rollup->groupClause, rows);
        first = false;
    }
    targets(walk, path->path.pathtarget, path->path.rows);
}

// ---- the rest ----

void append(const Walk &walk, const List *paths) {
    ListCell *cell;
    foreach (cell, paths)
        count_path_of(walk, static_cast<const Path *>(lfirst(cell)));
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

void gather(const Walk &walk, const Path *path, const Path *partial, int workers) {
    count_path_of(by_workers(walk, contention(partial, workers)), partial);
    count(walk, Step::RowGathered, rows_of(walk, path));
    count(walk, Step::TeamStarted, workers > 0 ? 1 : 0);
}

void limit(const Walk &walk, const LimitPath *path) {
    const Path *below = path->subpath;
    const double rows = rows_of(walk, below), wanted = std::min(path->path.rows, rows);
    if (IsA(below, SortPath)) {
        const SortPath *sorted = reinterpret_cast<const SortPath *>(below);
        count_path_of(walk, sorted->subpath);
        sort(walk, rows_of(walk, sorted->subpath), wanted, sorted->path.pathkeys, sorted->path.pathtarget->width);
        return;
    }
    // What comes before the first row is needed whole.
    const double share = wanted / rows;
    const double done =
        below->total_cost > 0
            ? (below->startup_cost + share * (below->total_cost - below->startup_cost)) / below->total_cost
            : 1;
    count_path_of(repeated(walk, done), below);
}

// A path of no kind that is known: what PostgreSQL says that it costs by itself.
void unknown(const Walk &walk, const Path *path, std::initializer_list<const Path *> inputs) {
    Cost own = path->total_cost;
    for (const Path *input : inputs) {
        own -= input->total_cost;
        count_path_of(walk, input);
    }
    count_units(walk, std::max(own, 0.0));
}

// PostgreSQL has added the costs of expressions' subqueries that are computed once to those of the level's paths, and of ours the costs
// are all that is known.
double init_plans_in_cost_ns(const PlannerInfo *root, const Path *path) {
    return is_gpuscan_path(path) ? gpuscan_path_ns(path) * init_plans_cost(root) / path->total_cost : 0;
}

void subquery_scan(const Walk &walk, const SubqueryScanPath *path) {
    PlannerInfo *root = path->path.parent->subroot;
    const Walk below{root, composite_key_joins(root), walk.work, walk.times, walk.worker, walk.loads};
    const double rows = rows_of(below, path->subpath);
    if (root->init_plans != NIL) {
        *walk.loads = list_concat(*walk.loads, init_plans_loads(root));
        walk.work->other_ns += init_plans_ns(root) - walk.times * init_plans_in_cost_ns(root, path->subpath);
    }
    count_path_of(below, path->subpath);
    conditions(walk, path->path.parent->baserestrictinfo, rows);
    count(walk, Step::Tuple, rows);
}

// What another node of the plan brings as well is in the prices of both, and brought once.
void on_device(const Walk &walk, const Path *path) {
    double ns = gpuscan_path_ns(path);
    ListCell *cell;
    foreach (cell, gpuscan_path_loads(path)) {
        const Load *load = static_cast<const Load *>(lfirst(cell));
        if (brings(*walk.loads, load))
            ns -= device_ns(load->price - load->saved);
    }
    *walk.loads = list_concat(*walk.loads, gpuscan_path_loads(path));
    walk.work->other_ns += walk.times * std::max(ns, 0.0);
}

void plain_path(const Walk &walk, const Path *path) {
    switch (path->pathtype) {
    case T_SeqScan:
        sequential_scan(walk, path);
        break;
    case T_CteScan:
        count(walk, Step::RowKept, path->parent->tuples);
        conditions(walk, path->parent->baserestrictinfo, path->parent->tuples);
        break;
    default:
        count_units(walk, path->total_cost);
    }
}

void count_path_of(const Walk &walk, const Path *path) {
    check_stack_depth();
    switch (nodeTag(path)) {
    case T_Path:
        return plain_path(walk, path);
    case T_IndexPath:
        return index_scan(walk, as<IndexPath>(path));
    case T_BitmapHeapPath:
        return bitmap_scan(walk, as<BitmapHeapPath>(path));
    case T_SubqueryScanPath:
        return subquery_scan(walk, as<SubqueryScanPath>(path));
    case T_NestPath:
        return nested_loop(walk, as<JoinPath>(path));
    case T_MergePath:
        return merge_join(walk, as<MergePath>(path));
    case T_HashPath:
        return hash_join(walk, as<HashPath>(path));
    case T_AppendPath:
        return append(walk, as<AppendPath>(path)->subpaths);
    case T_MergeAppendPath:
        append(walk, as<MergeAppendPath>(path)->subpaths);
        return count(walk, Step::RowKept, rows_of(walk, path));
    case T_MaterialPath:
        count_path_of(walk, as<MaterialPath>(path)->subpath);
        return count(walk, Step::RowKept, rows_of(walk, path));
    case T_MemoizePath:
        count_path_of(walk, as<MemoizePath>(path)->subpath);
        return count(walk, Step::RowMemoized, rows_of(walk, path));
    case T_ProjectionPath:
        count_path_of(walk, as<ProjectionPath>(path)->subpath);
        return targets(walk, path->pathtarget, rows_of(walk, path));
    case T_SortPath: {
        const Path *input = as<SortPath>(path)->subpath;
        count_path_of(walk, input);
        return sort(walk, rows_of(walk, input), 0, path->pathkeys, path->pathtarget->width);
    }
    case T_IncrementalSortPath: {
        const Path *input = as<IncrementalSortPath>(path)->spath.subpath;
        count_path_of(walk, input);
        return sort(walk, rows_of(walk, input), 0, path->pathkeys, path->pathtarget->width);
    }
    case T_GroupPath: {
        const GroupPath *group = as<GroupPath>(path);
        count_path_of(walk, group->subpath);
        return group_keys(walk, group->groupClause, rows_of(walk, group->subpath));
    }
    case T_AggPath:
        return aggregate(walk, as<AggPath>(path));
    case T_GroupingSetsPath:
        return grouping_sets(walk, as<GroupingSetsPath>(path));
    case T_WindowAggPath: {
        const Path *input = as<WindowAggPath>(path)->subpath;
        count_path_of(walk, input);
        return count(walk, Step::RowWindowed, rows_of(walk, input));
    }
    case T_GatherPath: {
        const GatherPath *gathered = as<GatherPath>(path);
        return gather(walk, path, gathered->subpath, gathered->num_workers);
    }
    case T_GatherMergePath: {
        const GatherMergePath *gathered = as<GatherMergePath>(path);
        return gather(walk, path, gathered->subpath, gathered->num_workers);
    }
    case T_LimitPath:
        return limit(walk, as<LimitPath>(path));
    case T_UniquePath:
        return unknown(walk, path, {as<UniquePath>(path)->subpath});
    case T_UpperUniquePath:
        return unknown(walk, path, {as<UpperUniquePath>(path)->subpath});
    case T_ProjectSetPath:
        return unknown(walk, path, {as<ProjectSetPath>(path)->subpath});
    case T_LockRowsPath:
        return unknown(walk, path, {as<LockRowsPath>(path)->subpath});
    case T_CustomPath:
        return is_gpuscan_path(path) ? on_device(walk, path) : unknown(walk, path, {});
    default:
        return unknown(walk, path, {});
    }
}

} // namespace

void count_path(PlannerInfo *root, const Path *path, Work *work, List **loads) {
    List *brought = NIL;
    count_path_of(Walk{root, composite_key_joins(root), work, 1, 0, &brought}, path);
    if (loads != nullptr)
        *loads = brought;
    else
        list_free(brought);
}

List *path_loads(PlannerInfo *root, const Path *path) {
    Work work{};
    List *loads;
    count_path(root, path, &work, &loads);
    return loads;
}

bool brings(const List *loads, const Load *load) {
    ListCell *cell;
    foreach (cell, loads) {
        const Load *brought = static_cast<const Load *>(lfirst(cell));
        if (brought->relid == load->relid && bms_is_subset(load->columns, brought->columns))
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
