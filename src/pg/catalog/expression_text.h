// When are two expressions the same, wherever they stand in a query?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// The expression, over columns of one relation, as PostgreSQL writes nodes, without what only says where the query has it, and with the
// settings of now that its functions depend on.
char *expression_key(const Expr *expr);

// What stands for the attribute number of an expression with that key which the cache holds as a column (ColumnLayout::expression).
uint32 expression_number(const char *key);

} // namespace gpuscan
