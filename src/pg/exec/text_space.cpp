// Texts numbered so that equal ones have equal codes.
//
// Codes of different dictionaries cannot be compared, and an expression may make one text of two entries. So texts that
// have to be compared, grouped or shown together are numbered here, by their bytes: a hash table with open addressing over
// texts that lie one after the other. Codes are given in the order in which texts come up and never change, so that
// tables which were sent in an earlier pass stay right when more texts come up.
//
// Where all tables that lead into a space can be kept, so can the space: then the device process numbers the texts, and this
// backend sees them only when they are shown. It is known by the keys of the tables, and constants get their codes in it before
// anything is fed. What is left for this backend are spaces with parameters in them, or whose order matters. They may become as
// large as a dictionary: what a function makes of short texts can be long.
#include "engine/store/dictionary.hpp"
#include "engine/util/text_hash.hpp"
#include "pg/exec/run.h"
#include "pg/guc.h"
#include "pg/translate/lookup_key.h"

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

// ---- spaces on the device ----

void place_spaces(FragmentRun *run) {
    const Fragment *fragment = run->fragment;
    bool *has_texts = static_cast<bool *>(palloc0(fragment->nspaces + 1));
    for (int i = 0; i < fragment->nspaces; ++i)
        run->spaces[i].on_device = true;
    for (int i = 0; i < fragment->nlookups; ++i) {
        const FragmentLookup *lookup = &fragment->lookups[i];
        if (lookup->space == 0)
            continue;
        TextSpace *space = &run->spaces[lookup->space - 1];
        space->on_device = space->on_device && lookup_can_be_kept(lookup);
        has_texts[lookup->space - 1] = true;
    }
    for (int i = 0; i < fragment->nspaces; ++i) // (of constants alone: nothing to keep)
        run->spaces[i].on_device = run->spaces[i].on_device && has_texts[i];
}

static void append_part(StringInfo message, uint32 index, const char *data, Size length) {
    const protocol::SpaceText head = {index, static_cast<uint32>(length)};
    appendBinaryStringInfo(message, reinterpret_cast<const char *>(&head), sizeof head);
    appendBinaryStringInfo(message, data, length);
    while (message->len % 8 != 0)
        appendStringInfoChar(message, '\0');
}

static bool use_space(FragmentRun *run, int number) {
    const Fragment *fragment = run->fragment;
    protocol::UseSpaceRequest head = {};
    head.space = number;
    StringInfoData message, key;
    initStringInfo(&message);
    initStringInfo(&key);
    appendBinaryStringInfo(&message, reinterpret_cast<const char *>(&head), sizeof head);
    for (int i = 0; i < fragment->nlookups; ++i) {
        if (fragment->lookups[i].space != number)
            continue;
        resetStringInfo(&key);
        append_lookup_key(&key, &fragment->lookups[i]);
        append_part(&message, i, key.data, key.len);
        ++head.nlookups;
    }
    for (int i = 0; i < fragment->nconstants; ++i) {
        const SpaceConstant *constant = &run->space_constants[i];
        if (!constant->is_set || fragment->constants[i].space != number)
            continue;
        if (constant->length > protocol::slot_buffer_size / 2)
            return give_up(run, "the fragment is too long");
        append_part(&message, fragment->constants[i].index, constant->data, constant->length);
        ++head.nconstants;
    }
    if (message.len > static_cast<int>(protocol::slot_buffer_size))
        return give_up(run, "the fragment is too long");
    memcpy(message.data, &head, sizeof head);
    memcpy(device_input(run->connection), message.data, message.len);
    return request(run, protocol::Command::UseSpace, message.len, 0);
}

bool use_spaces(FragmentRun *run) {
    for (int i = 0; i < run->fragment->nspaces; ++i)
        if (run->spaces[i].on_device && !use_space(run, i + 1))
            return false;
    return true;
}

// ---- spaces of an execution ----

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

bool space_fits(FragmentRun *run, int number) {
    const TextSpace *space = &run->spaces[number - 1];
    const Size bytes = space->data_used + space->count * Dictionary::entry_bytes;
    return bytes <= dictionary_limit(guc_cache_size * Size(1024), false) ||
           give_up(run, "the texts that functions make take too much memory");
}

const char *bytes_of_datum(Datum text, int typlen, bool is_bpchar, Size *size) {
    if (typlen > 0) {
        *size = typlen;
        return DatumGetPointer(text);
    }
    struct varlena *packed = PG_DETOAST_DATUM_PACKED(text);
    int length = VARSIZE_ANY_EXHDR(packed);
    if (is_bpchar)
        length = bpchartruelen(VARDATA_ANY(packed), length);
    *size = length;
    return VARDATA_ANY(packed);
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
    if (texts->on_device)
        return code < texts->copy.size
                   ? reinterpret_cast<struct varlena *>(texts->copy.data + texts->copy.offsets[code])
                   : nullptr;
    return code < texts->count ? text_at(texts, code) : nullptr;
}

} // namespace gpuscan
