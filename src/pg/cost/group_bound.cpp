// See group_bound.h. The bound of several keys is the product of theirs.
#include "pg/pg.h"

#include "pg/cost/group_bound.h"

#include <algorithm>
#include <cmath>

#include "pg/cost/joint_keys.h"
#include "pg/cost/row_corrections.h"
#include "pg/page_costs/planner_formulas.h"
#include "pg/translate/translate.h"

namespace gpuscan {

static const Var *key_column(const PlannerInfo *root, Index reference) {
    ListCell *cell;
    foreach (cell, root->processed_tlist) {
        const TargetEntry *entry = lfirst_node(TargetEntry, cell);
        if (entry->ressortgroupref != reference)
            continue;
        const Expr *expr = strip_relabels(entry->expr);
        return expr != nullptr && IsA(expr, Var) ? reinterpret_cast<const Var *>(expr) : nullptr;
    }
    return nullptr;
}

static const RelOptInfo *base_relation(const PlannerInfo *root, int relid) {
    const RelOptInfo *rel = relid > 0 && relid < root->simple_rel_array_size ? root->simple_rel_array[relid] : nullptr;
    return rel != nullptr && rel->reloptkind == RELOPT_BASEREL ? rel : nullptr;
}

static double most_values(PlannerInfo *root, const Var *column) {
    const int relid = static_cast<int>(column->varno);
    if (column->varlevelsup != 0 || column->varattno <= 0 || base_relation(root, relid) == nullptr)
        return HUGE_VAL;
    if (equals_constant(root, relid, column->varattno))
        return 1;
    bool is_guess;
    const double distinct = distinct_values(root, reinterpret_cast<const Node *>(column), &is_guess);
    double most = is_guess ? HUGE_VAL : std::max(distinct, 1.0);
    for (int other = 1; other < root->simple_rel_array_size; ++other) {
        RelOptInfo *rel = const_cast<RelOptInfo *>(base_relation(root, other));
        if (rel != nullptr && other != relid && equal_column(root, relid, column->varattno, other, 0) != nullptr)
            most = std::min(most, expected_rows(root, rel));
    }
    return most;
}

double most_groups(PlannerInfo *root, const List *clauses) {
    double most = 1;
    ListCell *cell;
    foreach (cell, clauses) {
        const Var *column = key_column(root, lfirst_node(SortGroupClause, cell)->tleSortGroupRef);
        most *= column != nullptr ? most_values(root, column) : HUGE_VAL;
    }
    return most;
}

} // namespace gpuscan
