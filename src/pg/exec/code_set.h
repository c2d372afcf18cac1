// Which texts does a result show? The entries that it names are asked for one by one, unless they are most of the dictionary.
#pragma once

#include "pg/exec/run.h"

namespace gpuscan {

// The codes of one dictionary's texts so far, or ranks of its entries, as bits.
struct CodeSet {
    uint32 count;
    uint32 end;    // behind the largest one
    uint32 nwords; // of `bits`
    uint64 *bits;
};

void code_set_add(FragmentRun *run, CodeSet *set, uint32 code);

// Brings the texts here: the entries, or the whole dictionary. What failed later would be an error, this is not (see failure).
bool fetch_texts(FragmentRun *run, int source, int column, const CodeSet *set);

// Brings the codes of these ranks here.
bool fetch_codes_of_ranks(FragmentRun *run, int lookup, const CodeSet *ranks);

} // namespace gpuscan
