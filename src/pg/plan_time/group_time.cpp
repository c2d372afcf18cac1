// The steps of grouping: aggregates that get one more row, keys that are compared, groups that are looked up and made.
#include "pg/pg.h"

#include <algorithm>
#include <cmath>

#include "pg/cost/expression_work.h"
#include "pg/cost/group_count.h"
#include "pg/plan_time/plan_walk.h"

namespace gpuscan {

using executor::Step;

static void count_aggregate_step(const PlanWalk &walk, const AggTransInfo *transition, double rows, bool combines) {
    const Node *first = transition->args != NIL
                            ? reinterpret_cast<const Node *>(linitial_node(TargetEntry, transition->args)->expr)
                            : nullptr;
    const Cost declared = declared_cost(walk.root, combines ? transition->combinefn_oid : transition->transfn_oid);
    if (declared > 0)
        walk.count_units(0, rows * declared);
    else
        walk.count(first != nullptr ? step_of_type(exprType(first)) : Step::Operation, rows);
    if (combines)
        return;
    walk.expression(transition->aggfilter, rows);
    ListCell *cell;
    foreach (cell, transition->args)
        walk.expression(lfirst_node(TargetEntry, cell)->expr, rows);
}

// Of one more row in each aggregate of the query.
static void count_aggregate_steps(const PlanWalk &walk, double rows, AggSplit split) {
    ListCell *cell;
    foreach (cell, walk.root->aggtransinfos)
        count_aggregate_step(walk, static_cast<const AggTransInfo *>(lfirst(cell)), rows, DO_AGGSPLIT_COMBINE(split));
    foreach (cell, walk.root->agginfos) { // DISTINCT or ORDER BY within: each group's rows are sorted
        const Aggref *aggref = first_aggref(static_cast<const AggInfo *>(lfirst(cell)));
        if (aggref->aggdistinct != NIL || aggref->aggorder != NIL)
            walk.sort(rows, 0, NIL, 0);
    }
}

// Of the grouping sets of a rollup.
static double groups_of_sets(PlannerInfo *root, const RollupData *rollup) {
    double groups = 0;
    ListCell *cell;
    foreach (cell, rollup->gsets_data) {
        const GroupingSetData *set = lfirst_node(GroupingSetData, cell);
        groups += std::min(set->numGroups, max_groups(root, keys_of_references(root, set->set)));
    }
    return groups;
}

double group_correction(PlannerInfo *root, const Path *path) {
    double expected = path->rows, known = HUGE_VAL;
    if (IsA(path, AggPath)) { // (HAVING lets a share of the groups pass.)
        expected = static_cast<double>(as<AggPath>(path)->numGroups);
        known = max_groups(root, keys_of_clauses(root, as<AggPath>(path)->groupClause));
    } else if (IsA(path, GroupPath)) {
        known = max_groups(root, keys_of_clauses(root, as<GroupPath>(path)->groupClause));
    } else if (IsA(path, GroupingSetsPath)) {
        known = 0;
        ListCell *cell;
        foreach (cell, as<GroupingSetsPath>(path)->rollups)
            known += groups_of_sets(root, lfirst_node(RollupData, cell));
    }
    return expected > known ? known / expected : 1;
}

static void count_group_keys(const PlanWalk &walk, const List *clauses, double rows) {
    ListCell *cell;
    foreach (cell, clauses) {
        Oid left, right;
        op_input_types(static_cast<const SortGroupClause *>(lfirst(cell))->eqop, &left, &right);
        walk.count(step_of_type(left), rows);
    }
}

static void hash_groups(const PlanWalk &walk, double rows, double groups, const Path *path) {
    executor::Work grouped{};
    executor::group(&grouped, rows, groups, hash_entry_bytes + path->pathtarget->width);
    walk.count_all(grouped);
}

void count_group(const PlanWalk &walk, const Path *path) {
    const GroupPath *group = as<GroupPath>(path);
    count_group_keys(walk, group->groupClause, walk.rows_of(group->subpath));
}

void count_aggregate(const PlanWalk &walk, const Path *path) {
    const AggPath *aggregate = as<AggPath>(path);
    const double rows = walk.rows_of(aggregate->subpath),
                 most = max_groups(walk.root, keys_of_clauses(walk.root, aggregate->groupClause)),
                 groups = walk.rows_of(path);
    const PlanWalk reading = aggregate->aggstrategy == AGG_SORTED ? walk : walk.whole();
    PlanWalk input = reading;
    input.bound = 0;
    if (aggregate->aggstrategy == AGG_SORTED)
        input.different = std::min(static_cast<double>(aggregate->numGroups), most);
    input.hand_on(aggregate->subpath);
    count_aggregate_steps(reading, rows, aggregate->aggsplit);
    if (aggregate->aggstrategy != AGG_PLAIN)
        count_group_keys(reading, aggregate->groupClause, rows);
    if (aggregate->aggstrategy == AGG_HASHED || aggregate->aggstrategy == AGG_MIXED)
        hash_groups(reading, rows, std::max(std::min(static_cast<double>(aggregate->numGroups), most), groups), path);
    walk.expression(aggregate->qual, groups);
    walk.expression(path->pathtarget->exprs, groups);
    walk.count(Step::Tuple, groups);
}

void count_grouping_sets(const PlanWalk &walk, const Path *path) {
    const GroupingSetsPath *sets = as<GroupingSetsPath>(path);
    const double rows = walk.rows_of(sets->subpath);
    const PlanWalk reading = sets->aggstrategy == AGG_SORTED && list_length(sets->rollups) == 1 ? walk : walk.whole();
    reading.count_path(sets->subpath);
    double groups = 0;
    ListCell *cell;
    foreach (cell, sets->rollups) {
        const RollupData *rollup = lfirst_node(RollupData, cell);
        const double of_rollup = groups_of_sets(walk.root, rollup);
        groups += of_rollup;
        if (rollup->is_hashed)
            hash_groups(reading, rows, of_rollup, path);
        else if (cell != list_head(sets->rollups)) // (the first one's order is the input's)
            reading.sort(rows, 0, NIL, sets->subpath->pathtarget->width);
        for (int set = 0; set < list_length(rollup->gsets); ++set)
            count_aggregate_steps(reading, rows, AGGSPLIT_SIMPLE);
        count_group_keys(reading, rollup->groupClause, rows);
    }
    walk.expression(path->pathtarget->exprs, walk.rows_of(path));
}

} // namespace gpuscan
