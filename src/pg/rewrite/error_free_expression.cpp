// Which expressions cannot raise an error?
//
// What is not known to be free of errors may raise one (pg/catalog/error_free.h). Arithmetic of numerics is free of them, because
// numeric(p,s) is bounded and the type itself holds 131,072 digits before the point: nothing that people write gets from one to the other,
// and an expression whose digits could add up to more than a hundredth of it counts as one that may raise.
#include "pg/pg.h"

#include "pg/rewrite/error_free_expression.h"

#include <algorithm>

#include "pg/attempt.h"
#include "pg/catalog/error_free.h"
#include "pg/catalog/sql_type.h"

namespace gpuscan {

constexpr int max_digits = 1000;
constexpr int digits_of_count = 19; // a sum of 10^19 rows has so many digits more than its terms

// ---- numerics ----

static bool constant_bounds(const Const *constant, NumericBounds *bounds) {
    *bounds = NumericBounds{1, 0, false};
    if (constant->constisnull)
        return true;
    if (constant->consttype != NUMERICOID)
        return false;
    const char *text = DatumGetCString(DirectFunctionCall1(numeric_out, constant->constvalue));
    const char *point = strchr(text, '.');
    if (strspn(text, "-0123456789.") != strlen(text)) // NaN, Infinity
        return false;
    *bounds =
        NumericBounds{static_cast<int>(strlen(text)), point != nullptr ? static_cast<int>(strlen(point + 1)) : 0, true};
    return true;
}

static bool quotient_bounds(NumericBounds *bounds) {
    bounds->digits += max_digits / 10;
    bounds->scale += max_digits / 10;
    bounds->exact_scale = false;
    return bounds->digits <= max_digits;
}

// One of several values.
static bool choice_bounds(const Query *query, const List *values, NumericBounds *bounds) {
    *bounds = NumericBounds{1, 0, true};
    bool any = false;
    ListCell *cell;
    foreach (cell, values) {
        NumericBounds one;
        Node *value = static_cast<Node *>(lfirst(cell));
        if (value == nullptr || (IsA(value, Const) && reinterpret_cast<const Const *>(value)->constisnull))
            continue;
        if (!numeric_bounds(query, value, &one))
            return false;
        const int before = std::max(bounds->digits - bounds->scale, one.digits - one.scale);
        bounds->exact_scale &= one.exact_scale && (!any || one.scale == bounds->scale);
        bounds->scale = std::max(bounds->scale, one.scale);
        bounds->digits = before + bounds->scale;
        any = true;
    }
    return bounds->digits <= max_digits;
}

static bool is_constant_other_than_zero(const Node *node) {
    const Const *constant = reinterpret_cast<const Const *>(node);
    return IsA(node, Const) && !constant->constisnull && constant->consttype == NUMERICOID &&
           DatumGetBool(DirectFunctionCall2(numeric_ne, constant->constvalue,
                                            DirectFunctionCall1(int4_numeric, Int32GetDatum(0))));
}

// round(x, decimals) and trunc(x, decimals)
static bool rounded_bounds(const Const *decimals, NumericBounds *bounds) {
    if (!IsA(decimals, Const) || decimals->constisnull || bounds->scale > bounds->digits)
        return false;
    const int wanted = DatumGetInt32(decimals->constvalue);
    if (wanted > max_digits)
        return false;
    const int scale = std::max(wanted, 0);
    *bounds = NumericBounds{bounds->digits - bounds->scale + 1 + scale, scale, true};
    return bounds->digits <= max_digits;
}

static bool operation_bounds(const Query *query, Oid funcid, List *args, NumericBounds *bounds) {
    NumericBounds a, b;
    switch (funcid) {
    case F_NUMERIC_INT2:
    case F_NUMERIC_INT4:
    case F_NUMERIC_INT8:
        *bounds = NumericBounds{digits_of_count, 0, true};
        return true;
    case F_NUMERIC_UMINUS:
    case F_NUMERIC_UPLUS:
    case F_NUMERIC_ABS:
    case F_ABS_NUMERIC:
        return numeric_bounds(query, static_cast<Node *>(linitial(args)), bounds);
    case F_ROUND_NUMERIC_INT4:
    case F_TRUNC_NUMERIC_INT4:
        return numeric_bounds(query, static_cast<Node *>(linitial(args)), bounds) &&
               rounded_bounds(static_cast<const Const *>(lsecond(args)), bounds);
    case F_NUMERIC_ADD:
    case F_NUMERIC_SUB:
    case F_NUMERIC_MUL:
        break;
    case F_NUMERIC_DIV:
        if (!is_constant_other_than_zero(static_cast<const Node *>(lsecond(args))))
            return false;
        break;
    default:
        return false;
    }
    if (!numeric_bounds(query, static_cast<Node *>(linitial(args)), &a) ||
        !numeric_bounds(query, static_cast<Node *>(lsecond(args)), &b))
        return false;
    if (funcid == F_NUMERIC_DIV) { // by no less than one in its last place
        *bounds = NumericBounds{a.digits + b.digits, a.scale, false};
        return quotient_bounds(bounds);
    }
    bounds->exact_scale = a.exact_scale && b.exact_scale;
    if (funcid == F_NUMERIC_MUL) {
        bounds->scale = a.scale + b.scale;
        bounds->digits = a.digits + b.digits;
    } else {
        bounds->scale = a.scale > b.scale ? a.scale : b.scale;
        int before = a.digits - a.scale > b.digits - b.scale ? a.digits - a.scale : b.digits - b.scale;
        bounds->digits = before + bounds->scale + 1;
    }
    return bounds->digits <= max_digits;
}

static bool aggregate_bounds(const Query *query, const Aggref *aggref, NumericBounds *bounds) {
    if (list_length(aggref->args) != 1)
        return false;
    Node *arg = reinterpret_cast<Node *>(static_cast<TargetEntry *>(linitial(aggref->args))->expr);
    switch (aggref->aggfnoid) {
    case F_SUM_INT8:
    case F_AVG_INT2:
    case F_AVG_INT4:
    case F_AVG_INT8:
        *bounds = NumericBounds{2 * digits_of_count, 0, true};
        break;
    case F_SUM_NUMERIC:
    case F_AVG_NUMERIC:
        if (!numeric_bounds(query, arg, bounds))
            return false;
        bounds->digits += digits_of_count;
        break;
    case F_MIN_NUMERIC:
    case F_MAX_NUMERIC:
        return numeric_bounds(query, arg, bounds);
    default:
        return false;
    }
    if (aggref->aggfnoid != F_SUM_NUMERIC && aggref->aggfnoid != F_SUM_INT8)
        return quotient_bounds(bounds);
    return bounds->digits <= max_digits;
}

static List *case_values(const CaseExpr *expr) {
    List *values = list_make1(expr->defresult);
    ListCell *cell;
    foreach (cell, expr->args)
        values = lappend(values, lfirst_node(CaseWhen, cell)->result);
    return values;
}

// What a column stands for in the query below that computes it (`*query` becomes that one); NULL: a table's own column, or not to be told.
static Node *computed(const Query **query, const Var *var) {
    if (var->varlevelsup != 0 || var->varattno <= 0)
        return nullptr;
    const RangeTblEntry *rte = rt_fetch(var->varno, (*query)->rtable);
    if (rte->rtekind == RTE_JOIN && var->varattno <= list_length(rte->joinaliasvars))
        return static_cast<Node *>(list_nth(rte->joinaliasvars, var->varattno - 1));
    if (rte->rtekind == RTE_SUBQUERY && rte->subquery->setOperations == nullptr &&
        var->varattno <= list_length(rte->subquery->targetList)) {
        *query = rte->subquery;
        return reinterpret_cast<Node *>(
            static_cast<const TargetEntry *>(list_nth(rte->subquery->targetList, var->varattno - 1))->expr);
    }
    return group_key_of(rte, var->varattno);
}

static bool column_bounds(const Query *query, const Var *var, NumericBounds *bounds) {
    int precision, scale;
    if (!numeric_typmod(var->vartypmod, &precision, &scale)) {
        const Node *below = query != nullptr ? computed(&query, var) : nullptr;
        Node *value = below != nullptr ? folded(below) : nullptr;
        return value != nullptr && numeric_bounds(query, value, bounds);
    }
    *bounds = NumericBounds{precision > scale ? precision : scale, scale, true};
    return scale >= 0;
}

// A parameter that says how long its values are, as one in place of a subquery does.
static bool parameter_bounds(const Param *param, NumericBounds *bounds) {
    int precision, scale;
    if (!numeric_typmod(param->paramtypmod, &precision, &scale) || scale < 0)
        return false;
    *bounds = NumericBounds{precision > scale ? precision : scale, scale, false};
    return true;
}

bool numeric_bounds(const Query *query, Node *node, NumericBounds *bounds) {
    if (exprType(node) != NUMERICOID)
        return false;
    switch (nodeTag(node)) {
    case T_Const:
        return constant_bounds(reinterpret_cast<const Const *>(node), bounds);
    case T_Var:
        return column_bounds(query, reinterpret_cast<const Var *>(node), bounds);
    case T_Param:
        return parameter_bounds(reinterpret_cast<const Param *>(node), bounds);
    case T_RelabelType:
        return numeric_bounds(query, reinterpret_cast<Node *>(reinterpret_cast<RelabelType *>(node)->arg), bounds);
    case T_OpExpr: {
        const OpExpr *expr = reinterpret_cast<const OpExpr *>(node);
        return operation_bounds(query, OidIsValid(expr->opfuncid) ? expr->opfuncid : get_opcode(expr->opno), expr->args,
                                bounds);
    }
    case T_FuncExpr:
        return operation_bounds(query, reinterpret_cast<const FuncExpr *>(node)->funcid,
                                reinterpret_cast<const FuncExpr *>(node)->args, bounds);
    case T_CoalesceExpr:
        return choice_bounds(query, reinterpret_cast<const CoalesceExpr *>(node)->args, bounds);
    case T_CaseExpr:
        return choice_bounds(query, case_values(reinterpret_cast<const CaseExpr *>(node)), bounds);
    case T_Aggref:
        return aggregate_bounds(query, reinterpret_cast<const Aggref *>(node), bounds);
    default:
        return false;
    }
}

// ---- everything else ----

// A column of a plain table, not one that is computed when it is read; or what is computed below without an error.
static bool is_error_free_column(const Query *query, const Var *var) {
    const Query *below = query;
    Node *value = computed(&below, var);
    if (value != nullptr)
        return is_error_free(below, value, true);
    if (var->varlevelsup != 0 || var->varattno <= 0)
        return false;
    const RangeTblEntry *rte = rt_fetch(var->varno, query->rtable);
    return rte->rtekind == RTE_RELATION && get_attgenerated(rte->relid, var->varattno) != generated_when_read;
}

// Is a type's order just computed? Texts need to know by which collation; what people define, a row among others, may have
// fields without one.
static bool is_ordered(Oid type, Oid collation) {
    Oid base = getBaseType(type), element = get_element_type(base);
    if (OidIsValid(element))
        base = getBaseType(element);
    SqlKind kind = sql_kind(base);
    if (kind == SqlKind::None || (is_text_kind(kind) && !OidIsValid(collation)))
        return false;
    // (Arrays are compared by their elements' default classes, which may be users'.)
    const TypeCacheEntry *defaults = lookup_type_cache(base, TYPECACHE_EQ_OPR | TYPECACHE_CMP_PROC);
    if (defaults->eq_opr >= FirstNormalObjectId || defaults->cmp_proc >= FirstNormalObjectId)
        return false;
    return kind == SqlKind::Enum || (base < FirstNormalObjectId && !type_is_rowtype(base));
}

// Comparisons of the B-tree kind.
static bool is_comparison(Oid opno, List *args, Oid collation) {
    if (opno >= FirstNormalObjectId)
        return false;
    ListCell *cell;
    foreach (cell, args)
        if (!is_ordered(exprType(static_cast<Node *>(lfirst(cell))), collation))
            return false;
    return is_ordering_operator(opno);
}

bool is_error_free_comparison(const OpExpr *expr) { return is_comparison(expr->opno, expr->args, expr->inputcollid); }

bool is_error_free_comparison(const ScalarArrayOpExpr *expr) {
    return is_comparison(expr->opno, expr->args, expr->inputcollid);
}

// (Sums of numerics only of bounded ones.)
static bool is_known_aggregate(Oid aggregate) {
    switch (aggregate) {
    case F_SUM_NUMERIC:
    case F_AVG_NUMERIC:
    case F_COUNT_:
    case F_COUNT_ANY:
    case F_SUM_INT2:
    case F_SUM_INT4:
    case F_SUM_INT8:
    case F_AVG_INT2:
    case F_AVG_INT4:
    case F_AVG_INT8:
    case F_MIN_INT2:
    case F_MIN_INT4:
    case F_MIN_INT8:
    case F_MIN_FLOAT4:
    case F_MIN_FLOAT8:
    case F_MIN_NUMERIC:
    case F_MIN_DATE:
    case F_MIN_TIMESTAMP:
    case F_MIN_TIMESTAMPTZ:
    case F_MIN_TEXT:
    case F_MIN_BPCHAR:
    case F_MAX_INT2:
    case F_MAX_INT4:
    case F_MAX_INT8:
    case F_MAX_FLOAT4:
    case F_MAX_FLOAT8:
    case F_MAX_NUMERIC:
    case F_MAX_DATE:
    case F_MAX_TIMESTAMP:
    case F_MAX_TIMESTAMPTZ:
    case F_MAX_TEXT:
    case F_MAX_BPCHAR:
    case F_BOOL_AND:
    case F_BOOL_OR:
    case F_EVERY:
        return true;
    default:
        return false;
    }
}

struct ErrorWalk {
    const Query *query; // NULL: the expression is a node's of a finished plan
    bool aggregates;
};

// Adds up what others have begun, whose arguments are looked at below.
static bool combines(const Aggref *aggref) {
    return DO_AGGSPLIT_COMBINE(aggref->aggsplit) && is_known_aggregate(aggref->aggfnoid);
}

static bool may_raise(Node *node, void *context) {
    if (node == nullptr)
        return false;
    const ErrorWalk *walk = static_cast<const ErrorWalk *>(context);
    NumericBounds bounds;
    switch (nodeTag(node)) {
    case T_Var:
        return walk->query != nullptr && !is_error_free_column(walk->query, reinterpret_cast<const Var *>(node));
    case T_Aggref:
        if (walk->query == nullptr && combines(reinterpret_cast<const Aggref *>(node)))
            return false;
        return !walk->aggregates || !is_error_free_aggregate(walk->query, reinterpret_cast<const Aggref *>(node));
    case T_TargetEntry: // of a plan
        break;
    case T_DistinctExpr:
    case T_NullIfExpr:
    case T_OpExpr: { // one struct
        OpExpr *expr = reinterpret_cast<OpExpr *>(node);
        Oid function = OidIsValid(expr->opfuncid) ? expr->opfuncid : get_opcode(expr->opno);
        if (!is_comparison(expr->opno, expr->args, expr->inputcollid) &&
            !(IsA(node, OpExpr) && (is_error_free_function(function, expr->args, expr->inputcollid) ||
                                    numeric_bounds(walk->query, node, &bounds))))
            return true;
        break;
    }
    case T_ScalarArrayOpExpr: {
        ScalarArrayOpExpr *expr = reinterpret_cast<ScalarArrayOpExpr *>(node);
        if (!is_comparison(expr->opno, expr->args, expr->inputcollid) || !IsA(lsecond(expr->args), Const))
            return true;
        break;
    }
    case T_FuncExpr: {
        const FuncExpr *expr = reinterpret_cast<const FuncExpr *>(node);
        if (!is_error_free_function(expr->funcid, expr->args, expr->inputcollid) &&
            !numeric_bounds(walk->query, node, &bounds))
            return true;
        break;
    }
    case T_CoerceViaIO: {
        const CoerceViaIO *cast = reinterpret_cast<const CoerceViaIO *>(node);
        if ((cast->resulttype != TEXTOID && cast->resulttype != VARCHAROID) ||
            !is_error_free_as_text(exprType(reinterpret_cast<const Node *>(cast->arg))))
            return true;
        break;
    }
    case T_MinMaxExpr:
        if (!is_ordered(exprType(node), reinterpret_cast<const MinMaxExpr *>(node)->inputcollid))
            return true;
        break;
    case T_Const:
    case T_CaseExpr:
    case T_CaseWhen:
    case T_CaseTestExpr:
    case T_CoalesceExpr:
    case T_List:
    case T_RelabelType:
    case T_BoolExpr:
    case T_NullTest:
    case T_BooleanTest:
        break;
    case T_Param:
        if (reinterpret_cast<const Param *>(node)->paramkind != PARAM_EXTERN &&
            reinterpret_cast<const Param *>(node)->paramkind != PARAM_SUBLINK &&
            (walk->query != nullptr || reinterpret_cast<const Param *>(node)->paramkind != PARAM_EXEC))
            return true;
        break;
    default:
        return true;
    }
    return walk_expression(node, may_raise, context);
}

static void fold(void *node) {
    Node **expression = static_cast<Node **>(node);
    *expression = eval_const_expressions(nullptr, *expression);
}

Node *folded(const Node *node) {
    Node *result = static_cast<Node *>(copyObject(const_cast<Node *>(node)));
    return !IsParallelWorker() && attempt(fold, &result, nullptr) == Attempt::Done ? result : nullptr;
}

bool is_error_free(const Query *query, Node *node, bool aggregates) {
    ErrorWalk walk{query, aggregates};
    if (node == nullptr || !may_raise(node, &walk))
        return true;
    // Folding is what the planner does first; what it cannot fold stays as it is.
    Node *rest = folded(node);
    return rest != nullptr && !may_raise(rest, &walk);
}

bool is_error_free_in_plan(Node *node) {
    ErrorWalk walk{nullptr, true};
    return node == nullptr || !may_raise(node, &walk);
}

// ---- aggregates ----

bool is_count(const Aggref *aggref) { return aggref->aggfnoid == F_COUNT_ || aggref->aggfnoid == F_COUNT_ANY; }

bool is_error_free_aggregate(const Query *query, const Aggref *aggref) {
    NumericBounds bounds;
    if (aggref->agglevelsup != 0 || aggref->aggorder != NIL || aggref->aggdirectargs != NIL)
        return false;
    if (!is_known_aggregate(aggref->aggfnoid) ||
        ((aggref->aggfnoid == F_SUM_NUMERIC || aggref->aggfnoid == F_AVG_NUMERIC) &&
         !aggregate_bounds(query, aggref, &bounds)))
        return false;
    ErrorWalk inside{query, false};
    ListCell *cell;
    foreach (cell, aggref->args) {
        Node *argument = reinterpret_cast<Node *>(static_cast<const TargetEntry *>(lfirst(cell))->expr);
        if (may_raise(argument, &inside) ||
            (type_is_collatable(exprType(argument)) && !OidIsValid(aggref->inputcollid)))
            return false;
    }
    return !may_raise(reinterpret_cast<Node *>(aggref->aggfilter), &inside);
}

} // namespace gpuscan
