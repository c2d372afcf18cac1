// Which of its groups or rows need a fragment deliver?
//
// The device drops groups; PostgreSQL does again what it would do with all of them: the node tests HAVING, and Sort and Limit
// stand above it. So the device may let too many pass, never too few:
//
//   HAVING   its conjuncts are tested in PostgreSQL's order, so that a group that an earlier one would have raised an error
//            for is not dropped by a later one. What the device cannot do ends the list; so does what depends on the row of
//            an outer query, if nothing else does: then all groups are kept here and shown again (as PostgreSQL keeps a hash
//            aggregation's).
//   LIMIT    the aggregation's rows go to a Sort (or none) and then to the Limit, where no window function, DISTINCT, set
//            operation or set-returning function stands between. The first ones are those by the sort keys from the first
//            on that the device can do; where keys are left, groups equal to the last of them are delivered, too. A
//            condition that lets too many pass may not stand before it, since the node would drop groups afterwards. And
//            nothing that is computed from the dropped groups may be an error.
//
// Of rows that come in an order the first ones are wanted if they go to the Limit as they are, or by way of a Sort by the keys
// that are left. What is computed above them is computed of the rows that the Limit asks for, as above an index that
// has PostgreSQL's order; so nothing of it needs to be free of errors.
#include "pg/pg.h"

#include "pg/fragment/wanted_groups.h"

#include <algorithm>

#include "pg/catalog/type_operators.h"
#include "pg/fragment/path.h"
#include "pg/refusal.h"
#include "pg/rewrite/error_free_expression.h"

namespace gpuscan {

// ---- asking ----

bool has_limit(const Query *query) {
    const Node *count = query->limitCount;
    return count != nullptr && !(IsA(count, Const) && reinterpret_cast<const Const *>(count)->constisnull);
}

static bool limit_follows(const Query *query) {
    return query->commandType == CMD_SELECT && has_limit(query) && !query->hasWindowFuncs && !query->hasTargetSRFs &&
           query->setOperations == nullptr && query->rowMarks == NIL &&
           (query->distinctClause == NIL || removes_duplicates(query));
}

static void ask_for_order(PlannerInfo *root, FragmentSpec *spec) {
    ListCell *cell;
    foreach (cell, root->parse->sortClause) {
        SortGroupClause *clause = static_cast<SortGroupClause *>(lfirst(cell));
        Expr *key = get_sortgroupclause_tle(clause, root->processed_tlist)->expr;
        bool descending;
        if (!is_device_order(clause->sortop, exprType(reinterpret_cast<Node *>(key)), &descending))
            return;
        const int flags = (clause->nulls_first ? ORDER_NULLS_FIRST : 0) | (descending ? ORDER_DESCENDING : 0);
        spec->order = lappend(spec->order, key);
        spec->order_flags = lappend_int(spec->order_flags, flags);
    }
}

// A value of the row of an outer query.
static bool finds_outer_value(Node *node, void *root) {
    const Param *param = reinterpret_cast<const Param *>(node);
    if (node == nullptr)
        return false;
    if (IsA(node, Query))
        return walk_query(reinterpret_cast<Query *>(node), finds_outer_value, root);
    if (!IsA(node, Param))
        return walk_expression(node, finds_outer_value, root);
    ListCell *cell;
    for (const PlannerInfo *outer = static_cast<PlannerInfo *>(root)->parent_root; outer; outer = outer->parent_root)
        foreach (cell, outer->plan_params)
            if (param->paramkind == PARAM_EXEC &&
                param->paramid == static_cast<const PlannerParamItem *>(lfirst(cell))->paramId)
                return true;
    return false;
}

static bool has_outer_value(PlannerInfo *root, const void *node) {
    return finds_outer_value(static_cast<Node *>(const_cast<void *>(node)), root);
}

static bool plan_has_outer_value(PlannerInfo *root, const FragmentSource *source) {
    const RelOptInfo *rel = root->simple_rel_array[source->rti];
    const RangeTblEntry *rte = planner_rt_fetch(source->rti, root);
    ListCell *cell;
    foreach (cell, rel->baserestrictinfo)
        if (has_outer_value(root, static_cast<const RestrictInfo *>(lfirst(cell))->clause))
            return true;
    return (rel->subroot != nullptr && has_outer_value(root, rel->subroot->parse)) ||
           has_outer_value(root, rte->functions) || has_outer_value(root, rte->values_lists);
}

// What is grouped, or how.
static bool groups_have_outer_value(PlannerInfo *root, const FragmentSpec *spec) {
    for (int i = 0; i < spec->nsources; ++i)
        if (!spec->sources[i].is_relation && plan_has_outer_value(root, &spec->sources[i]))
            return true;
    bool found = has_outer_value(root, spec->keys) || has_outer_value(root, spec->aggrefs);
    for_each_condition(spec, [&](const List *conditions) { found = found || has_outer_value(root, conditions); });
    return found;
}

// How many conditions from the first on say the same of a group for all rows of an outer query.
static int lasting_conditions(PlannerInfo *root, const List *having) {
    int count = 0;
    ListCell *cell;
    foreach (cell, having) {
        if (has_outer_value(root, lfirst(cell)))
            break;
        ++count;
    }
    return count;
}

// Which groups are the first ones says the same, too.
static bool is_limit_lasting(PlannerInfo *root) {
    const Query *query = root->parse;
    ListCell *cell;
    foreach (cell, query->sortClause)
        if (has_outer_value(root,
                            get_sortgroupclause_tle(lfirst_node(SortGroupClause, cell), root->processed_tlist)->expr))
            return false;
    return !has_outer_value(root, query->limitCount) && !has_outer_value(root, query->limitOffset);
}

void ask_for_groups(PlannerInfo *root, List *having, FragmentSpec *spec) {
    if (!spec->has_group_by)
        return;
    const int lasting = lasting_conditions(root, having);
    const bool limit = limit_follows(root->parse);
    const bool all = (lasting == list_length(having) && (!limit || is_limit_lasting(root))) ||
                     groups_have_outer_value(root, spec); // and will be made for each row anyway
    spec->having = all ? having : list_copy_head(having, lasting);
    if (!limit || !all)
        return;
    ask_for_order(root, spec);
    spec->top = reinterpret_cast<Expr *>(root->parse->limitCount);
    spec->top_offset = reinterpret_cast<Expr *>(root->parse->limitOffset);
}

// ---- finalizing ----

// Nothing that PostgreSQL would compute for every group can be an error, but what the device computes as well.
static bool results_are_error_free(const PlannerInfo *root, const List *results, const FragmentSpec *spec) {
    ListCell *cell;
    foreach (cell, results) {
        Node *result = static_cast<Node *>(lfirst(cell));
        if (!list_member(spec->keys, result) && !list_member(spec->aggrefs, result) &&
            !list_member(spec->order, result) && !is_error_free(root->parse, result, true))
            return false;
    }
    return true;
}

void finalize_wanted_groups(const PlannerInfo *root, List *results, const Fragment *trial, FragmentSpec *spec) {
    const int keys = list_length(root->parse->sortClause);
    spec->having = trial->having;
    spec->order = trial->order;
    spec->order_flags = trial->order_flags;
    spec->ties = root->parse->limitOption == LIMIT_OPTION_WITH_TIES || list_length(spec->order) < keys;
    if (trial->top != nullptr && trial->having_exact && (keys == 0 || spec->order != NIL) &&
        results_are_error_free(root, results, spec))
        return;
    spec->order = spec->order_flags = NIL;
    spec->top = spec->top_offset = nullptr;
    spec->ties = false;
}

void ask_for_first_rows(const PlannerInfo *root, FragmentSpec *spec) {
    const Query *query = root->parse;
    if (!limit_follows(query) || query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
        query->havingQual != nullptr || query->distinctClause != NIL || query->sortClause == NIL)
        return;
    spec->top = reinterpret_cast<Expr *>(query->limitCount);
    spec->top_offset = reinterpret_cast<Expr *>(query->limitOffset);
}

// PostgreSQL leaves what is volatile or expensive to the rows that LIMIT lets pass (make_sort_input_target).
static bool is_computed_behind_limit(const PlannerInfo *root, const TargetEntry *entry) {
    if (entry->ressortgroupref != 0)
        return false;
    Node *expr = reinterpret_cast<Node *>(entry->expr);
    QualCost cost;
    cost_qual_eval_node(&cost, expr, const_cast<PlannerInfo *>(root));
    return cost.per_tuple > 10 * cpu_operator_cost || contain_volatile_functions(expr);
}

// Everything else it computes for every row before it sorts them, so an error is found in rows that nobody wants, too.
void ask_for_checks(const PlannerInfo *root, FragmentSpec *spec) {
    const Query *query = root->parse;
    // (What the query shows of groups and windows is not computed of the rows.)
    if (query->hasWindowFuncs || query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
        query->distinctClause != NIL)
        return;
    ListCell *cell;
    foreach (cell, root->processed_tlist) {
        const TargetEntry *entry = static_cast<const TargetEntry *>(lfirst(cell));
        Node *expr = reinterpret_cast<Node *>(entry->expr);
        const bool column =
            IsA(expr, Var) &&
            planner_rt_fetch(reinterpret_cast<const Var *>(expr)->varno, const_cast<PlannerInfo *>(root))->rtekind !=
                RTE_RELATION;
        if (!column && !list_member(spec->order, expr) && !is_computed_behind_limit(root, entry) &&
            !is_error_free(root->parse, expr))
            spec->checks = list_append_unique(spec->checks, expr);
    }
}

void finalize_first_rows(const PlannerInfo *root, const Fragment *trial, FragmentSpec *spec) {
    spec->order = trial->order;
    spec->order_flags = trial->order_flags;
    if (trial->top == nullptr)
        spec->top = spec->top_offset = nullptr;
    spec->ties = spec->top != nullptr && (root->parse->limitOption == LIMIT_OPTION_WITH_TIES ||
                                          list_length(spec->order) < list_length(root->query_pathkeys));
}

static double number_of(const Expr *number, double unknown) {
    const Const *constant = reinterpret_cast<const Const *>(number);
    if (number == nullptr)
        return 0;
    return IsA(number, Const) && !constant->constisnull ? static_cast<double>(DatumGetInt64(constant->constvalue))
                                                        : unknown;
}

double wanted_groups(const FragmentSpec *spec, double groups) {
    if (spec->top == nullptr)
        return groups;
    return std::max(1.0, std::min(groups, number_of(spec->top, groups) + number_of(spec->top_offset, groups)));
}

} // namespace gpuscan
