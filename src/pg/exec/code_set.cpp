// The texts that a result shows; see code_set.h.
#include "pg/exec/code_set.h"

namespace gpuscan {
namespace {

constexpr uint32 first_words = 512;
constexpr uint32 few_codes = 4096; // asked for one by one in any case
constexpr uint32 word_bits = 64;

void grow(FragmentRun *run, CodeSet *set, uint32 words) {
    uint32 nwords = set->nwords ? set->nwords : first_words;
    while (nwords < words)
        nwords *= 2;
    uint64 *bits = static_cast<uint64 *>(
        MemoryContextAllocExtended(run->context, nwords * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    if (set->bits) {
        memcpy(bits, set->bits, set->nwords * sizeof(uint64));
        pfree(set->bits);
    }
    set->bits = bits;
    set->nwords = nwords;
}

uint32 *list_of(FragmentRun *run, const CodeSet *set) {
    uint32 *codes =
        static_cast<uint32 *>(MemoryContextAllocHuge(run->context, (Size(set->count) + 1) * sizeof(uint32)));
    uint32 n = 0;
    for (uint32 w = 0; w < set->nwords; ++w)
        for (uint64 bits = set->bits[w]; bits != 0; bits &= bits - 1)
            codes[n++] = w * word_bits + pg_rightmost_one_pos64(bits);
    return codes;
}

} // namespace

void code_set_add(FragmentRun *run, CodeSet *set, uint32 code) {
    const uint32 word = code / word_bits;
    if (unlikely(word >= set->nwords))
        grow(run, set, word + 1);
    const uint64 bit = UINT64CONST(1) << (code % word_bits);
    set->count += (set->bits[word] & bit) == 0;
    set->bits[word] |= bit;
    set->end = std::max(set->end, code + 1);
}

bool fetch_texts(FragmentRun *run, int source, int column, const CodeSet *set) {
    if (set->count == 0)
        return true;
    const DictionaryCopy *copy = &run->copies[source][column];
    if (copy->known || (set->count > few_codes && set->count > set->end / 2))
        return read_dictionary(run, source, column) &&
               (set->end <= copy->size || give_up(run, "the device's results have another form"));
    uint32 *codes = list_of(run, set);
    const bool read = read_entries(run, source, column, codes, set->count);
    pfree(codes);
    return read;
}

bool fetch_codes_of_ranks(FragmentRun *run, int lookup, const CodeSet *ranks) {
    if (ranks->count == 0)
        return true;
    uint32 *list = list_of(run, ranks);
    const bool read = read_codes_of_ranks(run, lookup, list, ranks->count);
    pfree(list);
    return read;
}

} // namespace gpuscan
