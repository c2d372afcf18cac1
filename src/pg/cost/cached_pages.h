// How much of a relation its device has cached now; see engine/store/cache_statistics.hpp.
#pragma once

#include "pg/pg.h"

#include "engine/store/cache_statistics.hpp"

namespace gpuscan {

// A relation's column, to ask for in CacheStatistics.
ColumnLocator column_locator(Relation relation, uint32 attnum);

// Attribute numbers of what a query reads of a relation, as in pull_varattnos().
Bitmapset *attributes_read(const RelOptInfo *rel);

// Pages of a plain table (a leaf of a partitioned one) of which the device has the column, or the expression, of this number.
double cached_pages_of(const PlannerInfo *root, const RelOptInfo *rel, uint32 number, int device);

// Pages of a plain table (a leaf of a partitioned one) that a device can cache; all of it, but in recovery only those that are
// all-visible, and nothing of a temporary table.
double cacheable_pages(const RelOptInfo *rel, char persistence);

// Pages of a plain table (a leaf of a partitioned one) of which the device (0: host, 1: CUDA, as in protocol::Area) has all of these
// columns. 0 without a running service. `absent`, if wanted, gets the columns that it has of less than `whole` pages.
double cached_pages(const PlannerInfo *root, const RelOptInfo *rel, const Bitmapset *columns, int device,
                    double whole = 0, Bitmapset **absent = nullptr);

} // namespace gpuscan
