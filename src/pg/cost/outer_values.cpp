// See outer_values.h. What a level asks of those above stands in their plan_params, and in its own expressions as executor parameters.
#include "pg/pg.h"

#include "pg/cost/outer_values.h"

namespace gpuscan {

static bool finds_parameter(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Param) && reinterpret_cast<const Param *>(node)->paramkind == PARAM_EXEC)
        return bms_is_member(reinterpret_cast<const Param *>(node)->paramid, static_cast<const Bitmapset *>(context));
    return walk_expression(node, finds_parameter, context);
}

bool asks_for_outer_values(const PlannerInfo *root) {
    Bitmapset *outer = nullptr;
    ListCell *cell;
    for (const PlannerInfo *above = root->parent_root; above != nullptr; above = above->parent_root)
        foreach (cell, above->plan_params)
            outer = bms_add_member(outer, lfirst_node(PlannerParamItem, cell)->paramId);
    return outer != nullptr && (finds_parameter(reinterpret_cast<Node *>(root->parse->jointree), outer) ||
                                finds_parameter(reinterpret_cast<Node *>(root->parse->targetList), outer));
}

} // namespace gpuscan
