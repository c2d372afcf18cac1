#include "pg/fragment/init_plans.h"

#include "pg/fragment/readable.h"
#include "pg/refusal.h"

namespace gpuscan {
namespace {

const SubPlan *init_plan_of(const PlannerInfo *root, int param) {
    ListCell *cell;
    for (; root != nullptr; root = root->parent_root)
        foreach (cell, root->init_plans) {
            const SubPlan *plan = static_cast<const SubPlan *>(lfirst(cell));
            if (list_member_int(plan->setParam, param))
                return plan;
        }
    return nullptr;
}

bool finds_volatile_init_plan(Node *node, void *context);

// Those whose values the init plan asks for as well.
bool is_volatile(const PlannerInfo *root, const SubPlan *plan) {
    const PlannerInfo *subroot = static_cast<const PlannerInfo *>(list_nth(root->glob->subroots, plan->plan_id - 1));
    Node *query = reinterpret_cast<Node *>(subroot->parse);
    return is_volatile_when_planned(const_cast<PlannerInfo *>(subroot), query) ||
           finds_volatile_init_plan(query, const_cast<PlannerInfo *>(subroot));
}

bool finds_volatile_init_plan(Node *node, void *context) {
    const PlannerInfo *root = static_cast<const PlannerInfo *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, Query))
        return walk_query(reinterpret_cast<Query *>(node), finds_volatile_init_plan, context);
    if (IsA(node, Param) && reinterpret_cast<const Param *>(node)->paramkind == PARAM_EXEC) {
        const SubPlan *plan = init_plan_of(root, reinterpret_cast<const Param *>(node)->paramid);
        return plan != nullptr && is_volatile(root, plan);
    }
    return walk_expression(node, finds_volatile_init_plan, context);
}

} // namespace

bool init_plans_may_be_tried(const PlannerInfo *root, const FragmentSpec *spec) {
    const auto finds = [root](const void *expressions) {
        return finds_volatile_init_plan(static_cast<Node *>(const_cast<void *>(expressions)),
                                        const_cast<PlannerInfo *>(root));
    };
    bool found = finds(spec->keys) || finds(spec->aggrefs) || finds(spec->columns) || finds(spec->window_functions) ||
                 finds(spec->window_keys) || finds(spec->window_offsets) || finds(spec->window_tests) ||
                 finds(spec->checks) || finds(spec->having) || finds(spec->order) || finds(spec->top) ||
                 finds(spec->top_offset);
    for_each_condition(spec, [&](const List *conditions) { found = found || finds(conditions); });
    return !found || refuse("a subquery that calls a volatile function, or locks rows");
}

} // namespace gpuscan
