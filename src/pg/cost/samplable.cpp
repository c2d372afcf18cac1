// See samplable.h. The list is positive: of texts what may be evaluated for whole dictionaries (translate/lookup.cpp), comparisons, arithmetic of
// numerics that are bounded (rewrite/harmless.cpp), and below what else takes no longer than a comparison. Stable functions are among
// them, as PostgreSQL evaluates these for its own estimates, too (estimate_expression_value).
#include "pg/pg.h"

#include "pg/cost/samplable.h"

#include "pg/catalog/constant_argument.h"
#include "pg/rewrite/harmless.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

struct Search {
    const Var *column;
    int cases; // around the node, with an argument
};

bool finds_unsamplable(Node *node, void *context);

bool is_quick(Oid function) {
    switch (function) {
    case F_ABS_FLOAT8:
    case F_ABS_INT2:
    case F_ABS_INT4:
    case F_ABS_INT8:
    case F_ABS_NUMERIC:
    case F_CEILING_FLOAT8:
    case F_CEILING_NUMERIC:
    case F_CEIL_FLOAT8:
    case F_CEIL_NUMERIC:
    case F_DATE_MI:
    case F_DATE_MII:
    case F_DATE_MI_INTERVAL:
    case F_DATE_PART_TEXT_DATE:
    case F_DATE_PART_TEXT_TIME:
    case F_DATE_PART_TEXT_TIMESTAMP:
    case F_DATE_PART_TEXT_TIMESTAMPTZ:
    case F_DATE_PLI:
    case F_DATE_PL_INTERVAL:
    case F_DATE_TIMESTAMP:
    case F_DATE_TIMESTAMPTZ:
    case F_DATE_TRUNC_TEXT_TIMESTAMP:
    case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
    case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
    case F_EXTRACT_TEXT_DATE:
    case F_EXTRACT_TEXT_TIME:
    case F_EXTRACT_TEXT_TIMESTAMP:
    case F_EXTRACT_TEXT_TIMESTAMPTZ:
    case F_FLOAT8_FLOAT4:
    case F_FLOAT8_INT2:
    case F_FLOAT8_INT4:
    case F_FLOAT8_INT8:
    case F_FLOOR_FLOAT8:
    case F_FLOOR_NUMERIC:
    case F_INT24MI:
    case F_INT24MUL:
    case F_INT24PL:
    case F_INT28MI:
    case F_INT28MUL:
    case F_INT28PL:
    case F_INT2AND:
    case F_INT2MI:
    case F_INT2MUL:
    case F_INT2OR:
    case F_INT2PL:
    case F_INT2UM:
    case F_INT42MI:
    case F_INT42MUL:
    case F_INT42PL:
    case F_INT48MI:
    case F_INT48MUL:
    case F_INT48PL:
    case F_INT4AND:
    case F_INT4MI:
    case F_INT4MUL:
    case F_INT4OR:
    case F_INT4PL:
    case F_INT4UM:
    case F_INT4_INT2:
    case F_INT82MI:
    case F_INT82MUL:
    case F_INT82PL:
    case F_INT84MI:
    case F_INT84MUL:
    case F_INT84PL:
    case F_INT8AND:
    case F_INT8MI:
    case F_INT8MUL:
    case F_INT8OR:
    case F_INT8PL:
    case F_INT8UM:
    case F_INT8_INT2:
    case F_INT8_INT4:
    case F_NOW:
    case F_NUMERIC_INT2:
    case F_NUMERIC_INT4:
    case F_NUMERIC_INT8:
    case F_ROUND_FLOAT8:
    case F_ROUND_NUMERIC:
    case F_TIMESTAMPTZ_DATE:
    case F_TIMESTAMPTZ_MI:
    case F_TIMESTAMPTZ_MI_INTERVAL:
    case F_TIMESTAMPTZ_PL_INTERVAL:
    case F_TIMESTAMPTZ_TIMESTAMP:
    case F_TIMESTAMP_DATE:
    case F_TIMESTAMP_MI:
    case F_TIMESTAMP_MI_INTERVAL:
    case F_TIMESTAMP_PL_INTERVAL:
    case F_TIMESTAMP_TIMESTAMPTZ:
    case F_TIMEZONE_TEXT_TIMESTAMP:
    case F_TIMEZONE_TEXT_TIMESTAMPTZ:
    case F_TRUNC_FLOAT8:
    case F_TRUNC_NUMERIC:
        return true;
    default:
        return false;
    }
}

bool is_quotient(Oid function) {
    switch (function) {
    case F_INT24DIV:
    case F_INT28DIV:
    case F_INT2DIV:
    case F_INT2MOD:
    case F_INT42DIV:
    case F_INT48DIV:
    case F_INT4DIV:
    case F_INT4MOD:
    case F_INT82DIV:
    case F_INT84DIV:
    case F_INT8DIV:
    case F_INT8MOD:
    case F_MOD_INT2_INT2:
    case F_MOD_INT4_INT4:
    case F_MOD_INT8_INT8:
        return true;
    default:
        return false;
    }
}

bool is_samplable_call(Oid function, Oid collation, List *arguments) {
    if (is_quick(function))
        return true;
    int64 divisor;
    if (is_quotient(function))
        return integer_argument(arguments, 1, &divisor) && divisor != 0;
    return is_dictionary_function(function, collation, arguments);
}

bool is_another_column(Search *search, const Var *column) {
    if (column->varlevelsup != 0 || column->varattno <= 0)
        return true;
    if (search->column == nullptr)
        search->column = column;
    return column->varno != search->column->varno || column->varattno != search->column->varattno;
}

bool is_samplable_operator(OpExpr *op) {
    NumericBounds bounds;
    set_opfuncid(op);
    return is_harmless_comparison(op) || is_samplable_call(op->opfuncid, op->inputcollid, op->args) ||
           (IsA(op, OpExpr) && numeric_bounds(reinterpret_cast<Node *>(op), &bounds));
}

// The arms of CASE x WHEN ... compare with what stands for x.
bool finds_unsamplable_case(const CaseExpr *expr, Search *search) {
    if (finds_unsamplable(reinterpret_cast<Node *>(expr->arg), search))
        return true;
    search->cases += expr->arg != nullptr ? 1 : 0;
    const bool found = finds_unsamplable(reinterpret_cast<Node *>(expr->args), search) ||
                       finds_unsamplable(reinterpret_cast<Node *>(expr->defresult), search);
    search->cases -= expr->arg != nullptr ? 1 : 0;
    return found;
}

bool finds_unsamplable(Node *node, void *context) {
    Search *search = static_cast<Search *>(context);
    NumericBounds bounds;
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_Var:
        return is_another_column(search, reinterpret_cast<const Var *>(node));
    case T_FuncExpr: {
        const FuncExpr *call = reinterpret_cast<const FuncExpr *>(node);
        if (call->funcretset ||
            (!is_samplable_call(call->funcid, call->inputcollid, call->args) && !numeric_bounds(node, &bounds)))
            return true;
        break;
    }
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr: // one struct
        // (Arguments first: what operators are stands in catalogs.)
        return walk_expression(node, finds_unsamplable, context) ||
               !is_samplable_operator(reinterpret_cast<OpExpr *>(node));
    case T_ScalarArrayOpExpr: {
        const ScalarArrayOpExpr *op = reinterpret_cast<const ScalarArrayOpExpr *>(node);
        return !IsA(lsecond(op->args), Const) || walk_expression(node, finds_unsamplable, context) ||
               !is_harmless_comparison(op);
    }
    case T_CaseExpr:
        return finds_unsamplable_case(reinterpret_cast<const CaseExpr *>(node), search);
    case T_CaseTestExpr:
        return search->cases == 0;
    case T_NullTest:
        if (reinterpret_cast<const NullTest *>(node)->argisrow)
            return true;
        break;
    case T_CaseWhen: {
        const CaseWhen *arm = reinterpret_cast<const CaseWhen *>(node);
        return finds_unsamplable(reinterpret_cast<Node *>(arm->expr), search) ||
               finds_unsamplable(reinterpret_cast<Node *>(arm->result), search);
    }
    case T_SQLValueFunction:
        return reinterpret_cast<const SQLValueFunction *>(node)->op > SVFOP_LOCALTIMESTAMP_N; // no dates or times
    case T_Const:
    case T_List:
    case T_RelabelType:
    case T_BoolExpr:
    case T_BooleanTest:
    case T_CoalesceExpr:
        break;
    default:
        return true;
    }
    return walk_expression(node, finds_unsamplable, context);
}

} // namespace

const Var *samplable_column(Node *condition) {
    Search search{};
    return finds_unsamplable(condition, &search) ? nullptr : search.column;
}

} // namespace gpuscan
