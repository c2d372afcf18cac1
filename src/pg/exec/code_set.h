// Which texts does a result show? A few rows or groups do not need the whole of a large dictionary: up to max_codes entries
// are asked for one by one.
#pragma once

#include "pg/exec/run.h"

namespace gpuscan {

constexpr uint32 max_codes = 4096;

// The codes of one dictionary's texts so far.
struct CodeSet {
    uint32 entries; // that the dictionary must have for them: none for none
    bool any, all;  // all: too many to be asked for one by one
    uint32 count;
    uint32 *codes; // max_codes
    uint32 *slots; // code + 1 by hash, 0: free
};

void code_set_begin(FragmentRun *run, CodeSet *set);
void code_set_add(CodeSet *set, uint32 code);

// Brings the texts here: the entries, or the whole dictionary. What failed later would be an error, this is not (see failure).
bool fetch_texts(FragmentRun *run, int source, int column, const CodeSet *set);

} // namespace gpuscan
