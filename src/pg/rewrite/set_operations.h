// Set operations and unions below an aggregation, so that each side can be done by a device.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Could there be anything to rewrite? A look, no more.
bool may_have_set_operations(const Query *query);

// Rewrites in place wherever that cannot be noticed; false: nothing was changed.
bool spread_set_operations(Query *query);

// Are values of the expression's type, as it is declared, that are equal by its default equality the same value?
bool equal_is_same(Node *expr);

// Are rows the same by the equality of devices (UNION ALL and the like: by none)?
bool merges_equal_values(const SetOperationStmt *operation);

// Are its columns, one for one, of the types that the set operation gives them?
bool has_types(const Query *query, const SetOperationStmt *whole);

// Makes it a SELECT DISTINCT; false: that might be noticed.
bool make_set(Query *query);

} // namespace gpuscan
