// For an estimate PostgreSQL calls the stable functions whose arguments are constants (estimate_expression_value). A call of a user's
// function can be noticed: by its messages and errors, and by what it counts. So what PostgreSQL has estimated is taken from where it has
// left it (RestrictInfo.norm_selec), and elsewhere such a call stands for a value that nobody knows: a parameter.
#include "pg/pg.h"

#include "pg/cost/own_selectivity.h"

namespace gpuscan {

static bool is_noticed(Oid funcid, void *) {
    return funcid >= FirstNormalObjectId && func_volatile(funcid) != PROVOLATILE_IMMUTABLE;
}

static bool calls_noticed(Node *node, void *context) {
    return node != nullptr &&
           (check_functions_in_node(node, is_noticed, context) || walk_expression(node, calls_noticed, context));
}

static Node *without_calls(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (IsA(node, RestrictInfo)) {
        const RestrictInfo *info = reinterpret_cast<const RestrictInfo *>(node);
        return info->norm_selec >= 0 ? node : without_calls(reinterpret_cast<Node *>(info->clause), context);
    }
    if (!check_functions_in_node(node, is_noticed, context) || contain_var_clause(node))
        return mutate_expression(node, without_calls, context);
    Param *unknown = makeNode(Param);
    unknown->paramkind = PARAM_EXEC;
    unknown->paramid = -1; // nobody asks for its value
    unknown->paramtype = exprType(node);
    unknown->paramtypmod = exprTypmod(node);
    unknown->paramcollid = exprCollation(node);
    unknown->location = -1;
    return reinterpret_cast<Node *>(unknown);
}

static bool is_unasked(const Node *condition) {
    if (!IsA(condition, RestrictInfo))
        return calls_noticed(const_cast<Node *>(condition), nullptr);
    const RestrictInfo *info = reinterpret_cast<const RestrictInfo *>(condition);
    return info->norm_selec < 0 && calls_noticed(reinterpret_cast<Node *>(info->clause), nullptr);
}

Selectivity own_selectivity(PlannerInfo *root, const List *conditions) {
    List *asked = NIL;
    ListCell *cell;
    foreach (cell, conditions) {
        Node *condition = static_cast<Node *>(lfirst(cell));
        asked = lappend(asked, is_unasked(condition) ? without_calls(condition, nullptr) : condition);
    }
    return clauselist_selectivity(root, asked, 0, JOIN_INNER, nullptr);
}

} // namespace gpuscan
