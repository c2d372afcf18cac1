// Which of PostgreSQL's functions cannot raise an error, whatever values they meet?
//
// The list is short and positive: what is not on it may raise. Integers overflow, divisions divide by zero, times leave their range, users'
// functions do what they like. That memory ends, or that a text grows beyond a gigabyte, is not asked: no device takes texts so long.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// A function or the function of an operator, over these arguments (whose own errors are not asked), with the collation that it compares by.
bool is_error_free_function(Oid function, const List *args, Oid collation);

// The innermost function or operator of an expression that is not, as messages name it; where all are "an expression".
const char *name_of_raising_function(Node *expression);

// The conversion of a type's values by its output function, and of what that prints to text.
bool is_error_free_as_text(Oid type);

} // namespace gpuscan
