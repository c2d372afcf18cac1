// Subqueries that PostgreSQL evaluates row by row, as joins.
//
//   Kim, "On Optimizing an SQL-like Nested Query", TODS 1982, section 4 (type JA): a correlated scalar aggregate is an
//   aggregation by its correlation columns, computed once for all and joined.
//   Ganski & Wong, "Optimization of Nested SQL Queries Revisited", SIGMOD 1987, section 4: the join is an outer one, and a
//   count of nothing is 0 (the count bug).
//   Galindo-Legaria & Joshi, "Orthogonal Optimization of Subqueries and Aggregation", SIGMOD 2001, section 2: the same for
//   subqueries anywhere in an expression.
//   Mumick & Pirahesh, "Implementation of Magic-sets in a Relational Database System", SIGMOD 1994: what the outer query
//   asks of its side of the correlation goes into the subquery, so that groups that nobody asks for are not made.
//
// What is rewritten, in WHERE and, without aggregates, in the target list of a SELECT:
//
//   e((SELECT f(agg(a)) FROM s WHERE s.k = x AND p))
//       -> e(v) over ... LEFT JOIN (SELECT k, f(agg(a)) v FROM s WHERE p GROUP BY k) ON k = x       if f of nothing is NULL
//       -> e(f(v)) with v = agg(a), coalesce(count, 0)                                               else
//       -> e(CASE WHEN o THEN (SELECT ...) ELSE v END) where only too large values could fail (decorrelate_guarded.cpp)
//   ... OR EXISTS (SELECT FROM s WHERE s.k = x AND p)
//       -> ... OR k IS NOT NULL over ... LEFT JOIN (SELECT k FROM s WHERE p GROUP BY k) ON k = x;    likewise x IN (SELECT k)
//   x NOT IN (SELECT y FROM s WHERE p)
//       -> NOT EXISTS (SELECT FROM s WHERE p AND y = x) AND ...             (decorrelate_exclusion.cpp)
//
// PostgreSQL's planner makes an inner join of an outer one where a NULL would not pass, and an anti join of NOT EXISTS.
//
// Nobody may notice. So: the correlation is by equality under the very operator family and collation by which the subquery
// is grouped; nothing that is now evaluated for other rows than before can raise an error (error_free_expression.h), neither the
// subquery nor, since joins and conditions change places, what stands beside it; nothing of it is volatile, for error-free
// expressions are not; a subquery reads tables, with their row security as it stands, or what cannot raise an error either, CTEs too
// (error_free_query.h). Privileges belong to range table entries, which move as they are. statement.cpp plans both queries and keeps the better plan.
#include "pg/pg.h"

#include "pg/rewrite/decorrelate.h"

#include "pg/catalog/never_null.h"
#include "pg/catalog/sql_type.h"
#include "pg/compat.h"
#include "pg/refusal.h"
#include "pg/rewrite/decorrelate_parts.h"
#include "pg/rewrite/error_free_expression.h"
#include "pg/rewrite/error_free_query.h"
#include "pg/rewrite/query_levels.h"
#include "pg/translate/translate.h"

namespace gpuscan {

// ---- whose columns are in an expression? ----

static bool note_levels(Node *node, void *context) {
    int *levels = static_cast<int *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, Var)) {
        Index up = reinterpret_cast<const Var *>(node)->varlevelsup;
        *levels |= up == 0 ? own_columns : up == 1 ? outer_columns : others;
        return false;
    }
    if (IsA(node, SubLink) || (IsA(node, Aggref) && reinterpret_cast<const Aggref *>(node)->agglevelsup > 0))
        *levels |= others;
    return walk_expression(node, note_levels, context);
}

int levels_of(void *node) {
    int levels = 0;
    note_levels(static_cast<Node *>(node), &levels);
    return levels;
}

// ---- what is looked at ----

const Query *looked_at(const Level *level) { return with_ctes_in_place(level->query, level->query, 0); }

List *conjuncts_of(const Query *query) {
    return make_ands_implicit(static_cast<Expr *>(copyObject(reinterpret_cast<Expr *>(query->jointree->quals))));
}

Node *conjunction(List *conjuncts) {
    return conjuncts == NIL ? nullptr : reinterpret_cast<Node *>(make_ands_explicit(conjuncts));
}

bool are_error_free(const Query *query, const List *expressions) {
    ListCell *cell;
    foreach (cell, expressions) {
        Node *node = static_cast<Node *>(lfirst(cell));
        if (levels_of(node) > own_columns || !is_error_free(query, node))
            return false;
    }
    return true;
}

// ---- the correlation ----

bool is_grouping_equality(Oid opno, Oid collation, Node *key) {
    Oid type = exprType(key), equality;
    bool hashable;
    if (opno >= FirstNormalObjectId || sql_kind(type) == SqlKind::None || collation != exprCollation(key))
        return false;
    // One timestamp with time zone is equal to several without, where a clock is set: more than one group.
    if (op_volatile(opno) != PROVOLATILE_IMMUTABLE)
        return false;
    get_sort_group_operators(type, false, false, false, nullptr, &equality, nullptr, &hashable);
    if (!OidIsValid(equality) || !hashable)
        return false;
    List *families = get_mergejoin_opfamilies(equality);
    ListCell *cell;
    foreach (cell, get_mergejoin_opfamilies(opno))
        if (list_member_oid(families, lfirst_oid(cell)))
            return true;
    return false;
}

Node *seen_from_outside(const Node *node) {
    Node *outside = static_cast<Node *>(copyObject(const_cast<Node *>(node)));
    IncrementVarSublevelsUp(outside, -1, 1);
    return outside;
}

static bool read_correlation(const Level *level, const Query *sub, const OpExpr *clause, Correlation *pair) {
    if (!IsA(clause, OpExpr) || list_length(clause->args) != 2)
        return false;
    Node *left = static_cast<Node *>(linitial(clause->args)), *right = static_cast<Node *>(lsecond(clause->args));
    pair->clause = clause;
    pair->inside_first = levels_of(left) == own_columns && levels_of(right) == outer_columns;
    if (!pair->inside_first && (levels_of(right) != own_columns || levels_of(left) != outer_columns))
        return false;
    pair->inside = pair->inside_first ? left : right;
    pair->outside = seen_from_outside(pair->inside_first ? right : left);
    return is_grouping_equality(clause->opno, clause->inputcollid, pair->inside) && is_error_free(sub, pair->inside) &&
           is_error_free(looked_at(level), pair->outside);
}

static bool read_correlations(const Level *level, const Query *sub, Correlations *all) {
    all->count = 0;
    all->kept = NIL;
    ListCell *cell;
    foreach (cell, conjuncts_of(sub)) {
        OpExpr *conjunct = static_cast<OpExpr *>(lfirst(cell));
        if (levels_of(conjunct) < outer_columns)
            all->kept = lappend(all->kept, conjunct);
        else if (all->count == max_pairs || !read_correlation(level, sub, conjunct, &all->pairs[all->count++]))
            return refuse("a subquery depends on its outer query by more than equalities of plain columns");
    }
    return (all->count > 0 && are_error_free(sub, all->kept)) || refuse("a subquery's condition could raise an error");
}

// ---- the grouped subquery, joined ----

// As EXPLAIN shows it: the column's, if it is one of the subquery's own.
static char *name_of_key(const Query *sub, const Node *key, int number) {
    const Var *var = reinterpret_cast<const Var *>(key);
    if (IsA(key, Var) && var->varlevelsup == 0)
        return pstrdup(get_rte_attribute_name(rt_fetch(var->varno, sub->rtable), var->varattno));
    return psprintf("key_%d", number);
}

// The subquery without its correlation, grouped by the inner sides; values follow later.
static Query *make_grouped(const Query *sub, const Correlations *all) {
    Query *grouped = static_cast<Query *>(copyObject(const_cast<Query *>(sub)));
    grouped->jointree->quals = conjunction(list_copy(all->kept));
    grouped->targetList = NIL;
    for (int i = 0; i < all->count; ++i) {
        Node *key = all->pairs[i].inside;
        SortGroupClause *clause = makeNode(SortGroupClause);
        TargetEntry *entry = makeTargetEntry(static_cast<Expr *>(copyObject(reinterpret_cast<Expr *>(key))),
                                             static_cast<AttrNumber>(i + 1), name_of_key(sub, key, i + 1), false);
        clause->tleSortGroupRef = entry->ressortgroupref = static_cast<Index>(i + 1);
        get_sort_group_operators(exprType(key), false, true, false, &clause->sortop, &clause->eqop, nullptr,
                                 &clause->hashable);
        grouped->targetList = lappend(grouped->targetList, entry);
        grouped->groupClause = lappend(grouped->groupClause, clause);
    }
    return grouped;
}

static int add_value(Query *grouped, Expr *value) {
    int resno = list_length(grouped->targetList) + 1;
    grouped->targetList = lappend(grouped->targetList, makeTargetEntry(value, static_cast<AttrNumber>(resno),
                                                                       psprintf("value_%d", resno), false));
    return resno;
}

static Var *column_of(const Query *grouped, int rti, int resno) {
    Node *value = reinterpret_cast<Node *>(static_cast<TargetEntry *>(list_nth(grouped->targetList, resno - 1))->expr);
    return makeVar(rti, static_cast<AttrNumber>(resno), exprType(value), exprTypmod(value), exprCollation(value), 0);
}

static Node *join_condition(const Correlations *all, const Query *grouped, int rti) {
    List *conjuncts = NIL;
    for (int i = 0; i < all->count; ++i) {
        OpExpr *clause = static_cast<OpExpr *>(copyObject(const_cast<OpExpr *>(all->pairs[i].clause)));
        Var *key = column_of(grouped, rti, i + 1);
        clause->args = all->pairs[i].inside_first ? list_make2(key, all->pairs[i].outside)
                                                  : list_make2(all->pairs[i].outside, key);
        conjuncts = lappend(conjuncts, clause);
    }
    return conjunction(conjuncts);
}

struct Joined {
    Query *grouped;
    int rti;
    int join; // the outer join's place in the range table
};

// FROM ... becomes FROM (...) LEFT JOIN grouped ON ...
static Joined join_grouped(Level *level, const Correlations *all, Query *grouped) {
    Query *query = level->query;
    ParseNamespaceItem *item =
        addRangeTableEntryForSubquery(make_parsestate(nullptr), grouped, makeAlias("subquery", NIL), false, true);
    query->rtable = lappend(query->rtable, item->p_rte);
    int rti = list_length(query->rtable);
    RangeTblEntry *entry = makeNode(RangeTblEntry); // nobody reads the join's own columns, so it has none
    entry->rtekind = RTE_JOIN;
    entry->jointype = JOIN_LEFT;
    entry->eref = makeAlias("subquery_join", NIL);
    entry->inFromCl = true;
    query->rtable = lappend(query->rtable, entry);

    FromExpr *tree = query->jointree;
    RangeTblRef *reference = makeNode(RangeTblRef);
    reference->rtindex = rti;
    JoinExpr *join = makeNode(JoinExpr);
    join->jointype = JOIN_LEFT;
    join->larg = list_length(tree->fromlist) == 1 ? static_cast<Node *>(linitial(tree->fromlist))
                                                  : reinterpret_cast<Node *>(makeFromExpr(tree->fromlist, nullptr));
    join->rarg = reinterpret_cast<Node *>(reference);
    join->quals = join_condition(all, grouped, rti);
    join->rtindex = list_length(query->rtable);
    tree->fromlist = list_make1(join);
    level->changed = true;
    return Joined{grouped, rti, join->rtindex};
}

static Var *joined_value(const Joined *joined, int resno) {
    Var *value = column_of(joined->grouped, joined->rti, resno);
    set_nulled_by(value, joined->join);
    return value;
}

// ---- scalar aggregates ----

// Is it NULL, and not an error either, over no rows?
static bool is_null_over_nothing(Node *node) {
    ListCell *cell;
    const List *args = NIL;
    switch (nodeTag(node)) {
    case T_Aggref:
        return !is_count(reinterpret_cast<const Aggref *>(node));
    case T_RelabelType:
        return is_null_over_nothing(reinterpret_cast<Node *>(reinterpret_cast<const RelabelType *>(node)->arg));
    case T_OpExpr:
        if (func_strict(get_opcode(reinterpret_cast<const OpExpr *>(node)->opno)))
            args = reinterpret_cast<const OpExpr *>(node)->args;
        break;
    case T_FuncExpr:
        if (func_strict(reinterpret_cast<const FuncExpr *>(node)->funcid))
            args = reinterpret_cast<const FuncExpr *>(node)->args;
        break;
    default:
        break;
    }
    foreach (cell, args)
        if (is_null_over_nothing(static_cast<Node *>(lfirst(cell))))
            return true;
    return false;
}

struct AggregateSwap {
    const Query *sub; // as it is to be looked at
    Query *grouped;
    List *places; // of Var *: to be renumbered once the join is there
    bool impossible;
};

// Aggregates become columns of the grouped subquery, and counts of nothing 0.
static Node *swap_aggregates(Node *node, void *context) {
    AggregateSwap *swap = static_cast<AggregateSwap *>(context);
    if (node == nullptr)
        return nullptr;
    if (!IsA(node, Aggref))
        return mutate_expression(node, swap_aggregates, context);
    Aggref *aggref = reinterpret_cast<Aggref *>(node);
    swap->impossible |= !is_error_free_aggregate(swap->sub, aggref);
    Var *value = column_of(swap->grouped, 0,
                           add_value(swap->grouped, static_cast<Expr *>(copyObject(reinterpret_cast<Expr *>(aggref)))));
    swap->places = lappend(swap->places, value);
    if (!is_count(aggref))
        return reinterpret_cast<Node *>(value);
    CoalesceExpr *coalesce = makeNode(CoalesceExpr);
    Const *zero = makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false, FLOAT8PASSBYVAL);
    coalesce->coalescetype = INT8OID;
    coalesce->args = list_make2(value, zero);
    coalesce->location = -1;
    return reinterpret_cast<Node *>(coalesce);
}

// A numeric whose precision and scale are known says so, which a device wants to know.
static Expr *with_typmod(const Query *query, Node *value) {
    NumericBounds bounds;
    Node *constant = folded(value);
    if (constant == nullptr || !numeric_bounds(query, constant, &bounds) || !bounds.exact_scale || bounds.digits > 36 ||
        bounds.scale > bounds.digits || exprTypmod(value) >= 0)
        return reinterpret_cast<Expr *>(value);
    return reinterpret_cast<Expr *>(makeRelabelType(reinterpret_cast<Expr *>(value), NUMERICOID,
                                                    numeric_typmod_of(bounds.digits, bounds.scale), InvalidOid,
                                                    COERCE_IMPLICIT_CAST));
}

// The value that stands for the subquery, or NULL.
static Node *join_scalar(Level *level, SubLink *link) {
    const Query *sub = reinterpret_cast<const Query *>(link->subselect);
    Correlations all;
    if (!contain_vars_of_level(link->subselect, 1)) // evaluated once
        return nullptr;
    const Query *looked = with_ctes_in_place(sub, level->query, 1);
    if (!sub->hasAggs || list_length(sub->targetList) != 1 || !reads_error_free_sources(looked)) {
        refuse("a subquery that is more than an aggregation of tables and of subqueries without errors");
        return nullptr;
    }
    Node *result = reinterpret_cast<Node *>(static_cast<const TargetEntry *>(linitial(sub->targetList))->expr);
    if (levels_of(result) > own_columns || !read_correlations(level, looked, &all))
        return nullptr;
    Query *grouped = make_grouped(sub, &all);
    if (is_null_over_nothing(result) && is_error_free(looked, result, true)) {
        result = static_cast<Node *>(copyObject(result));
        int resno = add_value(grouped, level->shown ? reinterpret_cast<Expr *>(result) : with_typmod(looked, result));
        leave_out_groups(level, &all, grouped);
        Joined joined = join_grouped(level, &all, grouped);
        return reinterpret_cast<Node *>(joined_value(&joined, resno));
    }
    Node *any_beyond = nullptr;
    Node *bounded =
        level->guards && is_null_over_nothing(result) ? guarded_value(looked, result, &any_beyond) : nullptr;
    if (bounded != nullptr) {
        const int value = add_value(grouped, reinterpret_cast<Expr *>(bounded));
        const int beyond = add_value(grouped, reinterpret_cast<Expr *>(any_beyond));
        leave_out_groups(level, &all, grouped);
        Joined joined = join_grouped(level, &all, grouped);
        return choose_guarded(reinterpret_cast<Node *>(joined_value(&joined, beyond)), link,
                              reinterpret_cast<Node *>(joined_value(&joined, value)));
    }
    AggregateSwap swap{looked, grouped, NIL, false};
    Node *value = swap_aggregates(result, &swap);
    if (swap.impossible) {
        refuse("a subquery's aggregate could raise an error");
        return nullptr;
    }
    Joined joined = join_grouped(level, &all, grouped);
    ListCell *cell;
    foreach (cell, swap.places) {
        Var *place = static_cast<Var *>(lfirst(cell));
        *place = *joined_value(&joined, place->varattno);
    }
    return value;
}

// ---- existence ----

static Node *is_there(const Joined *joined) {
    NullTest *test = makeNode(NullTest);
    test->arg = reinterpret_cast<Expr *>(joined_value(joined, 1));
    test->nulltesttype = IS_NOT_NULL;
    test->location = -1;
    return reinterpret_cast<Node *>(test);
}

Node *join_exists(Level *level, const Query *sub) {
    Correlations all;
    const Query *looked = with_ctes_in_place(sub, level->query, 1);
    if (!contain_vars_of_level(reinterpret_cast<Node *>(const_cast<Query *>(sub)), 1) ||
        !reads_error_free_sources(looked) || sub->hasAggs || !read_correlations(level, looked, &all))
        return nullptr;
    Joined joined = join_grouped(level, &all, make_grouped(sub, &all));
    return is_there(&joined);
}

// Where NULL counts as false.
static Node *join_membership(Level *level, const SubLink *link) {
    const Query *sub = reinterpret_cast<const Query *>(link->subselect);
    Correlations all{};
    all.kept = conjuncts_of(sub);
    if (!read_members(level, link, &all) || all.count != 1 || !are_error_free(sub, all.kept))
        return nullptr;
    Joined joined = join_grouped(level, &all, make_grouped(sub, &all));
    return is_there(&joined);
}

// ---- what else rewritings ask and make ----

bool is_not_null(const Query *query, const Node *node) {
    const Var *var = reinterpret_cast<const Var *>(node);
    if (!IsA(node, Var) || !is_inner(query, var))
        return false;
    const RangeTblEntry *rte = rt_fetch(var->varno, query->rtable);
    if (rte->rtekind != RTE_RELATION || var->varattno <= 0)
        return false;
    Relation relation = table_open(rte->relid, NoLock);
    // A table that inherits may lack its parent's NOT NULL, a partition may not.
    bool everywhere =
        !rte->inh || !relation->rd_rel->relhassubclass || relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
    bool result = everywhere && is_never_null(relation, var->varattno, rte->inh, Reliance::Plan);
    table_close(relation, NoLock);
    return result;
}

bool is_null_testable(const Query *query, const Node *node) {
    const Var *var = reinterpret_cast<const Var *>(node);
    if (!planner_trusts_not_null || !IsA(node, Var) || var->varattno <= 0)
        return true;
    const RangeTblEntry *rte = rt_fetch(var->varno, query->rtable);
    if (rte->rtekind != RTE_RELATION)
        return true;
    Relation relation = table_open(rte->relid, NoLock);
    const bool result = !attribute_is_not_null(RelationGetDescr(relation), var->varattno - 1) ||
                        is_never_null(relation, var->varattno, false, Reliance::Plan);
    table_close(relation, NoLock);
    return result;
}

SubLink *make_exists(const Query *sub, Node *condition) {
    Query *query = static_cast<Query *>(copyObject(const_cast<Query *>(sub)));
    List *conjuncts = make_ands_implicit(reinterpret_cast<Expr *>(query->jointree->quals));
    if (condition != nullptr)
        conjuncts = lappend(conjuncts, condition);
    query->jointree->quals = conjunction(conjuncts);
    Const *one = makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(1), false, true);
    query->targetList = list_make1(makeTargetEntry(reinterpret_cast<Expr *>(one), 1, pstrdup("one"), false));
    SubLink *link = makeNode(SubLink);
    link->subLinkType = EXISTS_SUBLINK;
    link->subselect = reinterpret_cast<Node *>(query);
    link->location = -1;
    return link;
}

// ---- what does not matter ----

// The order, and how often a row is there, of a set of which it is asked whether something is in it.
static void forget_order(Query *sub) {
    ListCell *cell;
    if (sub->commandType != CMD_SELECT || sub->setOperations != nullptr || sub->limitCount != nullptr ||
        sub->limitOffset != nullptr || sub->hasDistinctOn || sub->hasWindowFuncs || sub->hasTargetSRFs ||
        sub->groupClause != NIL || sub->groupingSets != NIL || sub->rowMarks != NIL)
        return;
    foreach (cell, sub->targetList)
        if (static_cast<const TargetEntry *>(lfirst(cell))->resjunk) // its error would be missed
            return;
    foreach (cell, sub->targetList)
        static_cast<TargetEntry *>(lfirst(cell))->ressortgroupref = 0;
    sub->distinctClause = sub->sortClause = NIL;
}

static bool forget_orders(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, SubLink)) {
        SubLink *link = reinterpret_cast<SubLink *>(node);
        if (is_quantified(link) || link->subLinkType == EXISTS_SUBLINK)
            forget_order(reinterpret_cast<Query *>(link->subselect));
    }
    return walk_expression(node, forget_orders, context);
}

// ---- one query level ----

// 1.2 * (SELECT avg(..) ..) as (SELECT 1.2 * avg(..) ..): the subquery knows more of its value, and without one both are NULL. NULL where
// the node is no such expression.
static SubLink *with_arithmetic_inside(Node *node) {
    if (IsA(node, SubLink))
        return reinterpret_cast<SubLink *>(node)->subLinkType == EXPR_SUBLINK ? reinterpret_cast<SubLink *>(node)
                                                                              : nullptr;
    const bool is_operator = IsA(node, OpExpr);
    if (!is_operator && !IsA(node, FuncExpr))
        return nullptr;
    if (!func_strict(is_operator ? get_opcode(reinterpret_cast<const OpExpr *>(node)->opno)
                                 : reinterpret_cast<const FuncExpr *>(node)->funcid))
        return nullptr;
    Node *moved = static_cast<Node *>(copyObject(node));
    SubLink *link = nullptr;
    ListCell *cell;
    foreach (cell, is_operator ? reinterpret_cast<OpExpr *>(moved)->args : reinterpret_cast<FuncExpr *>(moved)->args) {
        Node *argument = static_cast<Node *>(lfirst(cell));
        if (IsA(argument, Const))
            continue;
        SubLink *below = with_arithmetic_inside(argument);
        if (below == nullptr || link != nullptr)
            return nullptr;
        link = static_cast<SubLink *>(copyObject(below));
        lfirst(cell) = linitial_node(TargetEntry, reinterpret_cast<Query *>(link->subselect)->targetList)->expr;
    }
    if (link != nullptr)
        linitial_node(TargetEntry, reinterpret_cast<Query *>(link->subselect)->targetList)->expr =
            reinterpret_cast<Expr *>(moved);
    return link;
}

static Node *replace_scalars(Node *node, void *context) {
    Level *level = static_cast<Level *>(context);
    if (node == nullptr)
        return nullptr;
    if (!IsA(node, SubLink)) {
        SubLink *whole = with_arithmetic_inside(node);
        Node *value = whole != nullptr ? join_scalar(level, whole) : nullptr;
        return value != nullptr ? value : mutate_expression(node, replace_scalars, context);
    }
    SubLink *link = reinterpret_cast<SubLink *>(node);
    Node *value = nullptr;
    if (link->subLinkType == EXPR_SUBLINK)
        value = join_scalar(level, link);
    else if (link->subLinkType == EXISTS_SUBLINK)
        value = join_exists(level, reinterpret_cast<const Query *>(link->subselect));
    return value != nullptr ? value : node;
}

// Below AND and OR, where NULL is as good as false.
static Node *replace_all(Level *level, Node *node) {
    if (IsA(node, SubLink) && reinterpret_cast<SubLink *>(node)->subLinkType == ANY_SUBLINK) {
        Node *value = join_membership(level, reinterpret_cast<SubLink *>(node));
        return value != nullptr ? value : node;
    }
    if (!IsA(node, BoolExpr) || reinterpret_cast<BoolExpr *>(node)->boolop == NOT_EXPR)
        return replace_scalars(node, level);
    BoolExpr *expr = reinterpret_cast<BoolExpr *>(node);
    ListCell *cell;
    foreach (cell, expr->args)
        lfirst(cell) = replace_all(level, static_cast<Node *>(lfirst(cell)));
    return node;
}

// EXISTS, IN and NOT EXISTS by themselves are joins for PostgreSQL, too.
static bool is_join_already(const Node *conjunct) {
    if (IsA(conjunct, BoolExpr) && reinterpret_cast<const BoolExpr *>(conjunct)->boolop == NOT_EXPR) {
        const SubLink *link =
            static_cast<const SubLink *>(linitial(reinterpret_cast<const BoolExpr *>(conjunct)->args));
        return IsA(link, SubLink) && link->subLinkType == EXISTS_SUBLINK;
    }
    if (!IsA(conjunct, SubLink))
        return false;
    SubLinkType type = reinterpret_cast<const SubLink *>(conjunct)->subLinkType;
    return type == EXISTS_SUBLINK || type == ANY_SUBLINK;
}

// Is there a subquery in it that PostgreSQL evaluates more than once?
static bool is_rowwise(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, SubLink) && (reinterpret_cast<SubLink *>(node)->testexpr != nullptr ||
                               contain_vars_of_level(reinterpret_cast<SubLink *>(node)->subselect, 1)))
        return true;
    return walk_expression(node, is_rowwise, context);
}

static bool has_rowwise_subquery(const List *conjuncts) {
    ListCell *cell;
    foreach (cell, conjuncts)
        if (!is_join_already(static_cast<const Node *>(lfirst(cell))) &&
            is_rowwise(static_cast<Node *>(lfirst(cell)), nullptr))
            return true;
    return false;
}

static void rewrite_where(Level *level) {
    List *conjuncts = NIL;
    ListCell *cell;
    foreach (cell, level->conjuncts) {
        Node *conjunct = static_cast<Node *>(lfirst(cell));
        List *instead = exclude_members(level, conjunct);
        if (instead != NIL)
            conjuncts = list_concat(conjuncts, instead);
        else
            conjuncts = lappend(conjuncts, is_join_already(conjunct) ? conjunct : replace_all(level, conjunct));
    }
    level->query->jointree->quals = conjunction(conjuncts);
}

// A LIMIT may leave rows whose target list nobody computes.
static void rewrite_target_list(Level *level) {
    level->shown = true;
    level->guards = false;
    ListCell *cell;
    foreach (cell, level->query->targetList) {
        TargetEntry *entry = static_cast<TargetEntry *>(lfirst(cell));
        Node *value = reinterpret_cast<Node *>(entry->expr);
        if (is_error_free_with_links(level, value))
            entry->expr = reinterpret_cast<Expr *>(replace_scalars(value, level));
    }
}

static const Query *makes_rows; // of the statement under work

// A row may meet a condition now that another one has kept from it.
static bool is_error_free_around(Level *level) {
    if (!subqueries_are_error_free(looked_at(level)))
        return false;
    Node *from = reinterpret_cast<Node *>(level->query->jointree);
    if (joins_are_error_free_with_links(level, from))
        return true;
    level->guards = may_guard(level);
    return level->guards && joins_are_error_free_with_links(level, from);
}

static bool rewrite_level(Query *query) {
    if (!query->hasSubLinks || query->rowMarks != NIL || query->hasModifyingCTE || query->setOperations != nullptr ||
        query->jointree->fromlist == NIL || is_never_true(query))
        return false;
    forget_orders(query->jointree->quals, nullptr);
    Level level{
        query, make_ands_implicit(reinterpret_cast<Expr *>(query->jointree->quals)), false, false, query == makes_rows,
        false};
    if (is_error_free_around(&level))
        rewrite_where(&level);
    else if (has_rowwise_subquery(level.conjuncts))
        refuse("a subquery per row, or a condition beside it, reads more than plain tables or could raise an error, "
               "as sums and averages of plain numeric or floats could%s",
               query->limitCount != nullptr ? "; without LIMIT those of plain numeric may become a join" : "");
    if (!query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs && query->groupClause == NIL &&
        query->groupingSets == NIL && query->havingQual == nullptr)
        rewrite_target_list(&level);
    return level.changed;
}

bool decorrelate(Query *query) {
    makes_rows = level_of_rows(query);
    return rewrite_levels(query, rewrite_level);
}

bool may_have_subqueries(const Query *query) {
    return has_level(query, [](const Query *level) { return level->hasSubLinks; });
}

} // namespace gpuscan
