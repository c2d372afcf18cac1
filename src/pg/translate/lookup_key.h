// Under which key the device process keeps the table of a lookup, and the function by which it can make the table itself.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment.h"

namespace gpuscan {

// May the table be cached, of a deferred lookup the entries that are known? It depends on nothing then but the expression and the
// dictionary.
bool lookup_is_cacheable(const FragmentLookup *lookup);

// Appends what must be equal for two lookups over one dictionary to have the same table, if lookup_is_cacheable().
void append_lookup_key(StringInfo out, const FragmentLookup *lookup);

// native_text.cpp. Appends the lookup's expression as a function of the device process (engine/store/text_function.hpp). False,
// and nothing appended: it has to be evaluated by PostgreSQL.
bool append_native_function(StringInfo out, const FragmentLookup *lookup);

} // namespace gpuscan
