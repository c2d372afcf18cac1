// By which locale of the C library does a collation tell small letters from capitals?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Its name, in the current memory context: lower(), upper() and ILIKE do letter by letter what towlower() and towupper() of that locale say.
// ("C" and "POSIX" know the letters of ASCII.) NULL: another provider than the C library decides, or no collation is known.
const char *letter_locale(Oid collation);

} // namespace gpuscan
