// Lookup tables that outlive their execution.
#pragma once

#include "pg/exec/run.h"

namespace gpuscan {

// Entries 0..entries-1 and one for NULL, as exec/lookup.cpp sends them.
struct KeptLookup {
    char *values;
    uint8 *nulls;
};

// Does the lookup depend on its expression and the dictionary alone?
bool lookup_can_be_kept(const FragmentLookup *lookup);

// The dictionary's identity is (generation of the device process, id); it only grows, so its size says what is in it.
// NULL: there is none.
const KeptLookup *find_kept_lookup(const FragmentLookup *lookup, uint32 generation, uint64 dictionary, uint32 entries);
void keep_lookup(const FragmentLookup *lookup, uint32 generation, uint64 dictionary, uint32 entries, const char *values,
                 const uint8 *nulls);

} // namespace gpuscan
