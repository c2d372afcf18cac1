// What does the device read of a relation, before there is a fragment that says so?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

struct ColumnsRead {
    Bitmapset *attributes; // as in pull_varattnos()
    List *expressions;     // that the cache holds as columns (translate/expression_column.cpp)
};

// Of a base relation of the query level.
ColumnsRead columns_read(PlannerInfo *root, const RelOptInfo *rel);

} // namespace gpuscan
