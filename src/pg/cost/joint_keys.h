// Joins on all columns of a key of several columns, of which PostgreSQL expects too few rows.
//
// It takes conditions for independent: lineitem's (partkey, suppkey) equal to those of partsupp, of which the two are the key, is estimated as
// the product of two selectivities, as if any part could come from any supplier. But a key has as many different values as its table has rows, and
// no more (Selinger et al., SIGMOD 1979, table 1: for one column, 1 / its number of different values). Foreign keys tell PostgreSQL so, where they have been declared.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Adds RowCorrections (row_corrections.h) of pairs of the level's relations.
void add_joint_keys(PlannerInfo *root, List **corrections);

// The column `other_attnum` (0: any) of relation `other` that the query says is equal to relid.attnum, and to no constant; NULL: none is.
const Var *equal_column(const PlannerInfo *root, int relid, int attnum, int other, int other_attnum);
bool equals_constant(const PlannerInfo *root, int relid, int attnum);

// How many times the entries are that a subquery's scan of an index finds for a row of the query above, whose columns it asks for; at least 1. In
// the query above they are equal to all columns of a key.
double missed_entries(PlannerInfo *root, const IndexPath *path);

// How far an index is in the order of its table: 0 (not at all) to 1.
double order_of_index(PlannerInfo *root, const IndexOptInfo *index);

} // namespace gpuscan
