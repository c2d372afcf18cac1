// The texts that a result shows; see code_set.h.
#include "pg/exec/code_set.h"

namespace gpuscan {

constexpr int slot_bits = 14; // four slots for each code
constexpr uint32 code_slots = 1u << slot_bits;

void code_set_begin(FragmentRun *run, CodeSet *set) {
    *set = CodeSet();
    set->codes = static_cast<uint32 *>(MemoryContextAlloc(run->context, max_codes * sizeof(uint32)));
    set->slots = static_cast<uint32 *>(MemoryContextAllocZero(run->context, code_slots * sizeof(uint32)));
}

void code_set_add(CodeSet *set, uint32 code) {
    set->any = true;
    set->entries = code >= set->entries ? code + 1 : set->entries;
    if (set->all)
        return;
    uint32 at = code * 2654435769u >> (32 - slot_bits); // Fibonacci hashing
    for (; set->slots[at] != 0; at = (at + 1) % code_slots)
        if (set->slots[at] == code + 1)
            return;
    if (set->count == max_codes) {
        set->all = true;
        return;
    }
    set->slots[at] = code + 1;
    set->codes[set->count++] = code;
}

bool fetch_texts(FragmentRun *run, int source, int column, const CodeSet *set) {
    if (!set->any)
        return true;
    const DictionaryCopy *copy = &run->copies[source][column];
    if (!(set->all || copy->known ? read_dictionary(run, source, column)
                                  : read_entries(run, source, column, set->codes, set->count)))
        return false;
    return set->entries <= copy->size || give_up(run, "the device's results have another form");
}

} // namespace gpuscan
