// A rewriting of Query trees, at every level of a statement.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Calls rewrite(), which says whether it has changed anything, for each SELECT of a statement that reads or of the source of an
// INSERT, the innermost first; not at or below what is recursive. False: nothing was changed.
bool rewrite_levels(Query *query, bool (*rewrite)(Query *));

// A look at the query, its CTEs and its subqueries in FROM, all their levels among them: does is_wanted() say so of one? False of
// what rewrite_levels() leaves alone.
bool has_level(const Query *query, bool (*is_wanted)(const Query *));

} // namespace gpuscan
