// Joins with a grouped subquery that reads a table of its query, of which PostgreSQL expects too few rows.
//
//   SELECT ... FROM part p JOIN (SELECT l.partkey, avg(l.quantity) FROM lineitem l JOIN part q ON q.id = l.partkey
//                                WHERE q.brand = 'B' GROUP BY l.partkey) g ON g.partkey = p.id WHERE p.brand = 'B'
//   SELECT ... FROM prices p JOIN (SELECT item, min(price) AS least FROM prices GROUP BY item) g
//              ON g.item = p.item AND g.least = p.price
//
// In the first one the condition stands on both sides of the join, for groups that nobody asks for need not be made (Mumick and Pirahesh, SIGMOD
// 1994): decorrelate.cpp writes such queries, and people do. PostgreSQL takes the two for independent, and applies the condition's share
// twice, though each group has its row of part. In the second one each group's extreme value is that of one of its own rows, while
// PostgreSQL expects it as often as any value of the column.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Adds RowCorrections (row_corrections.h) of the level's grouped subqueries with its tables.
void add_repeated_tables(PlannerInfo *root, List **corrections);

} // namespace gpuscan
