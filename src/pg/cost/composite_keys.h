// Joins on all columns of a composite key, of which PostgreSQL expects too few rows.
//
// It takes conditions for independent: lineitem's (partkey, suppkey) equal to those of partsupp, of which the two are the key, is estimated as
// the product of two selectivities, as if any part could come from any supplier. But a key has as many different values as its table has rows, and
// no more (Selinger et al., SIGMOD 1979, table 1: for one column, 1 / its number of different values). Foreign keys tell PostgreSQL so, where they
// have been declared.
//
// PostgreSQL's own numbers stay what they are: its rows, costs and choices among its own plans. Corrected are the rows by
// which its plan's time and a device's cost are counted, on both sides of the comparison alike.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// A pair of base relations; the rows of each relation that is made of these are `factor` (above 1) times as many as PostgreSQL expects.
struct CompositeKeyJoin {
    Relids relations;
    double factor;
};

// Those of a query level, of CompositeKeyJoin *. Computed once; to be asked when the level's base relations have their rows.
const List *composite_key_joins(PlannerInfo *root);

// A plain column of an index, to ask the planner's statistics for.
Var index_column(const IndexOptInfo *index, int i);

// How many times the rows of a relation are that PostgreSQL expects.
double row_correction(const List *joins, const RelOptInfo *rel);

// The relation's rows, corrected; at least 1.
double expected_rows(PlannerInfo *root, const RelOptInfo *rel);

} // namespace gpuscan
