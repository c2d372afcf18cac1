#include "pg/pg.h"

#include "pg/fragment/readable.h"

#include "pg/refusal.h"

namespace gpuscan {

// A heap: of a temporary or unlogged one the device gets the pages, too, but for one query only (feed/feed_relation.cpp).
static bool is_heap(Oid relid, const char *name) {
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
    if (!HeapTupleIsValid(tuple))
        return false;
    Form_pg_class form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
    bool plain = form->relkind == RELKIND_RELATION || form->relkind == RELKIND_MATVIEW;
    bool heap = form->relam == HEAP_TABLE_AM_OID;
    ReleaseSysCache(tuple);
    if (relid < FirstNormalObjectId)
        return refuse("%s is a system catalog", name);
    if (!plain || !heap)
        return refuse("%s is not a heap table", name);
    return true;
}

List *leaves_of(PlannerInfo *root, Index parent) {
    List *leaves = NIL;
    ListCell *cell;
    foreach (cell, root->append_rel_list) {
        const AppendRelInfo *info = static_cast<const AppendRelInfo *>(lfirst(cell));
        RelOptInfo *child = info->parent_relid == parent ? root->simple_rel_array[info->child_relid] : nullptr;
        if (child == nullptr || is_dummy_rel(child))
            continue;
        if (planner_rt_fetch(info->child_relid, root)->inh)
            leaves = list_concat(leaves, leaves_of(root, info->child_relid));
        else
            leaves = lappend_int(leaves, static_cast<int>(info->child_relid));
    }
    return leaves;
}

static bool device_can_read_leaves(PlannerInfo *root, const List *leaves, const char *parent) {
    if (leaves == NIL)
        return refuse("no partition or child of %s is left to be read", parent);
    ListCell *cell;
    foreach (cell, leaves) {
        const RangeTblEntry *rte = planner_rt_fetch(static_cast<Index>(lfirst_int(cell)), root);
        const char *name = get_rel_name(rte->relid);
        if (!is_heap(rte->relid, name != nullptr ? name : parent))
            return false;
    }
    return true;
}

bool device_can_read(PlannerInfo *root, const RangeTblEntry *rte, const List *leaves) {
    const char *name = rte->eref->aliasname;
    if (rte->rtekind != RTE_RELATION)
        return false;
    if (rte->tablesample != nullptr)
        return refuse("%s is sampled (TABLESAMPLE)", name);
    return rte->inh ? device_can_read_leaves(root, leaves, name) : is_heap(rte->relid, name);
}

// A query that writes, or locks rows for its transaction.
static bool finds_write_or_lock(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Query)) {
        Query *query = reinterpret_cast<Query *>(node);
        return query->commandType != CMD_SELECT || query->rowMarks != NIL ||
               walk_query(query, finds_write_or_lock, context);
    }
    if (IsA(node, RestrictInfo))
        return finds_write_or_lock(reinterpret_cast<Node *>(reinterpret_cast<RestrictInfo *>(node)->clause), context);
    return walk_expression(node, finds_write_or_lock, context);
}

// Can it be executed once more, or by way of trial in a subtransaction that is rolled back, and nobody notices?
static bool only_reads(const void *node) {
    Node *part = static_cast<Node *>(const_cast<void *>(node));
    return !contain_volatile_functions(part) && !finds_write_or_lock(part, nullptr);
}

// In a subquery that is evaluated row by row, and has been planned already.
static bool finds_volatile_subplan(Node *node, void *root) {
    if (node == nullptr)
        return false;
    if (IsA(node, Query))
        return walk_query(reinterpret_cast<Query *>(node), finds_volatile_subplan, root);
    if (IsA(node, SubPlan)) {
        const int number = reinterpret_cast<const SubPlan *>(node)->plan_id;
        const List *roots = static_cast<const PlannerInfo *>(root)->glob->subroots;
        Node *query = reinterpret_cast<Node *>(static_cast<PlannerInfo *>(list_nth(roots, number - 1))->parse);
        if (is_volatile_when_planned(static_cast<PlannerInfo *>(root), query))
            return true;
    }
    return walk_expression(node, finds_volatile_subplan, root);
}

static bool finds_cte(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, RangeTblEntry))
        return reinterpret_cast<RangeTblEntry *>(node)->rtekind == RTE_CTE;
    if (IsA(node, Query))
        return walk_query(reinterpret_cast<Query *>(node), finds_cte, context, QTW_EXAMINE_RTES_BEFORE);
    return walk_expression(node, finds_cte, context);
}

// A CTE is evaluated once, for all its readers. A subquery that is executed apart from the others evaluates it for itself, so it must not
// write, nor have other values then.
static bool has_unrepeatable_cte(const PlannerInfo *root) {
    ListCell *cell;
    for (; root != nullptr; root = root->parent_root)
        foreach (cell, root->parse->cteList) {
            Query *query = castNode(Query, static_cast<const CommonTableExpr *>(lfirst(cell))->ctequery);
            if (!only_reads(query))
                return true;
        }
    return false;
}

bool is_volatile_when_planned(PlannerInfo *root, Node *node) {
    return !only_reads(node) || finds_volatile_subplan(node, root) ||
           (has_unrepeatable_cte(root) && finds_cte(node, nullptr));
}

static bool has_volatile_subplan(PlannerInfo *root, const RelOptInfo *rel) {
    ListCell *cell;
    foreach (cell, rel->baserestrictinfo)
        if (finds_volatile_subplan(reinterpret_cast<Node *>(static_cast<RestrictInfo *>(lfirst(cell))->clause), root))
            return true;
    return finds_volatile_subplan(reinterpret_cast<Node *>(rel->reltarget->exprs), root);
}

// (PostgreSQL calls IN (SELECT ...) so when it makes a join of it.)
static const char *user_name_of(const RangeTblEntry *rte) {
    return strcmp(rte->eref->aliasname, "ANY_subquery") == 0 ? "a subquery" : rte->eref->aliasname;
}

// Rows of PostgreSQL's own plan feed the device, and if the device gives up, the fallback computes them once more: that
// must not show (nextval, functions that write, FOR UPDATE).
static bool may_run_twice(PlannerInfo *root, const RelOptInfo *rel, const RangeTblEntry *rte) {
    const void *const parts[] = {rte->subquery,    rte->functions,        rte->tablefunc,       rte->values_lists,
                                 rte->tablesample, rel->baserestrictinfo, rel->reltarget->exprs};
    for (const void *part : parts)
        if (part != nullptr && !only_reads(part))
            return rte->rtekind != RTE_RELATION && // whose refusal has been told
                   refuse("%s calls a volatile function, or locks rows", user_name_of(rte));
    if (has_unrepeatable_cte(root) &&
        (rte->rtekind == RTE_CTE || finds_cte(reinterpret_cast<Node *>(rte->subquery), nullptr)))
        return refuse("%s may read a CTE that writes, locks rows or calls a volatile function", user_name_of(rte));
    if (has_volatile_subplan(root, rel))
        return refuse("%s calls a volatile function in a subquery", user_name_of(rte));
    return true;
}

// A recursive query's working table has one reader: the fallback would begin where the device's feeder has stopped.
static bool in_recursion(const PlannerInfo *root, const RangeTblEntry *rte) {
    for (; root != nullptr; root = root->parent_root)
        if (root->hasRecursion)
            return !refuse("%s may depend on a recursive query's working table", user_name_of(rte));
    return false;
}

// The ends of an index instead of an aggregate (planagg.c).
static bool may_ask_for_extremes(const PlannerInfo *subroot) {
    ListCell *cell, *inner;
    foreach (cell, subroot->upper_rels[UPPERREL_GROUP_AGG])
        foreach (inner, static_cast<const RelOptInfo *>(lfirst(cell))->pathlist)
            if (IsA(lfirst(inner), MinMaxAggPath))
                return true;
    return false;
}

// PostgreSQL's plan of a subquery is made of its paths twice, once for the fallback. createplan.c and setrefs.c are written for once: what
// they note about the subquery (PlannerInfo) is that of the last time, and what several plans share is changed by each. Of all that they
// note and change these have no second time: where GROUPING() finds its columns (grouping_map), which of two ways to answer EXISTS
// no plan has chosen and is thrown away (AlternativeSubPlan), and the init plans that ask an index for its ends (minmax_aggs). A
// plan's row marks would be renumbered twice, too, but what locks rows is not run twice at all (only_reads).
static bool can_be_planned_once_only(const PlannerInfo *subroot) {
    if (subroot->parse->groupingSets != NIL || subroot->hasAlternativeSubPlans || may_ask_for_extremes(subroot))
        return true;
    for (int i = 1; i < subroot->simple_rel_array_size; ++i) {
        const RelOptInfo *rel = subroot->simple_rel_array[i];
        if (rel != nullptr && rel->subroot != nullptr && can_be_planned_once_only(rel->subroot))
            return true;
    }
    return false;
}

// (A part of UNION ALL is a subquery below the relation.)
static bool may_be_planned_twice(const PlannerInfo *root, const RelOptInfo *rel, const char *name) {
    if (rel->rtekind != RTE_SUBQUERY)
        return true;
    if (rel->subroot != nullptr && can_be_planned_once_only(rel->subroot))
        return refuse("%s has GROUPING SETS, a minimum or maximum that an index has, or EXISTS that could be answered "
                      "in two ways",
                      name);
    ListCell *cell;
    foreach (cell, root->append_rel_list) {
        const AppendRelInfo *info = static_cast<const AppendRelInfo *>(lfirst(cell));
        const RelOptInfo *part = info->parent_relid == rel->relid ? root->simple_rel_array[info->child_relid] : nullptr;
        if (part != nullptr && !may_be_planned_twice(root, part, name))
            return false;
    }
    return true;
}

bool plan_may_feed(PlannerInfo *root, const RelOptInfo *rel, const RangeTblEntry *rte) {
    return !in_recursion(root, rte) && may_run_twice(root, rel, rte) &&
           may_be_planned_twice(root, rel, rte->eref->aliasname);
}

} // namespace gpuscan
