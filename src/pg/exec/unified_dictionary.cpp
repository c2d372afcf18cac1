// Texts numbered so that equal ones have equal codes.
//
// Codes of different dictionaries cannot be compared, and an expression may make one text of two entries. So texts that
// have to be compared, grouped or shown together are numbered here, by their bytes: a hash table with open addressing over
// texts that lie one after the other. Codes are given in the order in which texts come up and never change, so that
// tables which were sent in an earlier pass stay right when more texts come up.
//
// Where all tables that lead into a unified dictionary can be kept, so can the unified dictionary: then the device process numbers the
// texts, and this backend sees them only when they are shown. It is known by the keys of the tables, and constants get their codes in it
// before anything is fed. What is left for this backend are unified dictionaries with parameters in them, or whose order matters. They may
// become as large as a dictionary: what a function makes of short texts can be long.
#include "engine/store/dictionary.hpp"
#include "engine/util/text_hash.hpp"
#include "pg/exec/run.h"
#include "pg/guc.h"
#include "pg/translate/lookup_key.h"

namespace gpuscan {
namespace {

constexpr uint32 first_slots = 256;

struct varlena *text_at(const UnifiedDictionary *unified, uint32 code) {
    return reinterpret_cast<struct varlena *>(unified->data + unified->offsets[code]);
}

uint32 hash_of(const char *text, Size length) { return static_cast<uint32>(text_hash(text, length)); }

void place(UnifiedDictionary *unified, uint32 hash, uint32 code) {
    uint32 i = hash & (unified->nslots - 1);
    while (unified->slots[i] != 0)
        i = (i + 1) & (unified->nslots - 1);
    unified->slots[i] = code + 1;
}

void *grown(FragmentRun *run, void *old, Size bytes) {
    return old ? repalloc_huge(old, bytes) : MemoryContextAllocHuge(run->context, bytes);
}

void grow_slots(FragmentRun *run, UnifiedDictionary *unified) {
    if (unified->slots)
        pfree(unified->slots);
    unified->nslots = unified->nslots ? unified->nslots * 2 : first_slots;
    unified->slots = static_cast<uint32 *>(
        MemoryContextAllocExtended(run->context, unified->nslots * sizeof(uint32), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    for (uint32 code = 0; code < unified->count; ++code) {
        struct varlena *text = text_at(unified, code);
        place(unified, hash_of(VARDATA(text), VARSIZE(text) - VARHDRSZ), code);
    }
}

void make_room(FragmentRun *run, UnifiedDictionary *unified, Size size) {
    if (unified->count == unified->allocated) {
        unified->allocated = unified->allocated ? unified->allocated * 2 : 256;
        unified->offsets = static_cast<Size *>(grown(run, unified->offsets, unified->allocated * sizeof(Size)));
    }
    if (unified->data_used + size > unified->data_allocated) {
        Size bytes = unified->data_allocated ? unified->data_allocated * 2 : 8 * 1024;
        while (bytes < unified->data_used + size)
            bytes *= 2;
        unified->data = static_cast<char *>(grown(run, unified->data, bytes));
        unified->data_allocated = bytes;
    }
}

} // namespace

// ---- unified dictionaries on the device ----

void place_unified_dictionaries(FragmentRun *run) {
    const Fragment *fragment = run->fragment;
    bool *has_texts = static_cast<bool *>(palloc0(fragment->nunified + 1));
    for (int i = 0; i < fragment->nunified; ++i)
        run->unified_dictionaries[i].on_device = true;
    for (int i = 0; i < fragment->nlookups; ++i) {
        const FragmentLookup *lookup = &fragment->lookups[i];
        if (lookup->unified == 0)
            continue;
        UnifiedDictionary *unified = &run->unified_dictionaries[lookup->unified - 1];
        unified->on_device = unified->on_device && lookup_is_cacheable(lookup);
        has_texts[lookup->unified - 1] = true;
    }
    for (int i = 0; i < fragment->nunified; ++i) // (of constants alone: nothing to keep)
        run->unified_dictionaries[i].on_device = run->unified_dictionaries[i].on_device && has_texts[i];
}

static void append_part(StringInfo message, uint32 index, const char *data, Size length) {
    const protocol::UnifiedText head = {index, static_cast<uint32>(length)};
    appendBinaryStringInfo(message, reinterpret_cast<const char *>(&head), sizeof head);
    appendBinaryStringInfo(message, data, length);
    while (message->len % 8 != 0)
        appendStringInfoChar(message, '\0');
}

static bool use_unified_dictionary(FragmentRun *run, int number) {
    const Fragment *fragment = run->fragment;
    protocol::UseUnifiedDictionaryRequest head = {};
    head.unified = number;
    StringInfoData message, key;
    initStringInfo(&message);
    initStringInfo(&key);
    appendBinaryStringInfo(&message, reinterpret_cast<const char *>(&head), sizeof head);
    for (int i = 0; i < fragment->nlookups; ++i) {
        if (fragment->lookups[i].unified != number)
            continue;
        resetStringInfo(&key);
        append_lookup_key(&key, &fragment->lookups[i]);
        append_part(&message, i, key.data, key.len);
        ++head.nlookups;
    }
    for (int i = 0; i < fragment->nconstants; ++i) {
        const UnifiedConstant *constant = &run->unified_constants[i];
        if (!constant->is_set || fragment->constants[i].unified != number)
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
    return request(run, protocol::Command::UseUnifiedDictionary, message.len, 0);
}

bool use_unified_dictionaries(FragmentRun *run) {
    for (int i = 0; i < run->fragment->nunified; ++i)
        if (run->unified_dictionaries[i].on_device && !use_unified_dictionary(run, i + 1))
            return false;
    return true;
}

// ---- unified dictionaries of an execution ----

uint32 unified_code(FragmentRun *run, int number, const char *text, Size length) {
    UnifiedDictionary *unified = &run->unified_dictionaries[number - 1];
    const uint32 hash = hash_of(text, length);
    if (unified->nslots > 0)
        for (uint32 i = hash & (unified->nslots - 1); unified->slots[i] != 0; i = (i + 1) & (unified->nslots - 1)) {
            struct varlena *other = text_at(unified, unified->slots[i] - 1);
            if (VARSIZE(other) - VARHDRSZ == length && memcmp(VARDATA(other), text, length) == 0)
                return unified->slots[i] - 1;
        }
    if ((unified->count + 1) * uint64(2) > unified->nslots)
        grow_slots(run, unified);
    make_room(run, unified, aligned(VARHDRSZ + length));
    struct varlena *entry = reinterpret_cast<struct varlena *>(unified->data + unified->data_used);
    SET_VARSIZE(entry, VARHDRSZ + length);
    memcpy(VARDATA(entry), text, length);
    unified->offsets[unified->count] = unified->data_used;
    unified->data_used += aligned(VARHDRSZ + length);
    place(unified, hash, unified->count);
    return unified->count++;
}

bool unified_dictionary_fits(FragmentRun *run, int number) {
    const UnifiedDictionary *unified = &run->unified_dictionaries[number - 1];
    const Size bytes = unified->data_used + unified->count * Dictionary::entry_bytes;
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

uint32 unified_code_of_datum(FragmentRun *run, int unified, Datum text, int typlen, bool is_bpchar) {
    if (typlen > 0)
        return unified_code(run, unified, DatumGetPointer(text), typlen);
    struct varlena *packed = PG_DETOAST_DATUM_PACKED(text);
    int length = VARSIZE_ANY_EXHDR(packed);
    if (is_bpchar)
        length = bpchartruelen(VARDATA_ANY(packed), length);
    uint32 code = unified_code(run, unified, VARDATA_ANY(packed), length);
    if (reinterpret_cast<Pointer>(packed) != DatumGetPointer(text))
        pfree(packed);
    return code;
}

struct varlena *unified_entry(const FragmentRun *run, int unified, uint32 code) {
    const UnifiedDictionary *texts = &run->unified_dictionaries[unified - 1];
    if (texts->on_device)
        return code < texts->copy.size
                   ? reinterpret_cast<struct varlena *>(texts->copy.data + texts->copy.offsets[code])
                   : nullptr;
    return code < texts->count ? text_at(texts, code) : nullptr;
}

} // namespace gpuscan
