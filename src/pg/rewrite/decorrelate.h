// Subqueries that PostgreSQL evaluates row by row, as joins that it and a device can plan.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Could there be anything to rewrite? A look, no more.
bool may_have_subqueries(const Query *query);

// Rewrites in place wherever that cannot be noticed; false: nothing was changed.
bool decorrelate(Query *query);

// A column that is declared so, of a relation that no outer join can make NULL.
bool is_not_null(const Query *query, const Node *node);

// Does IS NULL of this column find the rows that the snapshot sees with NULL there? Where the newest catalogue declares NOT NULL and an old
// snapshot does not see it, PostgreSQL would take the test for false.
bool is_null_testable(const Query *query, const Node *node);

// EXISTS over a copy of the subquery, with one condition more (NULL: none).
SubLink *make_exists(const Query *sub, Node *condition);

} // namespace gpuscan
