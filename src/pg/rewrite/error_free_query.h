// Which queries cannot raise an error, whatever rows they meet?
//
// What a rewritten query reads in another order, or more of than PostgreSQL would, may not show (error_free_expression.h).
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Does it read nothing but plain tables, joined by inner joins, with nothing after the groups? Conditions in WHERE are for
// whoever asks.
bool reads_plain_tables(const Query *query);

// The same, but subqueries in FROM may stand beside the tables where they cannot raise an error.
bool reads_error_free_sources(const Query *query);

// The rows or groups of such sources, of which no expression can raise an error: neither the subquery's own nor, however its conditions
// change places, one below.
bool is_error_free_subquery(const Query *query);

// A copy without a range table entry for its group keys (18: compat.h).
Query *without_group_entry(const Query *query);

// Is WHERE false for all rows, or cannot be told? The planner stops folding at the first conjunct that says so; behind it may stand an
// error.
bool is_never_true(const Query *query);

// The query as it is to be looked at: a copy in which subqueries stand where CTEs of `owner` are read, `depth` levels above it; itself
// where there are none. Its expressions are the same ones.
const Query *with_ctes_in_place(const Query *query, const Query *owner, int depth);

} // namespace gpuscan
