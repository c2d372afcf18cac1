// Which collations order texts by their bytes, so that a device needs no PostgreSQL to compare them?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// True: of two texts that memcmp compares, varstr_cmp says the same. False: it may not.
bool orders_by_bytes(Oid collation);

} // namespace gpuscan
