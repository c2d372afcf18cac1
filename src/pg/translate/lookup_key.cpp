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

// Of all nodes that translate/lookup.cpp lets through.
bool forget_places(Node *node, void *context) {
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_Var:
        reinterpret_cast<Var *>(node)->location = -1;
        break;
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

void append_lookup_key(StringInfo out, const FragmentLookup *lookup) {
    Node *expr = static_cast<Node *>(copyObject(reinterpret_cast<Node *>(lookup->expr)));
    forget_places(expr, nullptr);
    char *text = nodeToString(expr);
    appendStringInfo(out, "%d %u %d %d %s", static_cast<int>(lookup->kind), lookup->typid,
                     static_cast<int>(lookup->type), lookup->is_bpchar, text);
    pfree(text);
}

} // namespace gpuscan
