// See sampled_conditions.h. Conditions of a column are tried together, since they say something of each other: two ranges of one
// function have an intersection.
#include "pg/pg.h"

#include "pg/cost/sampled_conditions.h"

#include <algorithm>
#include <utility>

#include "pg/cost/column_sample.h"
#include "pg/cost/own_selectivity.h"
#include "pg/cost/row_corrections.h"
#include "pg/cost/samplable.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

// ---- what PostgreSQL knows ----

bool has_statistics(PlannerInfo *root, Node *expression) {
    VariableStatData statistics;
    examine_variable(root, expression, 0, &statistics);
    const bool has = HeapTupleIsValid(statistics.statsTuple) || statistics.isunique;
    ReleaseVariableStats(statistics);
    return has;
}

bool is_column(Node *expression) { return IsA(strip_relabels(reinterpret_cast<Expr *>(expression)), Var); }

// A column, or an expression that has statistics (by an index on it, or declared ones).
bool is_known_value(PlannerInfo *root, Node *expression) {
    return is_column(expression) || has_statistics(root, expression);
}

bool is_known_comparison(PlannerInfo *root, const List *sides) {
    if (list_length(sides) != 2)
        return false;
    Node *left = static_cast<Node *>(linitial(sides)), *right = static_cast<Node *>(lsecond(sides));
    if (!contain_var_clause(right))
        return is_known_value(root, left);
    return !contain_var_clause(left) && is_known_value(root, right);
}

// A function of a column itself may have an estimate of its own (starts_with).
bool is_known_call(PlannerInfo *root, const FuncExpr *call) {
    if (OidIsValid(get_func_support(call->funcid))) {
        ListCell *cell;
        foreach (cell, call->args)
            if (is_column(static_cast<Node *>(lfirst(cell))))
                return true;
    }
    return has_statistics(root, reinterpret_cast<Node *>(const_cast<FuncExpr *>(call)));
}

bool is_known_condition(PlannerInfo *root, Node *condition) {
    switch (nodeTag(condition)) {
    case T_Const:
    case T_Var:
    case T_RelabelType:
        return true;
    case T_BoolExpr: {
        ListCell *cell;
        foreach (cell, reinterpret_cast<const BoolExpr *>(condition)->args)
            if (!is_known_condition(root, static_cast<Node *>(lfirst(cell))))
                return false;
        return true;
    }
    case T_NullTest:
        return is_known_value(root, reinterpret_cast<Node *>(reinterpret_cast<const NullTest *>(condition)->arg));
    case T_BooleanTest:
        return is_known_condition(root,
                                  reinterpret_cast<Node *>(reinterpret_cast<const BooleanTest *>(condition)->arg));
    case T_OpExpr:
    case T_DistinctExpr:
        return is_known_comparison(root, reinterpret_cast<const OpExpr *>(condition)->args);
    case T_ScalarArrayOpExpr:
        return is_known_comparison(root, reinterpret_cast<const ScalarArrayOpExpr *>(condition)->args);
    case T_FuncExpr:
        return is_known_call(root, reinterpret_cast<const FuncExpr *>(condition));
    default:
        return has_statistics(root, condition);
    }
}

// ---- a relation's conditions ----

struct ColumnConditions {
    const Var *column;
    List *infos; // of RestrictInfo *
};

const Var *column_to_try(PlannerInfo *root, const RelOptInfo *rel, const RestrictInfo *info) {
    Node *condition = reinterpret_cast<Node *>(info->clause);
    if (info->pseudoconstant || is_known_condition(root, condition))
        return nullptr;
    const Var *column = samplable_column(condition);
    return column != nullptr && static_cast<Index>(column->varno) == rel->relid ? column : nullptr;
}

// Of ColumnConditions *.
List *conditions_to_try(PlannerInfo *root, const RelOptInfo *rel) {
    List *all = NIL;
    ListCell *cell, *known;
    foreach (cell, rel->baserestrictinfo) {
        RestrictInfo *info = lfirst_node(RestrictInfo, cell);
        const Var *column = column_to_try(root, rel, info);
        if (column == nullptr)
            continue;
        ColumnConditions *of_column = nullptr;
        foreach (known, all)
            if (static_cast<ColumnConditions *>(lfirst(known))->column->varattno == column->varattno)
                of_column = static_cast<ColumnConditions *>(lfirst(known));
        if (of_column == nullptr) {
            of_column = static_cast<ColumnConditions *>(palloc(sizeof(ColumnConditions)));
            *of_column = {column, NIL};
            all = lappend(all, of_column);
        }
        of_column->infos = lappend(of_column->infos, info);
    }
    return all;
}

// ---- relations ----

bool is_parent(const PlannerInfo *root, const RelOptInfo *rel) {
    return planner_rt_fetch(rel->relid, const_cast<PlannerInfo *>(root))->inh;
}

// In partitions PostgreSQL may know more than of their parent.
bool has_known_partitions(const PlannerInfo *root, Index parent) {
    ListCell *cell, *at;
    foreach (cell, root->append_rel_list) {
        const AppendRelInfo *info = lfirst_node(AppendRelInfo, cell);
        const RelOptInfo *child = info->parent_relid == parent ? root->simple_rel_array[info->child_relid] : nullptr;
        if (child == nullptr)
            continue;
        foreach (at, child->indexlist)
            if (lfirst_node(IndexOptInfo, at)->indexprs != NIL)
                return true;
        if (child->statlist != NIL || has_known_partitions(root, info->child_relid))
            return true;
    }
    return false;
}

// (15 and 16 take a parent's rows for its tuples.)
double tuples_of(const PlannerInfo *root, const RelOptInfo *rel) {
    if (!is_parent(root, rel))
        return rel->tuples;
    double tuples = 0;
    ListCell *cell;
    foreach (cell, root->append_rel_list) {
        const AppendRelInfo *info = lfirst_node(AppendRelInfo, cell);
        RelOptInfo *child = info->parent_relid == rel->relid ? root->simple_rel_array[info->child_relid] : nullptr;
        tuples += child != nullptr && !is_dummy_rel(child) ? tuples_of(root, child) : 0;
    }
    return tuples;
}

// What PostgreSQL expects, of a parent as it does of the children. (What it takes for their number of different values is bounded by
// the tuples, and what it has found is kept in the RestrictInfos.)
Selectivity expected_share(PlannerInfo *root, RelOptInfo *rel, List *infos) {
    if (!is_parent(root, rel))
        return own_selectivity(root, infos);
    const double tuples = std::exchange(rel->tuples, tuples_of(root, rel));
    const Selectivity share = own_selectivity(root, extract_actual_clauses(infos, false));
    rel->tuples = tuples;
    return share;
}

// How many times the rows pass that PostgreSQL expects.
double factor_of(PlannerInfo *root, RelOptInfo *rel, const ColumnConditions *conditions) {
    const Selectivity expected = expected_share(root, rel, conditions->infos);
    Selectivity share;
    if (expected <= 0 ||
        !share_by_sample(root, conditions->column, make_ands_explicit(extract_actual_clauses(conditions->infos, false)),
                         expected, &share))
        return 1;
    return share / expected;
}

// Of the relation's rows, between one and all. (Of less than a row that it expects, PostgreSQL makes one.)
double factor_of_rows(PlannerInfo *root, RelOptInfo *rel, double factor) {
    const double tuples = tuples_of(root, rel);
    double rows = rel->rows;
    if (rows <= 1)
        rows = std::min(rows, tuples * expected_share(root, rel, rel->baserestrictinfo));
    return std::clamp(rows * factor, 1.0, std::max(tuples, 1.0)) / rel->rows;
}

void add_conditions_of(PlannerInfo *root, RelOptInfo *rel, List **corrections) {
    const List *conditions = conditions_to_try(root, rel);
    if (conditions == NIL || rel->rows < 1 || (is_parent(root, rel) && has_known_partitions(root, rel->relid)))
        return;
    double factor = 1;
    ListCell *cell;
    foreach (cell, conditions)
        factor *= factor_of(root, rel, static_cast<const ColumnConditions *>(lfirst(cell)));
    if (factor == 1)
        return;
    add_correction(corrections, {rel->relids, factor_of_rows(root, rel, factor), ends_of(root, rel->relids), 0});
}

} // namespace

void add_sampled_conditions(PlannerInfo *root, List **corrections) {
    for (int i = 1; i < root->simple_rel_array_size; ++i) {
        RelOptInfo *rel = root->simple_rel_array[i];
        if (rel != nullptr && rel->reloptkind == RELOPT_BASEREL && rel->rtekind == RTE_RELATION &&
            rel->baserestrictinfo != NIL)
            add_conditions_of(root, rel, corrections);
    }
}

} // namespace gpuscan
