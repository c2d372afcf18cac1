// Constants among the arguments of a call: they rule out what the function could run into with other values.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// The argument at the position (from 0), seen through casts that change nothing; NULL if it is no constant, or a NULL.
const Const *constant_argument(const List *arguments, int position);

// The same as a number, if it is an int2, int4 or int8.
bool integer_argument(const List *arguments, int position, int64 *number);

// Of replace(): what stands for a part of a text is no longer than that, so no text grows.
bool replaces_by_no_more(const List *arguments);

} // namespace gpuscan
