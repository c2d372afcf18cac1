// What does PostgreSQL take to evaluate an expression?
//
// pg_proc.procost does not tell: to_char() and a regular expression are said to cost as much as an addition. So it is measured: while pages
// are evaluated for the cache (feed/expression_pages.cpp), or before that for a few values, by the first statement that has the expression
// (tried_time.h). It is kept in shared memory by the number under which the cache has, or would have, the expression. It counts for
// a device that lacks the column, and for PostgreSQL's plan, which evaluates the expression each time.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// So many evaluations of the expression with that number took so much of a core.
void note_evaluations(uint32 number, uint64 count, uint64 ns);

// ---- for the statement that is planned ----

// Of the statement before. (Whoever plans one several times to compare plans forgets them once.)
void forget_evaluation_times();
// The nanoseconds that one evaluation takes; 0: nobody knows.
double evaluation_time(PlannerInfo *root, Node *node);

} // namespace gpuscan
