// Set operations, with the work that shrinks their inputs done below them.
//
//   Diamos, Wu, Lele, Wang & Yalamanchili, "Relational Algorithms for Multi-Bulk-Synchronous Processors" (2012), table 1 and
//   the skeleton of the SET family: union, intersection and difference are operators over sets. Here a device makes a set
//   of each input, by grouping, and PostgreSQL merges the sets.
//   Yan & Larson, "Eager Aggregation and Lazy Aggregation", VLDB 1995, and Gray et al., "Data Cube", 1996, section 5: an
//   aggregation over a union is one over the aggregations of its parts, if the aggregates are distributive (sum, count, min,
//   max, bits) or algebraic (avg).
//
// What is rewritten:
//
//   A UNION B, A INTERSECT B, A EXCEPT B
//       -> with SELECT DISTINCT in A and B (also further down, where duplicates make no difference to what stands above)
//   SELECT k, count(x), avg(y) FROM (A UNION ALL B) u WHERE p GROUP BY k HAVING h
//       -> SELECT k, sum(c)::bigint, sum(s) / sum(n) FROM (SELECT k, count(x) c, sum(y) s, count(y) n FROM A u WHERE p GROUP BY k
//          UNION ALL ... FROM B ...) GROUP BY k HAVING h
//
// Nobody may notice. So: what is grouped twice is of types whose equal values are the same value (not floats, intervals, numerics without
// a scale, texts under a nondeterministic collation), and each side has just the types of the whole; expressions are not
// volatile; an aggregate of groups is computed as PostgreSQL computes it of rows: sums of integers are exact, avg is the same
// division of the same numerics, and sums of floats are left alone under gpuscan.exact_float. Every expression is evaluated
// for the very rows for which it was before. Privileges belong to range table entries, which stay.
//
// statement.cpp plans both queries and keeps the cheaper plan, so statistics decide whether making sets first pays.
#include "pg/pg.h"

#include "pg/rewrite/set_operations.h"

#include "pg/catalog/sql_type.h"
#include "pg/catalog/type_operators.h"
#include "pg/guc.h"
#include "pg/refusal.h"
#include "pg/rewrite/group_columns.h"
#include "pg/rewrite/query_levels.h"

namespace gpuscan {

// ---- types ----

bool equal_is_same(Node *expr) {
    int precision, scale;
    const Oid collation = exprCollation(expr);
    if ((OidIsValid(collation) && !get_collation_isdeterministic(collation)) || !has_device_equality(exprType(expr)))
        return false;
    switch (sql_kind(exprType(expr))) {
    case SqlKind::None:
    case SqlKind::Opaque:
    case SqlKind::Float4:
    case SqlKind::Float8:
    case SqlKind::Interval: // a month and 30 days
        return false;
    case SqlKind::Numeric:
        return numeric_typmod(exprTypmod(expr), &precision, &scale);
    case SqlKind::Bpchar:
        return exprTypmod(expr) >= 0;
    default:
        return true;
    }
}

// ---- inputs of set operations as sets ----

static SortGroupClause *grouping_of(TargetEntry *entry, List *target_list) {
    SortGroupClause *clause = makeNode(SortGroupClause);
    Oid less, equality;
    bool hashable;
    get_sort_group_operators(exprType(reinterpret_cast<Node *>(entry->expr)), false, false, false, &less, &equality,
                             nullptr, &hashable);
    if (!OidIsValid(equality) || (!hashable && !OidIsValid(less)))
        return nullptr;
    clause->tleSortGroupRef = assignSortGroupRef(entry, target_list);
    clause->eqop = equality;
    clause->sortop = less;
    clause->hashable = hashable;
    return clause;
}

static bool is_plain_select(const Query *query) {
    return query->commandType == CMD_SELECT && !query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs &&
           query->groupClause == NIL && query->groupingSets == NIL && query->havingQual == nullptr &&
           query->distinctClause == NIL && query->sortClause == NIL && query->limitCount == nullptr &&
           query->limitOffset == nullptr && query->rowMarks == NIL && query->setOperations == nullptr &&
           query->cteList == NIL && query->jointree->fromlist != NIL &&
           !contain_volatile_functions(reinterpret_cast<Node *>(query->targetList));
}

// (The set operation may cast what it gets: casts of the same values are the same.)
bool make_set(Query *query) {
    if (!is_plain_select(query) || query->targetList == NIL)
        return false;
    ListCell *cell;
    foreach (cell, query->targetList) {
        const TargetEntry *column = static_cast<const TargetEntry *>(lfirst(cell));
        if (column->resjunk || !equal_is_same(reinterpret_cast<Node *>(column->expr)))
            return false;
    }
    List *clauses = NIL;
    foreach (cell, query->targetList) {
        SortGroupClause *clause = grouping_of(static_cast<TargetEntry *>(lfirst(cell)), query->targetList);
        if (clause == nullptr)
            return false; // (references that nobody uses do no harm)
        clauses = lappend(clauses, clause);
    }
    query->distinctClause = clauses;
    return true;
}

bool merges_equal_values(const SetOperationStmt *operation) {
    ListCell *clause, *type;
    forboth (clause, operation->groupClauses, type, operation->colTypes)
        if (!is_device_equality(lfirst_node(SortGroupClause, clause)->eqop, lfirst_oid(type)))
            return false;
    return true;
}

// `as_sets`: how often a row comes out of this node makes no difference.
static bool make_sets(Query *query, Node *node, bool as_sets) {
    if (IsA(node, RangeTblRef)) {
        RangeTblEntry *entry = rt_fetch(reinterpret_cast<RangeTblRef *>(node)->rtindex, query->rtable);
        return as_sets && entry->rtekind == RTE_SUBQUERY && make_set(entry->subquery);
    }
    const SetOperationStmt *operation = reinterpret_cast<const SetOperationStmt *>(node);
    // How many rows EXCEPT ALL leaves depends on how many there are on either side.
    const bool below =
        merges_equal_values(operation) && (!operation->all || (as_sets && operation->op != SETOP_EXCEPT));
    bool changed = make_sets(query, operation->larg, below);
    return make_sets(query, operation->rarg, below) || changed;
}

// ---- aggregations over unions ----

// SELECT ... FROM (UNION ALL) under work. The columns are what each part computes, as expressions over the union's columns.
struct Spread : GroupColumns {
    Query *query;
};

bool has_types(const Query *query, const SetOperationStmt *whole) {
    ListCell *entry, *type = list_head(whole->colTypes), *collation = list_head(whole->colCollations);
    foreach (entry, query->targetList) {
        const TargetEntry *column = static_cast<const TargetEntry *>(lfirst(entry));
        Node *expr = reinterpret_cast<Node *>(column->expr);
        if (column->resjunk || type == nullptr || exprType(expr) != lfirst_oid(type) ||
            exprCollation(expr) != lfirst_oid(collation))
            return false;
        type = lnext(whole->colTypes, type);
        collation = lnext(whole->colCollations, collation);
    }
    return type == nullptr;
}

static bool is_union_of(const Query *query, Node *node, const SetOperationStmt *whole) {
    if (IsA(node, RangeTblRef)) {
        const RangeTblEntry *entry = rt_fetch(reinterpret_cast<RangeTblRef *>(node)->rtindex, query->rtable);
        return entry->rtekind == RTE_SUBQUERY && entry->subquery->commandType == CMD_SELECT &&
               entry->subquery->rowMarks == NIL && has_types(entry->subquery, whole);
    }
    const SetOperationStmt *operation = reinterpret_cast<const SetOperationStmt *>(node);
    return operation->op == SETOP_UNION && operation->all && is_union_of(query, operation->larg, whole) &&
           is_union_of(query, operation->rarg, whole);
}

// UNION ALL and nothing else.
static bool is_union(const Query *query) {
    return query->commandType == CMD_SELECT && query->setOperations != nullptr &&
           IsA(query->setOperations, SetOperationStmt) && query->sortClause == NIL && query->limitCount == nullptr &&
           query->limitOffset == nullptr && query->rowMarks == NIL && query->cteList == NIL &&
           is_union_of(query, query->setOperations, reinterpret_cast<SetOperationStmt *>(query->setOperations));
}

// An aggregate over the parts' column that the aggregate's like is in.
static Expr *over_parts(GroupColumns *parts, Oid function, Oid type, Node *column) {
    Var *value = column_as_var(parts, column_of(parts, column));
    return reinterpret_cast<Expr *>(
        make_aggregate(function, type, exprCollation(column), reinterpret_cast<Expr *>(value)));
}

// The sum of the parts' column: of bigints a numeric, of numerics a numeric.
static Expr *sum_of_parts(GroupColumns *parts, Node *column) {
    Oid function = exprType(column) == INT8OID ? F_SUM_INT8 : F_SUM_NUMERIC;
    return over_parts(parts, function, NUMERICOID, column);
}

// Aggregates that are their own aggregates over parts: the extremum of extrema, the bits of bits.
static bool is_its_own_combination(const Aggref *aggref) {
    static const char *const names[] = {"min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or", "bit_xor"};
    Node *arg = reinterpret_cast<Node *>(static_cast<const TargetEntry *>(linitial(aggref->args))->expr);
    if (aggref->aggfnoid >= FirstNormalObjectId || exprType(arg) != aggref->aggtype || !equal_is_same(arg))
        return false;
    const char *name = get_func_name(aggref->aggfnoid);
    for (const char *known : names)
        if (name != nullptr && strcmp(name, known) == 0)
            return true;
    return false;
}

// The aggregate as one over what the parts aggregate; NULL: it cannot be.
static Expr *combine(GroupColumns *parts, const Aggref *aggref) {
    if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggdistinct != NIL || aggref->aggorder != NIL ||
        aggref->aggdirectargs != NIL || list_length(aggref->args) > 1)
        return nullptr;
    Oid type;
    if (const Oid sum = sum_of_average(aggref->aggfnoid, &type); OidIsValid(sum)) {
        Expr *total = sum_of_parts(parts, other_aggregate(aggref, sum, type));
        Expr *count = sum_of_parts(parts, other_aggregate(aggref, F_COUNT_ANY, INT8OID));
        return call_of(F_NUMERIC_DIV, NUMERICOID, list_make2(total, count));
    }
    Node *own = static_cast<Node *>(copyObject(reinterpret_cast<Node *>(const_cast<Aggref *>(aggref))));
    switch (aggref->aggfnoid) {
    case F_COUNT_:
    case F_COUNT_ANY:
    case F_SUM_INT2:
    case F_SUM_INT4:
        return call_of(F_INT8_NUMERIC, INT8OID, list_make1(sum_of_parts(parts, own)));
    case F_SUM_INT8:
    case F_SUM_NUMERIC:
        return sum_of_parts(parts, own);
    case F_SUM_FLOAT8:
        return guc_exact_float ? nullptr : over_parts(parts, F_SUM_FLOAT8, FLOAT8OID, own);
    default:
        return aggref->args != NIL && is_its_own_combination(aggref)
                   ? over_parts(parts, aggref->aggfnoid, aggref->aggtype, own)
                   : nullptr;
    }
}

static Expr *combined(GroupColumns *parts, const Aggref *aggref) {
    Expr *value = combine(parts, aggref);
    if (value == nullptr)
        parts->reason = "an aggregate over UNION ALL cannot be computed from those of its parts";
    return value;
}

// Does it read more than plain columns of the one relation?
static bool find_strange(Node *node, void *) {
    if (node == nullptr)
        return false;
    if (IsA(node, SubLink) || (IsA(node, Var) && reinterpret_cast<const Var *>(node)->varlevelsup == 0 &&
                               reinterpret_cast<const Var *>(node)->varattno <= 0))
        return true;
    return walk_expression(node, find_strange, nullptr);
}

static bool is_strange(void *expression) {
    Node *node = static_cast<Node *>(expression);
    return contain_volatile_functions(node) || find_strange(node, nullptr);
}

// The union below the aggregation; 0: there is none.
static int union_below(const Query *query) {
    if (query->commandType != CMD_SELECT || query->setOperations != nullptr || query->groupingSets != NIL ||
        (!query->hasAggs && query->groupClause == NIL) || query->hasTargetSRFs || query->rowMarks != NIL ||
        query->hasModifyingCTE || list_length(query->jointree->fromlist) != 1 ||
        !IsA(linitial(query->jointree->fromlist), RangeTblRef))
        return 0;
    const int rti = static_cast<RangeTblRef *>(linitial(query->jointree->fromlist))->rtindex;
    const RangeTblEntry *entry = rt_fetch(rti, query->rtable);
    bool simple = entry->rtekind == RTE_SUBQUERY && !entry->security_barrier && !entry->lateral &&
                  entry->securityQuals == NIL && is_union(entry->subquery);
    return simple ? rti : 0;
}

static bool add_keys(Spread *spread) {
    ListCell *cell;
    foreach (cell, spread->query->groupClause) {
        SortGroupClause *clause = lfirst_node(SortGroupClause, cell);
        Node *key = get_sortgroupclause_expr(clause, spread->query->targetList);
        if (!equal_is_same(key) || !is_device_equality(clause->eqop, exprType(key)))
            return refuse("UNION ALL is grouped by values that may be equal without being the same");
        column_of(spread, static_cast<Node *>(copyObject(key)));
    }
    spread->nkeys = list_length(spread->columns);
    return true;
}

// ---- the parts ----

// Of an expression that moves into a part, where the union's columns are those of the only relation.
static bool move_into_part(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Var) && reinterpret_cast<const Var *>(node)->varlevelsup == 0) {
        Var *var = reinterpret_cast<Var *>(node);
        var->varno = 1;
        var->varnosyn = 1;
        var->varattnosyn = var->varattno;
    }
    return walk_expression(node, move_into_part, context);
}

// (A part is two levels below: the union's query is one of its own.)
static Node *moved_into_part(const void *expression) {
    Node *copy = static_cast<Node *>(copyObject(static_cast<Node *>(const_cast<void *>(expression))));
    IncrementVarSublevelsUp(copy, 2, 1);
    move_into_part(copy, nullptr);
    return copy;
}

static List *names_of(const Spread *spread) {
    List *names = NIL;
    for (int i = 1; i <= list_length(spread->columns); ++i)
        names = lappend(names, makeString(psprintf("column%d", i)));
    return names;
}

static Query *make_part(const Spread *spread, Query *rows, const Alias *columns, Node *quals) {
    Query *part = makeNode(Query);
    RangeTblEntry *entry = makeNode(RangeTblEntry);
    RangeTblRef *reference = makeNode(RangeTblRef);
    IncrementVarSublevelsUp(reinterpret_cast<Node *>(rows), 1, 1);
    entry->rtekind = RTE_SUBQUERY;
    entry->subquery = rows;
    entry->alias = makeAlias("part", NIL);
    entry->eref = makeAlias("part", static_cast<List *>(copyObject(columns->colnames)));
    entry->inFromCl = true;
    reference->rtindex = 1;
    part->commandType = CMD_SELECT;
    part->canSetTag = true;
    part->stmt_location = -1;
    part->rtable = list_make1(entry);
    part->jointree = makeFromExpr(list_make1(reference), quals != nullptr ? moved_into_part(quals) : nullptr);
    part->hasAggs = list_length(spread->columns) > spread->nkeys;
    ListCell *cell;
    foreach (cell, spread->columns) {
        int number = foreach_current_index(cell);
        TargetEntry *target =
            makeTargetEntry(reinterpret_cast<Expr *>(moved_into_part(lfirst(cell))),
                            static_cast<AttrNumber>(number + 1), psprintf("column%d", number + 1), false);
        part->targetList = lappend(part->targetList, target);
        if (number < spread->nkeys)
            part->groupClause = lappend(part->groupClause, grouping_of(target, part->targetList));
    }
    return part;
}

// Gives the union's nodes the types of the new columns; returns a leaf's number.
static int retype_union(const Spread *spread, Query *whole, Node *node, Node *quals) {
    if (IsA(node, RangeTblRef)) {
        const int rti = reinterpret_cast<RangeTblRef *>(node)->rtindex;
        RangeTblEntry *entry = rt_fetch(rti, whole->rtable);
        entry->subquery = make_part(spread, entry->subquery, entry->eref, quals);
        entry->eref = makeAlias(entry->eref->aliasname, names_of(spread));
        if (entry->alias != nullptr)
            entry->alias = makeAlias(entry->alias->aliasname, NIL);
        return rti;
    }
    SetOperationStmt *operation = reinterpret_cast<SetOperationStmt *>(node);
    operation->colTypes = operation->colTypmods = operation->colCollations = NIL;
    ListCell *cell;
    foreach (cell, spread->columns) {
        const Node *column = static_cast<const Node *>(lfirst(cell));
        operation->colTypes = lappend_oid(operation->colTypes, exprType(column));
        operation->colTypmods = lappend_int(operation->colTypmods, exprTypmod(column));
        operation->colCollations = lappend_oid(operation->colCollations, exprCollation(column));
    }
    const int leftmost = retype_union(spread, whole, operation->larg, quals);
    retype_union(spread, whole, operation->rarg, quals);
    return leftmost;
}

static bool can_group(const Spread *spread) {
    for (int i = 0; i < spread->nkeys; ++i) {
        Oid equality;
        get_sort_group_operators(exprType(static_cast<Node *>(list_nth(spread->columns, i))), false, false, false,
                                 nullptr, &equality, nullptr, nullptr);
        if (!OidIsValid(equality))
            return false;
    }
    return list_length(spread->columns) > 0 && list_length(spread->columns) <= MaxTupleAttributeNumber;
}

static bool spread_aggregation(Query *query) {
    const int rti = union_below(query);
    if (rti == 0)
        return false;
    resolve_group_references(query);
    if (is_strange(query->targetList) || is_strange(query->havingQual) || is_strange(query->jointree->quals))
        return refuse("an aggregation over UNION ALL with subqueries, volatile functions or whole rows");
    Spread spread{{rti, NIL, 0, nullptr}, query};
    if (!add_keys(&spread))
        return false;
    Node *targets = reinterpret_cast<Node *>(query->targetList), *having = query->havingQual;
    if (!over_group_columns(&spread, combined, &targets) || !over_group_columns(&spread, combined, &having) ||
        !can_group(&spread))
        return spread.reason != nullptr && refuse("%s", spread.reason);

    RangeTblEntry *entry = rt_fetch(rti, query->rtable);
    Query *whole = entry->subquery;
    const int leftmost = retype_union(&spread, whole, whole->setOperations, query->jointree->quals);
    whole->targetList = NIL;
    for (int i = 1; i <= list_length(spread.columns); ++i) {
        Var *var = column_as_var(&spread, i);
        var->varno = leftmost;
        var->varnosyn = static_cast<Index>(leftmost);
        whole->targetList = lappend(whole->targetList, makeTargetEntry(reinterpret_cast<Expr *>(var), var->varattno,
                                                                       psprintf("column%d", var->varattno), false));
    }
    entry->eref = makeAlias(entry->eref->aliasname, names_of(&spread));
    if (entry->alias != nullptr)
        entry->alias = makeAlias(entry->alias->aliasname, NIL);
    query->jointree->quals = nullptr;
    query->targetList = reinterpret_cast<List *>(targets);
    query->havingQual = having;
    return true;
}

// ---- all levels ----

static bool rewrite_level(Query *query) {
    return query->setOperations != nullptr ? make_sets(query, query->setOperations, false) : spread_aggregation(query);
}

bool spread_set_operations(Query *query) { return rewrite_levels(query, rewrite_level); }

static bool find_set_operation(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (!IsA(node, Query))
        return walk_expression(node, find_set_operation, context);
    Query *query = reinterpret_cast<Query *>(node);
    return query->setOperations != nullptr || walk_query(query, find_set_operation, context);
}

bool may_have_set_operations(const Query *query) {
    return has_level(query, [](const Query *level) {
        return level->setOperations != nullptr ||
               (level->hasSubLinks &&
                find_set_operation(reinterpret_cast<Node *>(const_cast<Query *>(level)), nullptr));
    });
}

} // namespace gpuscan
