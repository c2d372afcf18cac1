// A level's rows, groups and windows as a subquery; see level_below.h.
#include "pg/pg.h"

#include "pg/rewrite/level_below.h"

namespace gpuscan {
namespace {

RangeTblEntry *entry_of(Query *subquery, const char *name) {
    RangeTblEntry *entry = makeNode(RangeTblEntry);
    List *names = NIL;
    ListCell *cell;
    foreach (cell, subquery->targetList)
        names = lappend(names, makeString(lfirst_node(TargetEntry, cell)->resname));
    entry->rtekind = RTE_SUBQUERY;
    entry->subquery = subquery;
    entry->alias = makeAlias(name, NIL);
    entry->eref = makeAlias(name, names);
    entry->inFromCl = true;
    return entry;
}

} // namespace

bool limits_by_subquery(const Query *query) {
    return contain_subplans(query->limitCount) || contain_subplans(query->limitOffset);
}

Query *level_below(const Query *query) {
    Query *below = makeNode(Query);
    *below = *query;
    below->hasDistinctOn = false;
    below->distinctClause = below->sortClause = NIL;
    below->limitCount = below->limitOffset = nullptr;
    below->limitOption = LIMIT_OPTION_COUNT;
    return below;
}

void read_subquery(Query *query, Query *subquery, const char *name) {
    RangeTblRef *reference = makeNode(RangeTblRef);
    reference->rtindex = 1;
    query->rtable = list_make1(entry_of(subquery, name));
    query->jointree = makeFromExpr(list_make1(reference), nullptr);
    query->cteList = query->groupClause = query->groupingSets = NIL;
    query->havingQual = nullptr;
    query->hasAggs = query->hasSubLinks = query->hasRecursive = query->groupDistinct = false;
    forget_permissions(query);
    forget_group_entry(query);
}

} // namespace gpuscan
