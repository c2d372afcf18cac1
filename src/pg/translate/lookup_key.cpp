// The key of a lookup's table; see lookup_key.h.
//
// A table is a function of its expression and of the dictionary's entries if the expression has no parameter and calls only
// functions that are immutable and PostgreSQL's own. The device process keeps it for all sessions. (Whether the user may call
// the functions is asked in every execution, by ExecInitExpr.) The key is the expression as PostgreSQL writes nodes, without
// the places in the query's text; collations are the database's, and so is the dictionary.
#include "pg/translate/lookup_key.h"

namespace gpuscan {
namespace {

bool is_foreign_function(Oid funcid, void *) { return funcid >= FirstGenbkiObjectId; }

bool calls_foreign_function(Node *node, void *context) {
    if (node == nullptr)
        return false;
    return check_functions_in_node(node, is_foreign_function, context) ||
           walk_expression(node, calls_foreign_function, context);
}

// What only says where the query has an expression. Of all nodes that translate/lookup.cpp and translate/expression_column.cpp let through.
bool forget_places(Node *node, void *context) {
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_Var: { // of one relation, whatever its number in the query is
        Var *var = reinterpret_cast<Var *>(node);
        var->location = -1;
        var->varno = 1;
        var->varnosyn = 0;
        var->varattnosyn = 0;
#if PG_VERSION_NUM >= 160000
        var->varnullingrels = nullptr;
#endif
        break;
    }
    case T_Const:
        reinterpret_cast<Const *>(node)->location = -1;
        break;
    case T_RelabelType:
        reinterpret_cast<RelabelType *>(node)->location = -1;
        break;
    case T_FuncExpr:
        reinterpret_cast<FuncExpr *>(node)->location = -1;
        break;
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr:
        reinterpret_cast<OpExpr *>(node)->location = -1;
        break;
    case T_ScalarArrayOpExpr:
        reinterpret_cast<ScalarArrayOpExpr *>(node)->location = -1;
        break;
    case T_ArrayExpr:
        reinterpret_cast<ArrayExpr *>(node)->location = -1;
        break;
    case T_BoolExpr:
        reinterpret_cast<BoolExpr *>(node)->location = -1;
        break;
    case T_NullTest:
        reinterpret_cast<NullTest *>(node)->location = -1;
        break;
    case T_BooleanTest:
        reinterpret_cast<BooleanTest *>(node)->location = -1;
        break;
    case T_CoalesceExpr:
        reinterpret_cast<CoalesceExpr *>(node)->location = -1;
        break;
    case T_CaseExpr:
        reinterpret_cast<CaseExpr *>(node)->location = -1;
        break;
    case T_CaseWhen:
        reinterpret_cast<CaseWhen *>(node)->location = -1;
        break;
    case T_MinMaxExpr:
        reinterpret_cast<MinMaxExpr *>(node)->location = -1;
        break;
    case T_CoerceViaIO:
        reinterpret_cast<CoerceViaIO *>(node)->location = -1;
        break;
    case T_ArrayCoerceExpr:
        reinterpret_cast<ArrayCoerceExpr *>(node)->location = -1;
        break;
    default:
        break;
    }
    return walk_expression(node, forget_places, context);
}

} // namespace

bool lookup_is_cacheable(const FragmentLookup *lookup) {
    Node *expr = reinterpret_cast<Node *>(lookup->expr);
    return lookup->kind != LookupKind::Rank && !lookup->deferred && !lookup->has_params &&
           !contain_mutable_functions(expr) && !calls_foreign_function(expr, nullptr);
}

char *expression_text(const Expr *expr) {
    Node *copy = reinterpret_cast<Node *>(copyObject(const_cast<Expr *>(expr)));
    forget_places(copy, nullptr);
    return nodeToString(copy);
}

// All that PostgreSQL's stable functions of values depend on.
static const char *const settings_of_values[] = {"TimeZone",      "DateStyle",   "IntervalStyle", "extra_float_digits",
                                                 "bytea_output", "lc_messages", "lc_monetary",   "lc_numeric",
                                                 "lc_time"};

char *expression_key(const Expr *expr) {
    StringInfoData key;
    initStringInfo(&key);
    appendStringInfoString(&key, expression_text(expr));
    if (contain_mutable_functions(reinterpret_cast<Node *>(const_cast<Expr *>(expr))))
        for (const char *name : settings_of_values)
            appendStringInfo(&key, "\n%s=%s", name, GetConfigOption(name, false, false));
    return key.data;
}

void append_lookup_key(StringInfo out, const FragmentLookup *lookup) {
    char *text = expression_text(lookup->expr);
    appendStringInfo(out, "%d %u %d %d %s", static_cast<int>(lookup->kind), lookup->typid,
                     static_cast<int>(lookup->type), lookup->is_bpchar, text);
    pfree(text);
}

} // namespace gpuscan
