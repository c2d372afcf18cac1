// Texts numbered for one execution.
//
// Codes of different dictionaries cannot be compared, and an expression may make one text of two entries. So texts that
// have to be compared, grouped or shown together are numbered here, by their bytes: a hash table with open addressing over
// texts that lie one after the other. Codes are given in the order in which texts come up and never change, so that
// tables which were sent in an earlier pass stay right when more texts come up.
#include "engine/text_hash.hpp"
#include "pg/exec/run.h"

namespace gpuscan {
namespace {

constexpr uint32 first_slots = 256;

struct varlena *text_at(const TextSpace *space, uint32 code) {
    return reinterpret_cast<struct varlena *>(space->data + space->offsets[code]);
}

uint32 hash_of(const char *text, Size length) { return static_cast<uint32>(text_hash(text, length)); }

void place(TextSpace *space, uint32 hash, uint32 code) {
    uint32 i = hash & (space->nslots - 1);
    while (space->slots[i] != 0)
        i = (i + 1) & (space->nslots - 1);
    space->slots[i] = code + 1;
}

void *grown(FragmentRun *run, void *old, Size bytes) {
    return old ? repalloc_huge(old, bytes) : MemoryContextAllocHuge(run->context, bytes);
}

void grow_slots(FragmentRun *run, TextSpace *space) {
    if (space->slots)
        pfree(space->slots);
    space->nslots = space->nslots ? space->nslots * 2 : first_slots;
    space->slots = static_cast<uint32 *>(
        MemoryContextAllocExtended(run->context, space->nslots * sizeof(uint32), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    for (uint32 code = 0; code < space->count; ++code) {
        struct varlena *text = text_at(space, code);
        place(space, hash_of(VARDATA(text), VARSIZE(text) - VARHDRSZ), code);
    }
}

void make_room(FragmentRun *run, TextSpace *space, Size size) {
    if (space->count == space->allocated) {
        space->allocated = space->allocated ? space->allocated * 2 : 256;
        space->offsets = static_cast<Size *>(grown(run, space->offsets, space->allocated * sizeof(Size)));
    }
    if (space->data_used + size > space->data_allocated) {
        Size bytes = space->data_allocated ? space->data_allocated * 2 : 8 * 1024;
        while (bytes < space->data_used + size)
            bytes *= 2;
        space->data = static_cast<char *>(grown(run, space->data, bytes));
        space->data_allocated = bytes;
    }
}

} // namespace

uint32 space_code(FragmentRun *run, int number, const char *text, Size length) {
    TextSpace *space = &run->spaces[number - 1];
    const uint32 hash = hash_of(text, length);
    if (space->nslots > 0)
        for (uint32 i = hash & (space->nslots - 1); space->slots[i] != 0; i = (i + 1) & (space->nslots - 1)) {
            struct varlena *other = text_at(space, space->slots[i] - 1);
            if (VARSIZE(other) - VARHDRSZ == length && memcmp(VARDATA(other), text, length) == 0)
                return space->slots[i] - 1;
        }
    if ((space->count + 1) * uint64(2) > space->nslots)
        grow_slots(run, space);
    make_room(run, space, aligned(VARHDRSZ + length));
    struct varlena *entry = reinterpret_cast<struct varlena *>(space->data + space->data_used);
    SET_VARSIZE(entry, VARHDRSZ + length);
    memcpy(VARDATA(entry), text, length);
    space->offsets[space->count] = space->data_used;
    space->data_used += aligned(VARHDRSZ + length);
    place(space, hash, space->count);
    return space->count++;
}

uint32 space_code_of_datum(FragmentRun *run, int space, Datum text, int typlen, bool is_bpchar) {
    if (typlen > 0)
        return space_code(run, space, DatumGetPointer(text), typlen);
    struct varlena *packed = PG_DETOAST_DATUM_PACKED(text);
    int length = VARSIZE_ANY_EXHDR(packed);
    if (is_bpchar)
        length = bpchartruelen(VARDATA_ANY(packed), length);
    uint32 code = space_code(run, space, VARDATA_ANY(packed), length);
    if (reinterpret_cast<Pointer>(packed) != DatumGetPointer(text))
        pfree(packed);
    return code;
}

struct varlena *space_entry(const FragmentRun *run, int space, uint32 code) {
    const TextSpace *texts = &run->spaces[space - 1];
    return code < texts->count ? text_at(texts, code) : nullptr;
}

} // namespace gpuscan
