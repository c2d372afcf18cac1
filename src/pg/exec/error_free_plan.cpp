#include "pg/exec/error_free_plan.h"

#include "pg/fragment/fragment.h"
#include "pg/fragment/plan_tree.h"
#include "pg/rewrite/error_free_expression.h"

namespace gpuscan {
namespace {

// The init plans that an expression would have executed.
bool finds_raising_init_plan(Node *node, void *context) {
    const EState *estate = static_cast<const EState *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, Param) && reinterpret_cast<const Param *>(node)->paramkind == PARAM_EXEC) {
        const int id = reinterpret_cast<const Param *>(node)->paramid;
        const SubPlanState *pending = static_cast<const SubPlanState *>(estate->es_param_exec_vals[id].execPlan);
        return pending != nullptr && !is_error_free_init_plan(estate, pending);
    }
    return walk_expression(node, finds_raising_init_plan, context);
}

bool is_error_free_expression(const EState *estate, const void *expression) {
    Node *node = static_cast<Node *>(const_cast<void *>(expression));
    return is_error_free_in_plan(node) && !finds_raising_init_plan(node, const_cast<EState *>(estate));
}

// What types' authors have written may raise anything.
bool are_built_in(const Oid *operators, int count) {
    for (int i = 0; i < count; ++i)
        if (operators[i] >= FirstNormalObjectId)
            return false;
    return true;
}

bool is_count(const Node *node) {
    const Const *constant = reinterpret_cast<const Const *>(node);
    return node == nullptr || (IsA(node, Const) && !constant->constisnull && DatumGetInt64(constant->constvalue) >= 0);
}

// What a node has besides its target list, its condition and the plans below it.
bool is_error_free_node(const EState *estate, const Plan *plan) {
    const auto fine = [estate](const void *expression) { return is_error_free_expression(estate, expression); };
    switch (nodeTag(plan)) {
    case T_SeqScan:
    case T_Hash: // its keys are the join's
    case T_Material:
    case T_BitmapHeapScan: // tests again what its indexes have been asked
    case T_BitmapAnd:
    case T_BitmapOr:
    case T_Append:
    case T_SubqueryScan:
    case T_Gather:
        return true;
    case T_IndexScan:
        return fine(reinterpret_cast<const IndexScan *>(plan)->indexqualorig) &&
               reinterpret_cast<const IndexScan *>(plan)->indexorderby == NIL;
    case T_IndexOnlyScan:
        return fine(reinterpret_cast<const IndexOnlyScan *>(plan)->indexqual) &&
               reinterpret_cast<const IndexOnlyScan *>(plan)->indexorderby == NIL;
    case T_BitmapIndexScan:
        return fine(reinterpret_cast<const BitmapIndexScan *>(plan)->indexqualorig);
    case T_CteScan:
        return is_error_free_plan(
            estate, static_cast<const Plan *>(list_nth(estate->es_plannedstmt->subplans,
                                                       reinterpret_cast<const CteScan *>(plan)->ctePlanId - 1)));
    case T_NestLoop:
        return fine(reinterpret_cast<const Join *>(plan)->joinqual);
    case T_HashJoin:
        return fine(reinterpret_cast<const Join *>(plan)->joinqual) &&
               fine(reinterpret_cast<const HashJoin *>(plan)->hashclauses);
    case T_MergeJoin:
        return fine(reinterpret_cast<const Join *>(plan)->joinqual) &&
               fine(reinterpret_cast<const MergeJoin *>(plan)->mergeclauses);
    case T_Agg:
        return are_built_in(reinterpret_cast<const Agg *>(plan)->grpOperators,
                            reinterpret_cast<const Agg *>(plan)->numCols) &&
               reinterpret_cast<const Agg *>(plan)->chain == NIL;
    case T_Sort:
        return are_built_in(reinterpret_cast<const Sort *>(plan)->sortOperators,
                            reinterpret_cast<const Sort *>(plan)->numCols);
    case T_GatherMerge:
        return are_built_in(reinterpret_cast<const GatherMerge *>(plan)->sortOperators,
                            reinterpret_cast<const GatherMerge *>(plan)->numCols);
    case T_Unique:
        return are_built_in(reinterpret_cast<const Unique *>(plan)->uniqOperators,
                            reinterpret_cast<const Unique *>(plan)->numCols);
    case T_Limit:
        return is_count(reinterpret_cast<const Limit *>(plan)->limitCount) &&
               is_count(reinterpret_cast<const Limit *>(plan)->limitOffset);
    case T_Result:
        return fine(reinterpret_cast<const Result *>(plan)->resconstantqual);
    case T_CustomScan: // ours computes what its CPU plan computes
        return reinterpret_cast<const CustomScan *>(plan)->methods == &gpuscan_scan_methods;
    default:
        return false;
    }
}

bool has_one_row_at_most(const Plan *plan) {
    switch (nodeTag(plan)) {
    case T_Agg:
        return reinterpret_cast<const Agg *>(plan)->aggstrategy == AGG_PLAIN &&
               reinterpret_cast<const Agg *>(plan)->groupingSets == NIL;
    case T_Limit: {
        const Const *count = reinterpret_cast<const Const *>(reinterpret_cast<const Limit *>(plan)->limitCount);
        return count != nullptr && IsA(count, Const) && !count->constisnull && DatumGetInt64(count->constvalue) <= 1 &&
               reinterpret_cast<const Limit *>(plan)->limitOption == LIMIT_OPTION_COUNT;
    }
    case T_Result:
        return plan->lefttree == nullptr || has_one_row_at_most(plan->lefttree);
    case T_SubqueryScan:
        return has_one_row_at_most(reinterpret_cast<const SubqueryScan *>(plan)->subplan);
    case T_CustomScan:
        return reinterpret_cast<const CustomScan *>(plan)->methods == &gpuscan_scan_methods &&
               has_one_row_at_most(
                   static_cast<const Plan *>(linitial(reinterpret_cast<const CustomScan *>(plan)->custom_plans)));
    default:
        return false;
    }
}

} // namespace

bool is_error_free_plan(const EState *estate, const Plan *plan) {
    check_stack_depth();
    if (!is_error_free_expression(estate, plan->targetlist) || !is_error_free_expression(estate, plan->qual) ||
        !is_error_free_node(estate, plan))
        return false;
    ListCell *cell;
    foreach (cell, plans_below(plan))
        if (!is_error_free_plan(estate, static_cast<const Plan *>(lfirst(cell))))
            return false;
    return true;
}

bool is_error_free_init_plan(const EState *estate, const SubPlanState *state) {
    const SubLinkType type = state->subplan->subLinkType;
    const Plan *plan = state->planstate->plan;
    return (type == EXISTS_SUBLINK || type == ARRAY_SUBLINK || has_one_row_at_most(plan)) &&
           is_error_free_plan(estate, plan);
}

} // namespace gpuscan
