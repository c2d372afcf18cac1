// The key of a lookup's table; see lookup_key.h.
//
// A table is a function of its expression and of the dictionary's entries if the expression has no parameter and calls only
// functions that are immutable and PostgreSQL's own. (What a domain checks, and how a user's type is ordered, can change.) The device process keeps it for all sessions. (Whether the user may call
// the functions is asked in every execution, by ExecInitExpr.) The key is the expression as PostgreSQL writes nodes, without
// the places in the query's text; collations are the database's, and so is the dictionary.
#include "pg/translate/lookup_key.h"

#include "pg/catalog/expression_text.h"

namespace gpuscan {
namespace {

bool is_foreign_function(Oid funcid, void *) { return funcid >= FirstGenbkiObjectId; }

bool calls_foreign_function(Node *node, void *context) {
    if (node == nullptr)
        return false;
    return check_functions_in_node(node, is_foreign_function, context) || IsA(node, CoerceToDomain) ||
           (IsA(node, MinMaxExpr) && is_foreign_function(exprType(node), context)) ||
           walk_expression(node, calls_foreign_function, context);
}

} // namespace

bool lookup_is_cacheable(const FragmentLookup *lookup) {
    Node *expr = reinterpret_cast<Node *>(lookup->expr);
    if (lookup->kind == LookupKind::Rank)
        return lookup->unified == 0; // (of the entries themselves)
    return !lookup->has_params && !contain_mutable_functions(expr) && !calls_foreign_function(expr, nullptr);
}

void append_lookup_key(StringInfo out, const FragmentLookup *lookup) {
    if (lookup->kind == LookupKind::Rank) {
        appendStringInfo(out, "%d %u %u %d", static_cast<int>(lookup->kind), lookup->ordered, lookup->collation,
                         lookup->is_bpchar);
        return;
    }
    char *text = expression_text(lookup->expr);
    appendStringInfo(out, "%d %u %d %d %s", static_cast<int>(lookup->kind), lookup->typid,
                     static_cast<int>(lookup->type), lookup->is_bpchar, text);
    pfree(text);
}

} // namespace gpuscan
