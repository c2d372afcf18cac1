// Who decides what a collation says, and by which locales?
#pragma once

#include "pg/pg.h"

namespace gpuscan {

constexpr char builtin_provider = 'b', libc_provider = 'c'; // COLLPROVIDER_...

// The database's for the default collation. Names are in the current memory context; NULL: the provider needs none.
struct CollationProvider {
    char provider;
    bool is_deterministic;
    const char *collate, *ctype;
};

// False: there is no such collation.
bool find_provider(Oid collation, CollationProvider *found);

} // namespace gpuscan
