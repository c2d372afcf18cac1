// Who looks at the form in which a value is stored?
//
// PostgreSQL hands functions a value as it stands in the tuple: compressed, out of line, with a short header. Devices know values only, and
// what they deliver is made anew. All but a few functions of PostgreSQL's own answer by the value alone. Those few, and users' functions
// that call them, as far as that can be seen, see no value that came by way of a device: a statement with one of them is PostgreSQL's.
// doc/architecture.md says what cannot be seen.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Does the statement, as the rewriter leaves it, call such a function, or a domain that it casts to (in a check), or what it writes to (in a check, a
// generated column, a trigger)?
bool looks_at_stored_form(Query *statement);

} // namespace gpuscan
