// The key of a lookup's table; see lookup_key.h.
//
// A table is a function of its expression and of the dictionary's entries if the expression is one of a row alone, as those are that the
// cache keeps as columns (expression_column.cpp), and has no parameter. The device process keeps it for all sessions. (Whether the user may
// call the functions is asked in every execution, by ExecInitExpr.) The key is the expression, with the settings that it depends on;
// collations are the database's, and so is the dictionary.
#include "pg/translate/lookup_key.h"

#include "pg/catalog/expression_text.h"
#include "pg/translate/translate.h"

namespace gpuscan {

bool lookup_is_cacheable(const FragmentLookup *lookup) {
    Index relation;
    if (lookup->kind == LookupKind::Rank)
        return lookup->unified == 0; // (of the entries themselves)
    return !lookup->has_params && (IsA(lookup->expr, Var) || is_column_expression(lookup->expr, &relation));
}

void append_lookup_key(StringInfo out, const FragmentLookup *lookup) {
    if (lookup->kind == LookupKind::Rank) {
        appendStringInfo(out, "%d %u %u %d", static_cast<int>(lookup->kind), lookup->ordered, lookup->collation,
                         lookup->is_bpchar);
        return;
    }
    char *key = expression_key(lookup->expr);
    appendStringInfo(out, "%d %u %d %d %s", static_cast<int>(lookup->kind), lookup->typid,
                     static_cast<int>(lookup->type), lookup->is_bpchar, key);
    pfree(key);
}

} // namespace gpuscan
