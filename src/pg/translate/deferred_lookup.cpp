// Expressions over one dictionary column that may not be evaluated for every entry: user functions, casts that can fail,
// functions of jsonb, arrays, inet.
//
// They can raise errors, show their argument to somebody, or be handed bytes that never were a value of the type (a
// dictionary holds what invisible rows had, and pieces of pages that changed while they were read). So they are evaluated
// for those entries only that rows reach in this execution, when everything that stands before them has let the rows pass:
// the device tells which these are (engine/store/deferred_evaluation.hpp), and exec/deferred_evaluation.cpp evaluates. That is once per
// different value instead of once per row, which every function allows that is not volatile. What PostgreSQL's own functions make
// of an entry is kept for later executions if they depend on nothing but it and settings, which the key has (lookup_key.h). Other tables
// live for one: what such functions do may depend on tables or the clock, and an immutable function of a user's on whatever it likes.
//
// The largest expression over one column is taken, as soon as a part of it is nothing that the device or lookup.cpp knows.
// PostgreSQL evaluates all of it, in its own order, so nothing needs to be known of what is inside but that it reads that
// column, constants and parameters, and is not volatile.
#include "pg/pg.h"

#include "pg/refusal.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

struct DeferralWalk {
    const Var *column; // the one that is read
    bool has_params;
    bool needs; // something in it is not known to the device
    int case_depth;
    int coerce_depth; // of the elements of an array
};

// Columns that have a dictionary, and whose values a function may be handed.
bool has_entries(const Var *var) {
    switch (sql_kind(var->vartype)) {
    case SqlKind::Text:
    case SqlKind::Bpchar:
    case SqlKind::Bytes:
    case SqlKind::Opaque:
        return true;
    default: // among them numerics without a scale, which are seldom few
        return false;
    }
}

bool reads_opaque(List *args) {
    ListCell *cell;
    foreach (cell, args) {
        const Expr *arg = strip_relabels(static_cast<Expr *>(lfirst(cell)));
        if (IsA(arg, Var) && !is_text_kind(sql_kind(exprType(reinterpret_cast<const Node *>(arg)))))
            return true;
    }
    return false;
}

// (Equality of bytea, inet and their like is the device's own; everything else of a column that is no text is not.)
bool is_known(Oid funcid, Oid collation, List *args) {
    ir::Op op;
    if (is_dictionary_function(funcid, collation, args))
        return true;
    if (text_operator(funcid, &op))
        return is_sound_collation(collation);
    if (!is_device_function(funcid))
        return false;
    if (!reads_opaque(args))
        return true;
    ListCell *cell;
    foreach (cell, args)
        if (sql_kind(exprType(static_cast<Node *>(lfirst(cell)))) != SqlKind::Bytes)
            return false;
    return true;
}

bool cannot_be_deferred(Node *node, void *context);

void note_call(DeferralWalk *walk, Oid funcid, Oid collation, List *args) {
    walk->needs = walk->needs || !is_known(funcid, collation, args);
}

bool note_column(DeferralWalk *walk, const Var *var) {
    if (var->varlevelsup != 0 || var->varattno <= 0 || !has_entries(var))
        return false;
    if (walk->column != nullptr && (walk->column->varno != var->varno || walk->column->varattno != var->varattno))
        return false;
    walk->column = var;
    return true;
}

bool within_case(const CaseExpr *expr, DeferralWalk *walk) {
    if (cannot_be_deferred(reinterpret_cast<Node *>(expr->arg), walk))
        return true;
    const int deeper = expr->arg != nullptr ? 1 : 0;
    walk->case_depth += deeper;
    const bool cannot = cannot_be_deferred(reinterpret_cast<Node *>(expr->args), walk) ||
                        cannot_be_deferred(reinterpret_cast<Node *>(expr->defresult), walk);
    walk->case_depth -= deeper;
    return cannot;
}

// True as soon as something is found that may not be in such an expression.
bool cannot_be_deferred(Node *node, void *context) {
    DeferralWalk *walk = static_cast<DeferralWalk *>(context);
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_Var:
        return !note_column(walk, reinterpret_cast<const Var *>(node));
    case T_Param:
        walk->has_params = true;
        return reinterpret_cast<Param *>(node)->paramkind != PARAM_EXTERN &&
               reinterpret_cast<Param *>(node)->paramkind != PARAM_EXEC;
    case T_FuncExpr: {
        const FuncExpr *call = reinterpret_cast<const FuncExpr *>(node);
        if (call->funcretset)
            return true;
        note_call(walk, call->funcid, call->inputcollid, call->args);
        break;
    }
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr: {
        const OpExpr *call = reinterpret_cast<const OpExpr *>(node);
        if (call->opretset)
            return true;
        note_call(walk, OidIsValid(call->opfuncid) ? call->opfuncid : get_opcode(call->opno), call->inputcollid,
                  call->args);
        break;
    }
    case T_ScalarArrayOpExpr: {
        const ScalarArrayOpExpr *call = reinterpret_cast<const ScalarArrayOpExpr *>(node);
        const bool of_constants = IsA(strip_relabels(static_cast<Expr *>(lsecond(call->args))), Const);
        note_call(walk, OidIsValid(call->opfuncid) ? call->opfuncid : get_opcode(call->opno), call->inputcollid,
                  of_constants ? list_make1(linitial(call->args)) : call->args);
        break;
    }
    case T_CaseExpr:
        return within_case(reinterpret_cast<const CaseExpr *>(node), walk);
    case T_CaseWhen:
        return cannot_be_deferred(reinterpret_cast<Node *>(reinterpret_cast<CaseWhen *>(node)->expr), walk) ||
               cannot_be_deferred(reinterpret_cast<Node *>(reinterpret_cast<CaseWhen *>(node)->result), walk);
    case T_CaseTestExpr:
        return walk->case_depth == 0 && walk->coerce_depth == 0;
    case T_ArrayCoerceExpr: {
        const ArrayCoerceExpr *coercion = reinterpret_cast<const ArrayCoerceExpr *>(node);
        walk->needs = true;
        if (cannot_be_deferred(reinterpret_cast<Node *>(coercion->arg), walk))
            return true;
        ++walk->coerce_depth;
        const bool cannot = cannot_be_deferred(reinterpret_cast<Node *>(coercion->elemexpr), walk);
        --walk->coerce_depth;
        return cannot;
    }
    case T_CoerceViaIO:
    case T_SubscriptingRef:
        walk->needs = true;
        break;
    case T_List:
    case T_Const:
    case T_RelabelType:
    case T_ArrayExpr:
    case T_BoolExpr:
    case T_NullTest:
    case T_BooleanTest:
    case T_CoalesceExpr:
    case T_MinMaxExpr:
    case T_SQLValueFunction:
        break;
    default:
        return true;
    }
    return walk_expression(node, cannot_be_deferred, context);
}

bool may_not_be_called(Oid funcid, void *translation) {
    return !may_execute(static_cast<const Translation *>(translation), funcid);
}

bool calls_forbidden(Node *node, void *translation) {
    if (node == nullptr)
        return false;
    return check_functions_in_node(node, may_not_be_called, translation) ||
           walk_expression(node, calls_forbidden, translation);
}

bool walk_deferral(Expr *expr, DeferralWalk *walk) {
    *walk = DeferralWalk{};
    return !cannot_be_deferred(reinterpret_cast<Node *>(expr), walk) && walk->column != nullptr && walk->needs;
}

bool finds_entries(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Var) && has_entries(reinterpret_cast<const Var *>(node)))
        return true;
    return walk_expression(node, finds_entries, context);
}

} // namespace

bool reads_entries(Node *node) { return finds_entries(node, nullptr); }

bool is_deferrable(const Translation *, Expr *expr) {
    DeferralWalk walk;
    if (RecoveryInProgress()) // evaluating many entries takes long (attempt.h)
        return false;
    Node *node = reinterpret_cast<Node *>(expr);
    Type type;
    if (!lookup_type(expr, &type) ||
        (sql_kind(exprType(node)) == SqlKind::Text && !is_sound_collation(exprCollation(node))))
        return false;
    return walk_deferral(expr, &walk) && !contain_volatile_functions(node);
}

bool translate_deferred(Translation *t, Expr *expr, TypedExpr *out) {
    DeferralWalk walk;
    TypedExpr column;
    walk_deferral(expr, &walk);
    return !calls_forbidden(reinterpret_cast<Node *>(expr), t) &&
           translate_column(t, const_cast<Var *>(walk.column), &column) &&
           add_function_lookup(t, column, expr, walk.has_params, true, out);
}

} // namespace gpuscan
