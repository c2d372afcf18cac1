// A correlated sum or average of plain numerics as a join, although it might overflow.
//
// A numeric without precision may be as large as the type allows, so a sum of a few may be an error; and PostgreSQL raises it for the rows
// alone whose subquery it evaluates. So the grouped subquery (decorrelate.cpp) adds up no value beyond +-10^15, NaN and the infinities
// among them, and says of each group whether there was one. Where there was, the row's subquery is evaluated as it was written:
//
//   e((SELECT f(sum(a)) FROM s WHERE s.k = x AND p))
//       -> e(CASE WHEN o THEN (SELECT f(sum(a)) ...) ELSE v END)
//          over ... LEFT JOIN (SELECT k, f(sum(CASE WHEN b THEN NULL ELSE a END)) v, bool_or(b) o FROM s WHERE p GROUP BY k) ON k = x
//          with b = a < -10^15 OR a > 10^15
//
// For a device the arm is a row error (translate_conditional.cpp), so a fragment with such a row falls back, and PostgreSQL's plan evaluates
// the arm.
//
// That must happen for the very rows for which PostgreSQL would have evaluated the subquery: those of one table that pass all the other
// conditions, which it tests first because they cost less. So nothing but this level makes the statement's rows (a level above may group,
// order or filter them), it reads one table, has no LIMIT and no other subquery in WHERE, and the other conditions are cheap and cannot raise
// an error.
#include "pg/pg.h"

#include "pg/compat.h"
#include "pg/rewrite/decorrelate_parts.h"
#include "pg/rewrite/error_free_expression.h"
#include "pg/rewrite/group_columns.h"
#include "pg/translate/translate.h"

namespace gpuscan {

// Larger than most that people write, and so small that a device holds values beyond it, too: it finds out that they are there.
constexpr char bound_of_values[] = "1000000000000000";
// A sum of 10^19 bounded values has 34 digits before the point. Those behind it raise no error, however many there are, so any number
// will do.
constexpr int digits_of_sums = 60, scale_of_sums = 20;
constexpr double few_operators = 10; // that the other conditions call: a subquery costs more than that

// ---- the values ----

static Const *numeric_constant(const char *text) {
    const Datum value =
        DirectFunctionCall3(numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
    return makeConst(NUMERICOID, -1, InvalidOid, -1, value, false, false);
}

static Expr *copied(const Expr *expr) { return static_cast<Expr *>(copyObject(const_cast<Expr *>(expr))); }

static Expr *is_beyond(const Expr *value) {
    const TypeCacheEntry *operators = lookup_type_cache(NUMERICOID, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
    Expr *below = make_opclause(operators->lt_opr, BOOLOID, false, copied(value),
                                reinterpret_cast<Expr *>(numeric_constant(psprintf("-%s", bound_of_values))),
                                InvalidOid, InvalidOid);
    Expr *above = make_opclause(operators->gt_opr, BOOLOID, false, copied(value),
                                reinterpret_cast<Expr *>(numeric_constant(bound_of_values)), InvalidOid, InvalidOid);
    return makeBoolExpr(OR_EXPR, list_make2(below, above), -1);
}

static CaseExpr *choice(Expr *condition, Expr *result, Expr *otherwise) {
    CaseWhen *when = makeNode(CaseWhen);
    when->expr = condition;
    when->result = result;
    when->location = -1;
    CaseExpr *expr = makeNode(CaseExpr);
    expr->casetype = exprType(reinterpret_cast<Node *>(otherwise));
    expr->casecollid = exprCollation(reinterpret_cast<Node *>(otherwise));
    expr->args = list_make1(when);
    expr->defresult = otherwise;
    expr->location = -1;
    return expr;
}

static Aggref *any_of(Expr *condition, const Aggref *like) {
    Aggref *any = make_aggregate(F_BOOL_OR, BOOLOID, InvalidOid, condition);
    any->aggfilter = copied(like->aggfilter);
    return any;
}

// Over an argument that cannot raise an error.
static bool may_overflow_only(const Query *sub, const Aggref *aggref) {
    if ((aggref->aggfnoid != F_SUM_NUMERIC && aggref->aggfnoid != F_AVG_NUMERIC) || aggref->agglevelsup != 0 ||
        aggref->aggorder != NIL || aggref->aggdistinct != NIL)
        return false;
    Node *value = reinterpret_cast<Node *>(linitial_node(TargetEntry, aggref->args)->expr);
    return is_error_free(sub, value) && is_error_free(sub, reinterpret_cast<Node *>(aggref->aggfilter));
}

struct Guarding {
    const Query *sub;  // as it is to be looked at
    List *any_beyond;  // of Aggref *
    bool with_bounded; // put the sums of bounded values in place; else what is known of them
};

static Node *guard_sums(Node *node, void *context) {
    Guarding *guarding = static_cast<Guarding *>(context);
    if (node == nullptr)
        return nullptr;
    const Aggref *aggref = reinterpret_cast<const Aggref *>(node);
    if (!IsA(node, Aggref) || is_error_free_aggregate(guarding->sub, aggref) ||
        !may_overflow_only(guarding->sub, aggref))
        return mutate_expression(node, guard_sums, context);
    if (!guarding->with_bounded) {
        Param *param = makeNode(Param);
        param->paramkind = PARAM_EXTERN;
        param->paramtype = NUMERICOID;
        param->paramtypmod = numeric_typmod_of(digits_of_sums, scale_of_sums);
        param->location = -1;
        return reinterpret_cast<Node *>(param);
    }
    Aggref *bounded = static_cast<Aggref *>(copyObject(const_cast<Aggref *>(aggref)));
    TargetEntry *argument = linitial_node(TargetEntry, bounded->args);
    Expr *beyond = is_beyond(argument->expr);
    Const *null = makeNullConst(NUMERICOID, -1, InvalidOid);
    guarding->any_beyond = lappend(guarding->any_beyond, any_of(copied(beyond), aggref));
    argument->expr = reinterpret_cast<Expr *>(choice(beyond, reinterpret_cast<Expr *>(null), argument->expr));
    return reinterpret_cast<Node *>(bounded);
}

// PostgreSQL's plan calls functions then that the user has not written.
static bool may_compare_and_choose() {
    for (const Oid function : {F_BOOL_OR, F_NUMERIC_LT, F_NUMERIC_GT})
        if (function_aclcheck(function, GetUserId()) != ACLCHECK_OK)
            return false;
    return true;
}

bool guarded_bounds(const Query *sub, const Node *value, NumericBounds *bounds) {
    if (exprType(value) != NUMERICOID || is_error_free(sub, const_cast<Node *>(value), true))
        return false;
    Guarding guarding{sub, NIL, false};
    Node *rest = guard_sums(static_cast<Node *>(copyObject(const_cast<Node *>(value))), &guarding);
    Node *known = is_error_free(sub, rest, true) ? folded(rest) : nullptr;
    return known != nullptr && numeric_bounds(sub, known, bounds) && may_compare_and_choose();
}

Node *guarded_value(const Query *sub, const Node *value, Node **any_beyond) {
    NumericBounds bounds;
    if (!guarded_bounds(sub, value, &bounds))
        return nullptr;
    Guarding guarding{sub, NIL, true};
    Node *bounded = guard_sums(static_cast<Node *>(copyObject(const_cast<Node *>(value))), &guarding);
    *any_beyond = list_length(guarding.any_beyond) == 1
                      ? static_cast<Node *>(linitial(guarding.any_beyond))
                      : reinterpret_cast<Node *>(makeBoolExpr(OR_EXPR, guarding.any_beyond, -1));
    return bounded;
}

Node *choose_guarded(Node *any_beyond, const SubLink *link, Node *value) {
    CaseExpr *expr = choice(reinterpret_cast<Expr *>(any_beyond), copied(reinterpret_cast<const Expr *>(link)),
                            reinterpret_cast<Expr *>(value));
    expr->location = location_of_guard;
    return reinterpret_cast<Node *>(expr);
}

// ---- the level ----

static bool count_subqueries(Node *node, void *count) {
    if (node == nullptr)
        return false;
    *static_cast<int *>(count) += IsA(node, SubLink);
    return walk_expression(node, count_subqueries, count);
}

// What the query reads, if that is one thing; else NULL.
static const RangeTblEntry *only_source(const Query *query) {
    const List *from = query->jointree->fromlist;
    return list_length(from) == 1 && IsA(linitial(from), RangeTblRef) && query->setOperations == nullptr &&
                   query->limitCount == nullptr && query->limitOffset == nullptr
               ? rt_fetch(linitial_node(RangeTblRef, from)->rtindex, query->rtable)
               : nullptr;
}

const Query *level_of_rows(const Query *query) {
    for (;;) {
        const RangeTblEntry *source = only_source(query);
        if (source == nullptr || source->rtekind != RTE_SUBQUERY || query->hasSubLinks ||
            source->subquery->hasWindowFuncs) // whose rows may be wanted up to a number
            return query;
        query = source->subquery;
    }
}

static bool others_are_cheap(const List *conjuncts) {
    double cost = 0;
    ListCell *cell;
    foreach (cell, conjuncts) {
        if (checkExprHasSubLink(static_cast<Node *>(lfirst(cell))))
            continue;
        QualCost own;
        cost_qual_eval_node(&own, static_cast<Node *>(lfirst(cell)), nullptr);
        cost += own.per_tuple;
    }
    return cost <= few_operators * cpu_operator_cost;
}

bool may_guard(const Level *level) {
    int subqueries = 0;
    count_subqueries(level->query->jointree->quals, &subqueries);
    const RangeTblEntry *source = only_source(level->query);
    return level->makes_rows && subqueries == 1 && source != nullptr && source->rtekind == RTE_RELATION &&
           others_are_cheap(level->conjuncts);
}

} // namespace gpuscan
