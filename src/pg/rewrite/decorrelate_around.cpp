// What stands around a subquery that becomes a join.
//
// Joins and conditions change places when it does, so rows may meet conditions that others have kept from them. None of these may raise
// an error then: other subqueries among them, which are looked into, and what is made of their values.
#include "pg/pg.h"

#include <algorithm>

#include "pg/catalog/sql_type.h"
#include "pg/rewrite/decorrelate_parts.h"
#include "pg/rewrite/error_free_expression.h"
#include "pg/rewrite/error_free_query.h"

namespace gpuscan {

// One side of a comparison in a subquery, of its columns or of the outer query's.
static bool side_is_error_free(const Level *level, const Query *sub, Node *side) {
    if (levels_of(side) <= own_columns)
        return is_error_free(sub, side);
    if (levels_of(side) != outer_columns)
        return false;
    return is_error_free(looked_at(level), seen_from_outside(side));
}

// A conjunct of a subquery, which may compare what is its own with what is the outer query's.
static bool inner_conjunct_is_error_free(const Level *level, const Query *sub, Node *conjunct) {
    if (levels_of(conjunct) <= own_columns)
        return is_error_free(sub, conjunct);
    const OpExpr *expr = reinterpret_cast<const OpExpr *>(conjunct);
    return IsA(conjunct, OpExpr) && list_length(expr->args) == 2 && is_error_free_comparison(expr) &&
           side_is_error_free(level, sub, static_cast<Node *>(linitial(expr->args))) &&
           side_is_error_free(level, sub, static_cast<Node *>(lsecond(expr->args)));
}

bool is_quantified(const SubLink *link) { return link->subLinkType == ANY_SUBLINK || link->subLinkType == ALL_SUBLINK; }

static bool link_is_error_free(const Level *level, const SubLink *link) {
    const Query *sub = with_ctes_in_place(reinterpret_cast<const Query *>(link->subselect), level->query, 1);
    ListCell *cell;
    if (!reads_error_free_sources(sub))
        return false;
    foreach (cell, conjuncts_of(sub))
        if (!inner_conjunct_is_error_free(level, sub, static_cast<Node *>(lfirst(cell))))
            return false;
    if (link->subLinkType == EXISTS_SUBLINK)
        return true;
    foreach (cell, sub->targetList) {
        Node *value = reinterpret_cast<Node *>(static_cast<const TargetEntry *>(lfirst(cell))->expr);
        NumericBounds bounds;
        if (levels_of(value) > own_columns ||
            (!is_error_free(sub, value, true) && !(level->guards && guarded_bounds(sub, value, &bounds))))
            return false;
    }
    return is_quantified(link) || (link->subLinkType == EXPR_SUBLINK && sub->hasAggs);
}

// What is known of a numeric subquery's values, as precision and scale; -1: nothing.
static int32 typmod_of_link(const Level *level, const SubLink *link) {
    NumericBounds bounds;
    if (link->subLinkType != EXPR_SUBLINK)
        return -1;
    const Query *sub = with_ctes_in_place(reinterpret_cast<const Query *>(link->subselect), level->query, 1);
    Node *value = folded(reinterpret_cast<const Node *>(linitial_node(TargetEntry, sub->targetList)->expr));
    if (value == nullptr || levels_of(value) > own_columns ||
        !(numeric_bounds(sub, value, &bounds) || (level->guards && guarded_bounds(sub, value, &bounds))))
        return -1;
    return numeric_typmod_of(std::max(bounds.digits, bounds.scale), bounds.scale);
}

struct WithoutLinks {
    const Level *level;
    bool error_free;
};

// Any value may come from a subquery: a parameter, which nobody folds.
static Node *without_links(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    WithoutLinks *without = static_cast<WithoutLinks *>(context);
    if (!IsA(node, SubLink))
        return mutate_expression(node, without_links, context);
    SubLink *link = reinterpret_cast<SubLink *>(node);
    without->error_free &= link_is_error_free(without->level, link);
    Param *param = makeNode(Param);
    param->paramkind = PARAM_EXTERN;
    param->paramtype = exprType(node);
    param->paramtypmod = without->error_free ? typmod_of_link(without->level, link) : -1;
    param->paramcollid = exprCollation(node);
    param->location = -1;
    // x of x IN (...) is evaluated as well
    if (is_quantified(link))
        return reinterpret_cast<Node *>(
            makeBoolExpr(OR_EXPR, list_make2(param, mutate_expression(link->testexpr, without_links, context)), -1));
    return reinterpret_cast<Node *>(param);
}

bool is_error_free_with_links(const Level *level, Node *node) {
    WithoutLinks without{level, true};
    Node *rest = without_links(static_cast<Node *>(copyObject(node)), &without);
    return without.error_free && is_error_free(looked_at(level), rest);
}

bool joins_are_error_free_with_links(const Level *level, Node *from) {
    ListCell *cell;
    if (IsA(from, RangeTblRef))
        return true;
    if (IsA(from, JoinExpr)) {
        JoinExpr *join = reinterpret_cast<JoinExpr *>(from);
        return is_error_free_with_links(level, join->quals) && joins_are_error_free_with_links(level, join->larg) &&
               joins_are_error_free_with_links(level, join->rarg);
    }
    FromExpr *list = reinterpret_cast<FromExpr *>(from);
    foreach (cell, list->fromlist)
        if (!joins_are_error_free_with_links(level, static_cast<Node *>(lfirst(cell))))
            return false;
    return is_error_free_with_links(level, list->quals);
}

// A row may meet a condition of a subquery in FROM that another one has kept from it.
bool subqueries_are_error_free(const Query *query) {
    ListCell *cell;
    foreach (cell, query->rtable)
        if (const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
            rte->rtekind == RTE_SUBQUERY && !is_error_free_subquery(rte->subquery))
            return false;
    return true;
}

} // namespace gpuscan
