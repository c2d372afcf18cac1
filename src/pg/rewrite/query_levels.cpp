// The walk over the levels of a statement; see query_levels.h.
#include "pg/pg.h"

#include "pg/rewrite/query_levels.h"

namespace gpuscan {
namespace {

struct Rewriting {
    bool (*rewrite)(Query *);
    bool changed;
};

bool rewrite_below(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (!IsA(node, Query))
        return walk_expression(node, rewrite_below, context);
    Query *query = reinterpret_cast<Query *>(node);
    if (query->hasRecursive || query->commandType != CMD_SELECT)
        return false;
    walk_query(query, rewrite_below, context);
    Rewriting *rewriting = static_cast<Rewriting *>(context);
    rewriting->changed |= rewriting->rewrite(query);
    return false;
}

} // namespace

bool rewrite_levels(Query *query, bool (*rewrite)(Query *)) {
    Rewriting rewriting = {rewrite, false};
    if (query->commandType == CMD_SELECT)
        rewrite_below(reinterpret_cast<Node *>(query), &rewriting);
    else if (query->commandType == CMD_INSERT && !query->hasModifyingCTE)
        walk_query(query, rewrite_below, &rewriting);
    return rewriting.changed;
}

bool has_level(const Query *query, bool (*is_wanted)(const Query *)) {
    if (query->commandType != CMD_SELECT && query->commandType != CMD_INSERT)
        return false;
    if (is_wanted(query))
        return true;
    ListCell *cell;
    foreach (cell, query->cteList)
        if (const Node *of = lfirst_node(CommonTableExpr, cell)->ctequery;
            IsA(of, Query) && has_level(reinterpret_cast<const Query *>(of), is_wanted))
            return true;
    foreach (cell, query->rtable)
        if (const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
            rte->rtekind == RTE_SUBQUERY && has_level(rte->subquery, is_wanted))
            return true;
    return false;
}

} // namespace gpuscan
