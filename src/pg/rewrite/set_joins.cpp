// The last step of set operations as joins.
//
//   Diamos, Wu, Lele, Wang & Yalamanchili, "Relational Algorithms for Multi-Bulk-Synchronous Processors" (2012), table 1:
//   intersection and difference keep or drop a tuple of one input by whether the other one has it, and union is
//   concatenation without what is there already. With a hash table of the other input these are semi and anti joins, which
//   a device has; the fragment that looks a row up also makes the set.
//
// What is rewritten, a and b being the rows as a whole:
//
//   A INTERSECT B   -> SELECT DISTINCT a FROM A WHERE EXISTS (SELECT FROM B WHERE b = a)
//   A EXCEPT B      -> SELECT DISTINCT a FROM A WHERE NOT EXISTS (SELECT FROM B WHERE b = a)
//   A UNION B       -> SELECT DISTINCT a FROM A UNION ALL SELECT DISTINCT b FROM B WHERE NOT EXISTS (SELECT FROM A WHERE a = b)
//
// and chains of them: A EXCEPT (B UNION C) and (A EXCEPT B) EXCEPT C exclude both, A INTERSECT (B EXCEPT C) requires one and
// excludes the other. Nothing is left to PostgreSQL but to append the sets of a UNION, which have no row in common.
//
// NULLs are equal in set operations and not in joins. It takes two of them to notice, so a column that is NOT NULL on either
// side is compared as it is; of any other, coalesce(a, 0) = coalesce(b, 0) AND (a IS NULL) = (b IS NULL), which PostgreSQL can
// hash as well as a device.
//
// Nobody may notice. So: equal values are the same value, and the sides have just the types of the whole; the sides read
// plain tables, and nothing of them can raise an error, since a join may look at rows, or evaluate a column for rows, that
// an earlier condition would have dropped (error_free_expression.h); rows are never more than a side has. Sides that are sets already
// (set_operations.cpp has made them, or the user) need not be: how often a row is there makes no difference.
//
// statement.cpp plans both queries and keeps the cheaper plan: a table of all of B's rows may cost more than two sets and their
// merge where B has few different rows.
#include "pg/pg.h"

#include "pg/rewrite/set_joins.h"

#include "pg/catalog/sql_type.h"
#include "pg/refusal.h"
#include "pg/rewrite/decorrelate.h"
#include "pg/rewrite/error_free_expression.h"
#include "pg/rewrite/error_free_query.h"
#include "pg/rewrite/query_levels.h"
#include "pg/rewrite/set_operations.h"

namespace gpuscan {

constexpr int max_sides = 8;  // of a chain
constexpr int max_united = 4; // of a UNION: each is joined with all before it
// PostgreSQL plans a join of n equalities in n^3 steps (find_mergeclauses_for_outer_pathkeys looks at all of them for each of its
// sort orders' columns), and a set operation in n: wider ones stay sets that PostgreSQL merges.
constexpr int max_columns = 32;

// A set operation as a condition on the rows of its leftmost side.
struct SetJoin {
    const Query *query;            // to whom the sides' range table entries belong
    const SetOperationStmt *whole; // for the types and the equality
    int base;                      // the leftmost side
    int count;
    struct {
        Query *side;
        bool excludes;
    } others[max_sides];
};

// ---- the sides ----

static Query *side_of(const Query *query, const Node *node) {
    const RangeTblEntry *entry = rt_fetch(reinterpret_cast<const RangeTblRef *>(node)->rtindex, query->rtable);
    return entry->rtekind == RTE_SUBQUERY ? entry->subquery : nullptr;
}

// The kinds whose equal values are one value also when they come from two tables.
static bool has_one_form(Node *column, int32 typmod) {
    switch (sql_kind(exprType(column))) {
    case SqlKind::Numeric: // 1.5 and 1.50
    case SqlKind::Bpchar:
        return exprTypmod(column) == typmod && equal_is_same(column);
    default:
        return equal_is_same(column);
    }
}

static bool columns_fit(const Query *side, const SetOperationStmt *whole) {
    if (side->targetList == NIL || !has_types(side, whole))
        return false;
    ListCell *cell, *typmod;
    forboth (cell, side->targetList, typmod, whole->colTypmods) {
        Node *column = reinterpret_cast<Node *>(static_cast<const TargetEntry *>(lfirst(cell))->expr);
        if (!has_one_form(column, lfirst_int(typmod)) || !is_error_free(side, column))
            return false;
    }
    return true;
}

static bool conditions_fit(const Query *side) {
    ListCell *cell;
    foreach (cell, make_ands_implicit(reinterpret_cast<Expr *>(side->jointree->quals)))
        if (!is_error_free(side, static_cast<Node *>(lfirst(cell))))
            return false;
    return true;
}

static bool fits(Query *side, const SetOperationStmt *whole) {
    if (side == nullptr || side->hasDistinctOn || side->hasAggs)
        return false;
    List *distinct = side->distinctClause;
    side->distinctClause = NIL;
    const bool plain = reads_plain_tables(side);
    side->distinctClause = distinct;
    return plain && columns_fit(side, whole) && conditions_fit(side);
}

static bool make_set_again(Query *side) {
    side->distinctClause = NIL;
    return make_set(side);
}

// ---- the operation as conditions ----

// Notes that the row must be in, or not in, what the node yields. False: that is more than a list of conditions can say.
static bool note_condition(SetJoin *join, Node *node, bool excludes) {
    if (IsA(node, RangeTblRef)) {
        Query *side = side_of(join->query, node);
        if (join->count == max_sides || !fits(side, join->whole))
            return false;
        join->others[join->count].side = side;
        join->others[join->count++].excludes = excludes;
        return true;
    }
    const SetOperationStmt *operation = reinterpret_cast<const SetOperationStmt *>(node);
    switch (operation->op) {
    case SETOP_UNION:
        return excludes && note_condition(join, operation->larg, true) && note_condition(join, operation->rarg, true);
    case SETOP_INTERSECT:
        return !excludes && note_condition(join, operation->larg, false) &&
               note_condition(join, operation->rarg, false);
    case SETOP_EXCEPT: // (of EXCEPT ALL, rows that both have may be left)
        return !excludes && !operation->all && note_condition(join, operation->larg, false) &&
               note_condition(join, operation->rarg, true);
    default:
        return false;
    }
}

static bool note_base(SetJoin *join, Node *node) {
    if (IsA(node, RangeTblRef)) {
        join->base = reinterpret_cast<RangeTblRef *>(node)->rtindex;
        return fits(side_of(join->query, node), join->whole);
    }
    const SetOperationStmt *operation = reinterpret_cast<const SetOperationStmt *>(node);
    if (operation->op == SETOP_INTERSECT)
        return note_base(join, operation->larg) && note_condition(join, operation->rarg, false);
    return operation->op == SETOP_EXCEPT && !operation->all && note_base(join, operation->larg) &&
           note_condition(join, operation->rarg, true);
}

// ---- equal rows ----

static bool may_be_null(const Query *side, const Node *column) {
    if (IsA(column, Const))
        return reinterpret_cast<const Const *>(column)->constisnull;
    return !is_not_null(side, column);
}

// What stands for NULL in a comparison of values of this type; NULL: there is none.
static Node *stand_in(const Node *column) {
    const Oid type = exprType(column);
    const char *text = nullptr;
    switch (sql_kind(type)) {
    case SqlKind::Bool:
        text = "false";
        break;
    case SqlKind::Int2:
    case SqlKind::Int4:
    case SqlKind::Int8:
    case SqlKind::Numeric:
    case SqlKind::Oid:
        text = "0";
        break;
    case SqlKind::Date:
    case SqlKind::Timestamp:
    case SqlKind::Timestamptz:
        text = "epoch";
        break;
    case SqlKind::Time:
        text = "00:00";
        break;
    case SqlKind::Text:
    case SqlKind::Bpchar:
        text = "";
        break;
    case SqlKind::Uuid:
        text = "00000000-0000-0000-0000-000000000000";
        break;
    default:
        return nullptr;
    }
    if (getBaseType(type) != type)
        return nullptr;
    Oid input, parameter;
    int16 length;
    bool by_value;
    getTypeInputInfo(type, &input, &parameter);
    get_typlenbyval(type, &length, &by_value);
    const Datum value = OidInputFunctionCall(input, const_cast<char *>(text), parameter, exprTypmod(column));
    return reinterpret_cast<Node *>(
        makeConst(type, exprTypmod(column), exprCollation(column), length, value, false, by_value));
}

static Node *without_null(Node *column, const Node *instead) {
    CoalesceExpr *expr = makeNode(CoalesceExpr);
    expr->coalescetype = exprType(column);
    expr->coalescecollid = exprCollation(column);
    expr->args = list_make2(column, copyObject(const_cast<Node *>(instead)));
    expr->location = -1;
    return reinterpret_cast<Node *>(expr);
}

static Expr *is_null(Node *column) {
    NullTest *test = makeNode(NullTest);
    test->arg = static_cast<Expr *>(copyObject(reinterpret_cast<Expr *>(column)));
    test->nulltesttype = IS_NULL;
    test->location = -1;
    return reinterpret_cast<Expr *>(test);
}

// As the parser would write the operator's operand.
static Expr *as_operand(Node *column, Oid type, Oid collation) {
    if (!IsPolymorphicType(type) && exprType(column) != type)
        column = reinterpret_cast<Node *>(
            makeRelabelType(reinterpret_cast<Expr *>(column), type, -1, collation, COERCE_IMPLICIT_CAST));
    return reinterpret_cast<Expr *>(column);
}

static Expr *make_equal(Oid equality, Node *left, Node *right, Oid collation) {
    Oid left_type, right_type;
    op_input_types(equality, &left_type, &right_type);
    return make_opclause(equality, BOOLOID, false, as_operand(left, left_type, collation),
                         as_operand(right, right_type, collation), InvalidOid, collation);
}

// b = a for one column, as conjuncts of the subquery that reads B; what compares NULLs goes into `nulls`.
static bool add_equality(const SetJoin *join, const Query *base, const Query *other, int column, List **conjuncts,
                         List **nulls) {
    const SortGroupClause *group = static_cast<const SortGroupClause *>(list_nth(join->whole->groupClauses, column));
    const Oid collation = list_nth_oid(join->whole->colCollations, column);
    Node *inside = static_cast<Node *>(copyObject(
        reinterpret_cast<Node *>(static_cast<const TargetEntry *>(list_nth(other->targetList, column))->expr)));
    Node *outside = static_cast<Node *>(copyObject(
        reinterpret_cast<Node *>(static_cast<const TargetEntry *>(list_nth(base->targetList, column))->expr)));
    const bool both_null = may_be_null(base, outside) && may_be_null(other, inside);
    IncrementVarSublevelsUp(outside, 1, 0);
    if (both_null) {
        Node *instead = stand_in(inside);
        if (instead == nullptr)
            return refuse("a set operation over values of %s that may be NULL", format_type_be(exprType(inside)));
        *nulls = lappend(*nulls, make_opclause(BooleanEqualOperator, BOOLOID, false, is_null(inside), is_null(outside),
                                               InvalidOid, InvalidOid));
        inside = without_null(inside, instead);
        outside = without_null(outside, instead);
    }
    *conjuncts = lappend(*conjuncts, make_equal(group->eqop, inside, outside, collation));
    return true;
}

// EXISTS of a row of `other` that is equal to the row of `base`; NULL if that cannot be said.
static SubLink *make_partner(const SetJoin *join, const Query *base, const Query *other) {
    List *conjuncts = NIL, *nulls = NIL;
    bool correlated = false;
    for (int i = 0; i < list_length(join->whole->colTypes); ++i) {
        if (!add_equality(join, base, other, i, &conjuncts, &nulls))
            return nullptr;
        Node *last = static_cast<Node *>(llast(conjuncts));
        correlated |= contain_vars_of_level(last, 0) && contain_vars_of_level(last, 1);
    }
    if (!correlated)
        return nullptr;
    conjuncts = list_concat(conjuncts, nulls); // (the first ones become the keys of the table)
    Query rows = *other;
    rows.distinctClause = NIL;
    return make_exists(&rows, reinterpret_cast<Node *>(make_ands_explicit(conjuncts)));
}

static Node *make_condition(SubLink *link, bool excludes) {
    if (!excludes)
        return reinterpret_cast<Node *>(link);
    return reinterpret_cast<Node *>(makeBoolExpr(NOT_EXPR, list_make1(link), -1));
}

static void add_conditions(Query *side, List *conditions) {
    side->jointree->quals = reinterpret_cast<Node *>(make_ands_explicit(
        list_concat(make_ands_implicit(reinterpret_cast<Expr *>(side->jointree->quals)), conditions)));
    side->hasSubLinks = true;
}

// ---- INTERSECT and EXCEPT ----

// A range table entry that nobody refers to any longer.
static void forget_side(RangeTblEntry *entry) {
    entry->rtekind = RTE_RESULT;
    entry->subquery = nullptr;
}

static void forget_sides(const Query *query, Node *node, int but) {
    if (IsA(node, RangeTblRef)) {
        const int rti = reinterpret_cast<RangeTblRef *>(node)->rtindex;
        if (rti != but)
            forget_side(rt_fetch(rti, query->rtable));
        return;
    }
    forget_sides(query, reinterpret_cast<SetOperationStmt *>(node)->larg, but);
    forget_sides(query, reinterpret_cast<SetOperationStmt *>(node)->rarg, but);
}

// The one side that stands for the operation; NULL: it stays as it is.
static Node *join_sides(Query *query, SetOperationStmt *operation) {
    SetJoin join{query, operation, 0, 0, {}};
    if (!note_base(&join, reinterpret_cast<Node *>(operation)))
        return nullptr;
    Query *base = rt_fetch(join.base, query->rtable)->subquery;
    List *conditions = NIL;
    for (int i = 0; i < join.count; ++i) {
        SubLink *partner = make_partner(&join, base, join.others[i].side);
        if (partner == nullptr)
            return nullptr;
        conditions = lappend(conditions, make_condition(partner, join.others[i].excludes));
    }
    if (!make_set_again(base))
        return nullptr;
    add_conditions(base, conditions);
    for (int i = 0; i < join.count; ++i)
        base->hasRowSecurity |= join.others[i].side->hasRowSecurity;
    forget_sides(query, reinterpret_cast<Node *>(operation), join.base);
    RangeTblRef *result = makeNode(RangeTblRef);
    result->rtindex = join.base;
    return reinterpret_cast<Node *>(result);
}

// ---- UNION ----

static bool note_united(SetJoin *join, Node *node) {
    if (IsA(node, RangeTblRef))
        return join->count < max_united && note_condition(join, node, true);
    const SetOperationStmt *operation = reinterpret_cast<const SetOperationStmt *>(node);
    return operation->op == SETOP_UNION && note_united(join, operation->larg) && note_united(join, operation->rarg);
}

static void only_append(Node *node) {
    if (IsA(node, RangeTblRef))
        return;
    SetOperationStmt *operation = reinterpret_cast<SetOperationStmt *>(node);
    operation->all = true;
    operation->groupClauses = NIL;
    only_append(operation->larg);
    only_append(operation->rarg);
}

static bool unite_sides(Query *query, SetOperationStmt *operation) {
    SetJoin join{query, operation, 0, 0, {}};
    if (!note_united(&join, reinterpret_cast<Node *>(operation)))
        return false;
    List *conditions[max_united] = {};
    for (int i = 1; i < join.count; ++i)
        for (int k = 0; k < i; ++k) {
            SubLink *partner = make_partner(&join, join.others[i].side, join.others[k].side);
            if (partner == nullptr)
                return false;
            conditions[i] = lappend(conditions[i], make_condition(partner, true));
        }
    for (int i = 0; i < join.count; ++i)
        if (!make_set_again(join.others[i].side))
            return false;
    for (int i = 1; i < join.count; ++i) {
        add_conditions(join.others[i].side, conditions[i]);
        for (int k = 0; k < i; ++k)
            join.others[i].side->hasRowSecurity |= join.others[k].side->hasRowSecurity;
    }
    only_append(reinterpret_cast<Node *>(operation));
    return true;
}

// ---- a query level ----

// The topmost operations that can be joins, and below the others what is left.
static bool join_operation(Query *query, Node **node) {
    if (IsA(*node, RangeTblRef))
        return false;
    SetOperationStmt *operation = reinterpret_cast<SetOperationStmt *>(*node);
    if (!operation->all && list_length(operation->colTypes) <= max_columns && merges_equal_values(operation)) {
        if (operation->op == SETOP_UNION && unite_sides(query, operation))
            return true;
        Node *joined = operation->op != SETOP_UNION ? join_sides(query, operation) : nullptr;
        if (joined != nullptr) {
            *node = joined;
            return true;
        }
    }
    const bool changed = join_operation(query, &operation->larg);
    return join_operation(query, &operation->rarg) || changed;
}

static bool join_level(Query *query) {
    if (query->setOperations == nullptr || !join_operation(query, &query->setOperations))
        return false;
    if (IsA(query->setOperations, RangeTblRef)) { // the target list is made of the leftmost side's columns
        query->jointree = makeFromExpr(list_make1(query->setOperations), nullptr);
        query->setOperations = nullptr;
    }
    return true;
}

bool join_set_operations(Query *query) { return rewrite_levels(query, join_level); }

} // namespace gpuscan
