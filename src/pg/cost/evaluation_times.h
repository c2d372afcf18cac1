// What does PostgreSQL take to evaluate an expression that the cache keeps as a column?
//
// pg_proc.procost does not tell: to_char() and a regular expression are said to cost as much as an addition. So it is measured while pages
// are evaluated (feed/expression_pages.cpp), and kept in shared memory by the number under which the cache has the expression. It counts for
// a device that lacks the column, and for PostgreSQL's plan, which evaluates the expression each time.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// So many evaluations of the expression with that number took so much of a core.
void note_evaluations(uint32 number, uint64 count, uint64 ns);

// ---- for the statement that is planned ----

// Of the statement before. (Whoever plans one several times to compare plans forgets them once.)
void forget_evaluation_times();
// Makes what is known of the expression with that number count wherever the expression stands.
void use_evaluation_time(Expr *expr, uint32 number);
// The nanoseconds that one evaluation takes; 0: nobody knows.
double evaluation_time(Node *node);

} // namespace gpuscan
