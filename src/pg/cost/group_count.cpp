// See group_count.h. Keys of one column are tried together (a year and a month of one date); those of several columns are taken to be
// independent, as PostgreSQL does it. A key that is the column itself decides for all expressions of it.
#include "pg/pg.h"

#include "pg/cost/group_count.h"

#include <algorithm>
#include <cmath>

#include "pg/cost/expression_values.h"
#include "pg/cost/level_estimates.h"
#include "pg/page_costs/planner_formulas.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

struct GroupCount {
    const List *clauses;
    double groups;
};

struct ColumnKeys {
    const Var *column;
    List *expressions;
    bool is_key; // the column itself
};

Expr *key_of(const PlannerInfo *root, const SortGroupClause *clause) {
    ListCell *cell;
    foreach (cell, root->processed_tlist) {
        const TargetEntry *entry = lfirst_node(TargetEntry, cell);
        if (entry->ressortgroupref == clause->tleSortGroupRef)
            return const_cast<Expr *>(strip_relabels(entry->expr));
    }
    return nullptr;
}

bool is_of_table(const PlannerInfo *root, const Var *column) {
    const int relid = static_cast<int>(column->varno);
    const RelOptInfo *rel = relid > 0 && relid < root->simple_rel_array_size ? root->simple_rel_array[relid] : nullptr;
    return rel != nullptr && rel->reloptkind == RELOPT_BASEREL && rel->rtekind == RTE_RELATION;
}

ColumnKeys *keys_of_column(List **all, const Var *column) {
    ListCell *cell;
    foreach (cell, *all) {
        ColumnKeys *keys = static_cast<ColumnKeys *>(lfirst(cell));
        if (keys->column->varno == column->varno && keys->column->varattno == column->varattno)
            return keys;
    }
    ColumnKeys *keys = static_cast<ColumnKeys *>(palloc(sizeof(ColumnKeys)));
    *keys = {column, NIL, false};
    *all = lappend(*all, keys);
    return keys;
}

// Of ColumnKeys *; NIL: some key is not of one column, or all keys are columns.
List *keys_by_column(const PlannerInfo *root, const List *clauses) {
    List *all = NIL;
    bool has_expression = false;
    ListCell *cell;
    foreach (cell, clauses) {
        Expr *key = key_of(root, lfirst_node(SortGroupClause, cell));
        const Var *column = column_of_expression(reinterpret_cast<Node *>(key));
        if (column == nullptr || !is_of_table(root, column))
            return NIL;
        ColumnKeys *keys = keys_of_column(&all, column);
        if (IsA(key, Var))
            keys->is_key = true;
        else
            keys->expressions = lappend(keys->expressions, key);
        has_expression |= !IsA(key, Var);
    }
    return has_expression ? all : NIL;
}

double values_of(PlannerInfo *root, const ColumnKeys *keys) {
    if (!keys->is_key)
        return expression_values(root, keys->column, keys->expressions);
    bool is_guess;
    const double values = distinct_values(root, reinterpret_cast<const Node *>(keys->column), &is_guess);
    return is_guess ? HUGE_VAL : values;
}

double count_groups(PlannerInfo *root, const List *clauses) {
    const List *all = keys_by_column(root, clauses);
    double groups = all != NIL ? 1 : HUGE_VAL;
    ListCell *cell;
    foreach (cell, all)
        groups *= std::max(values_of(root, static_cast<const ColumnKeys *>(lfirst(cell))), 1.0);
    return groups;
}

} // namespace

double max_groups(PlannerInfo *root, const List *clauses) {
    LevelEstimates *level = level_estimates(root);
    ListCell *cell;
    foreach (cell, level->group_counts)
        if (const GroupCount *known = static_cast<const GroupCount *>(lfirst(cell)); equal(known->clauses, clauses))
            return known->groups;
    MemoryContext before = MemoryContextSwitchTo(root->planner_cxt);
    GroupCount *count = static_cast<GroupCount *>(palloc(sizeof(GroupCount)));
    *count = {static_cast<const List *>(copyObject(const_cast<List *>(clauses))), count_groups(root, clauses)};
    level->group_counts = lappend(const_cast<List *>(level->group_counts), count);
    MemoryContextSwitchTo(before);
    return count->groups;
}

} // namespace gpuscan
