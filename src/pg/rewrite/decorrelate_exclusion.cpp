// NOT IN, as anti joins.
//
//   (x, ...) NOT IN (SELECT y, ... FROM s WHERE p)
//
// is true of a row if no row of s agrees with it, where values agree that are equal and NULL agrees with everything. So which
// rows of s are in the way is told by which columns agree because y is NULL (a set S) and because x is (a set T, and S and T
// have no column in common, for one NULL is enough); for each such pair of sets, with y of S NULL and y = x for all columns
// outside of S and T,
//
//   T empty: NOT EXISTS (SELECT FROM s WHERE p AND ...)
//   else:    x of T is not all NULL OR NOT EXISTS (SELECT FROM s WHERE p AND ...)
//
// which for one column are NOT EXISTS (y = x), NOT EXISTS (y IS NULL) and x IS NOT NULL OR NOT EXISTS (). A column that cannot be
// NULL is in no set. Each of them is a join by keys (NOT EXISTS with OR in it would be none), a subquery that is evaluated once, or,
// below OR, an outer join with the groups of s (decorrelate.cpp). Their number grows quickly, so several columns may be NULL in two
// places at most.
//
// What is evaluated once and reads no column would be a condition of the whole join, and before version 17 PostgreSQL asks nobody
// else for the joins of a query that has one. So it is `OR x IS NULL`: where x is, another of the conjuncts says at least as much.
#include "pg/pg.h"

#include "pg/refusal.h"
#include "pg/rewrite/decorrelate.h"
#include "pg/rewrite/decorrelate_parts.h"
#include "pg/rewrite/error_free_expression.h"
#include "pg/rewrite/error_free_query.h"

namespace gpuscan {

constexpr int max_nullable_of_several = 2;

// ---- what is asked ----

// x = y of one column, in place of the parser's x = Param.
static bool read_pair(const Level *level, const Query *sub, const OpExpr *test, Correlation *pair) {
    if (!IsA(test, OpExpr) || list_length(test->args) != 2 || !IsA(lsecond(test->args), Param))
        return false;
    const int column = static_cast<const Param *>(lsecond(test->args))->paramid;
    if (column < 1 || column > list_length(sub->targetList))
        return false;
    pair->clause = test;
    pair->inside = reinterpret_cast<Node *>(static_cast<TargetEntry *>(list_nth(sub->targetList, column - 1))->expr);
    pair->outside = static_cast<Node *>(linitial(test->args));
    pair->inside_first = false;
    return levels_of(pair->inside) == own_columns && levels_of(pair->outside) == own_columns &&
           is_grouping_equality(test->opno, test->inputcollid, pair->inside) && is_error_free(sub, pair->inside) &&
           is_error_free(looked_at(level), pair->outside);
}

// The tests of each column: x = Param, or for <> ALL its contrary.
static List *member_tests(const SubLink *link) {
    Node *test = link->testexpr;
    if (test == nullptr)
        return NIL;
    if (IsA(test, BoolExpr))
        return reinterpret_cast<const BoolExpr *>(test)->boolop == AND_EXPR && link->subLinkType == ANY_SUBLINK
                   ? reinterpret_cast<const BoolExpr *>(test)->args
                   : NIL;
    if (!IsA(test, OpExpr) || link->subLinkType == ANY_SUBLINK)
        return list_make1(test);
    OpExpr *contrary = static_cast<OpExpr *>(copyObject(reinterpret_cast<OpExpr *>(test)));
    contrary->opno = get_negator(contrary->opno);
    if (!OidIsValid(contrary->opno))
        return NIL;
    contrary->opfuncid = get_opcode(contrary->opno);
    return list_make1(contrary);
}

bool read_members(const Level *level, const SubLink *link, Correlations *all) {
    const Query *sub = reinterpret_cast<const Query *>(link->subselect);
    List *tests = member_tests(link);
    if (tests == NIL || list_length(tests) > max_pairs || list_length(tests) != list_length(sub->targetList) ||
        !reads_plain_tables(sub) || sub->hasAggs)
        return false;
    all->count = 0;
    ListCell *cell;
    foreach (cell, tests)
        if (!read_pair(level, sub, static_cast<const OpExpr *>(lfirst(cell)), &all->pairs[all->count++]))
            return false;
    return true;
}

// May the subquery's conditions be those of a join? (Those that compare columns with the outer query's have been looked at.)
static bool conditions_are_plain(const Query *sub) {
    ListCell *cell;
    foreach (cell, conjuncts_of(sub)) {
        Node *conjunct = static_cast<Node *>(lfirst(cell));
        const int levels = levels_of(conjunct);
        if ((levels & others) != 0 || (levels <= own_columns && !is_error_free(sub, conjunct)))
            return false;
    }
    return true;
}

static const SubLink *excluding_link(const Node *conjunct) {
    SubLinkType type = ALL_SUBLINK;
    if (IsA(conjunct, BoolExpr) && reinterpret_cast<const BoolExpr *>(conjunct)->boolop == NOT_EXPR) {
        conjunct = static_cast<const Node *>(linitial(reinterpret_cast<const BoolExpr *>(conjunct)->args));
        type = ANY_SUBLINK;
    }
    const SubLink *link = reinterpret_cast<const SubLink *>(conjunct);
    return IsA(conjunct, SubLink) && link->subLinkType == type ? link : nullptr;
}

// ---- what says the same ----

static Node *test_null(Node *arg, NullTestType type) {
    NullTest *test = makeNode(NullTest);
    test->arg = static_cast<Expr *>(copyObject(reinterpret_cast<Expr *>(arg)));
    test->nulltesttype = type;
    test->location = -1;
    return reinterpret_cast<Node *>(test);
}

// y = x, in the subquery.
static Node *equality_of(const Correlation *pair) {
    OpExpr *clause = static_cast<OpExpr *>(copyObject(const_cast<OpExpr *>(pair->clause)));
    Node *outside = static_cast<Node *>(copyObject(pair->outside));
    IncrementVarSublevelsUp(outside, 1, 0);
    clause->args = list_make2(outside, copyObject(pair->inside));
    return reinterpret_cast<Node *>(clause);
}

static bool has(unsigned set, int column) { return (set >> column & 1) != 0; }

// The conjunct for one pair of sets; NULL: the outer join with the groups is impossible.
static Node *exclude(Level *level, const Query *sub, const Correlations *all, unsigned inner_nulls,
                     unsigned outer_nulls) {
    List *conditions = NIL, *arms = NIL;
    for (int i = 0; i < all->count; ++i) {
        if (has(inner_nulls, i))
            conditions = lappend(conditions, test_null(all->pairs[i].inside, IS_NULL));
        else if (has(outer_nulls, i))
            arms = lappend(arms, test_null(all->pairs[i].outside, IS_NOT_NULL));
        else
            conditions = lappend(conditions, equality_of(&all->pairs[i]));
    }
    SubLink *link = make_exists(sub, conjunction(conditions));
    Node *exists = reinterpret_cast<Node *>(link);
    const bool correlated = contain_vars_of_level(link->subselect, 1);
    if (correlated && outer_nulls != 0)
        exists = join_exists(level, reinterpret_cast<const Query *>(link->subselect));
    if (exists == nullptr)
        return nullptr;
    Node *absent = reinterpret_cast<Node *>(makeBoolExpr(NOT_EXPR, list_make1(exists), -1));
    if (!correlated && outer_nulls == 0)
        arms = lappend(arms, test_null(all->pairs[0].outside, IS_NULL));
    return arms == NIL ? absent : reinterpret_cast<Node *>(makeBoolExpr(OR_EXPR, lappend(arms, absent), -1));
}

List *exclude_members(Level *level, Node *conjunct) {
    const SubLink *link = excluding_link(conjunct);
    Correlations all{};
    if (link == nullptr)
        return NIL;
    const Query *sub = reinterpret_cast<const Query *>(link->subselect);
    if (!read_members(level, link, &all) || !conditions_are_plain(sub)) {
        refuse("NOT IN by more than equalities of plain columns, or with a condition that could raise an error");
        return NIL;
    }
    unsigned inside = 0, outside = 0;
    int nullable = 0;
    for (int i = 0; i < all.count; ++i) {
        inside |= is_not_null(sub, all.pairs[i].inside) ? 0 : 1u << i;
        outside |= is_not_null(level->query, all.pairs[i].outside) ? 0 : 1u << i;
        if ((has(inside, i) && !is_null_testable(sub, all.pairs[i].inside)) ||
            (has(outside, i) && !is_null_testable(level->query, all.pairs[i].outside))) {
            refuse("NOT IN of a column that NOT NULL is declared of since the snapshot was taken");
            return NIL;
        }
        nullable += (has(inside, i) ? 1 : 0) + (has(outside, i) ? 1 : 0);
    }
    if (all.count > 1 && nullable > max_nullable_of_several) {
        refuse_with("write NOT IN as NOT EXISTS, or declare the columns NOT NULL",
                    "NOT IN of several columns that may be NULL");
        return NIL;
    }
    List *conjuncts = NIL;
    for (unsigned outer_nulls = outside;; outer_nulls = (outer_nulls - 1) & outside) { // joins that may fail first
        const unsigned free = inside & ~outer_nulls;
        for (unsigned inner_nulls = free;; inner_nulls = (inner_nulls - 1) & free) {
            Node *part = exclude(level, sub, &all, inner_nulls, outer_nulls);
            if (part == nullptr)
                return NIL;
            conjuncts = lcons(part, conjuncts);
            if (inner_nulls == 0)
                break;
        }
        if (outer_nulls == 0)
            break;
    }
    level->changed = true;
    return conjuncts;
}

} // namespace gpuscan
