// Under which key the device process keeps the table of a lookup, and the function by which it can make the table itself.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment.h"

namespace gpuscan {

// May the table be cached? It depends on nothing then but the expression and the dictionary.
bool lookup_is_cacheable(const FragmentLookup *lookup);

// Appends what must be equal for two lookups over one dictionary to have the same table, if lookup_is_cacheable().
void append_lookup_key(StringInfo out, const FragmentLookup *lookup);

// The expression as PostgreSQL writes nodes, without the places in the query's text.
char *expression_text(const Expr *expr);
// ... with the settings of now that its stable functions depend on.
char *expression_key(const Expr *expr);
// What stands for the attribute number of an expression that the cache holds as a column (ColumnLayout::expression).
inline uint32 expression_number(const char *text) {
    return hash_bytes(reinterpret_cast<const unsigned char *>(text), static_cast<int>(strlen(text))) |
           UINT32_C(0x80000000);
}

// native_text.cpp. Appends the lookup's expression as a function of the device process (engine/store/text_function.hpp). False,
// and nothing appended: it has to be evaluated by PostgreSQL.
bool append_native_function(StringInfo out, const FragmentLookup *lookup);

} // namespace gpuscan
