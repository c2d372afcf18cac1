// Conditions of which PostgreSQL does not know how many rows pass, tried on a sample of the column.
//
// Of a function or an operator of a column (substring(phone, 1, 2) IN (...), date_trunc('month', day) = ..., id % 10 = 3) PostgreSQL has no
// statistics, and takes a number that stands for all of them: 0.005 for an equality, a third for a range. But it has
// statistics of the column: its most common values with their frequencies, and of the others a histogram, whose bounds have
// equally many rows between them, so that they are a sample. The conditions are evaluated for these, as PostgreSQL itself does it for
// LIKE (histogram_selectivity and mcv_selectivity of its selfuncs.c); the share of the column's rows that pass is the
// sum over both.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Adds RowCorrections of the level's relations.
void add_sampled_conditions(PlannerInfo *root, List **corrections);

} // namespace gpuscan
