// Dictionaries and the tables over their codes: PostgreSQL's own functions and collations, once per entry.
//
// The device numbers the texts of a column; the backend reads the entries it does not know yet and evaluates an
// expression for each of them, and for NULL, through ExecInitExpr: privileges, hooks and collations are PostgreSQL's.
// For order (min, max, <) the table holds each entry's rank under the collation; its inverse turns the winning rank
// into a text again. Dictionaries only grow, so a table is sent again only when there are more entries.
//
// A table that depends on nothing but its expression is kept by the device process, which also makes it itself where it knows
// the functions (translate/native_text.cpp). So the backend is asked first what is missing: most often nothing, else the new entries.
//
// A dictionary also holds texts that no row has any more, and pieces of such that never were one: a page may change while it
// is decoded, and of what comes out only the rows are thrown away. The functions that are evaluated here cannot fail for any
// text, but do for bytes that are none in the database's encoding. A dictionary with such bytes is dropped, and the CPU plan
// answers.
#include "pg/catalog/byte_order.h"
#include "pg/catalog/encode.h"
#include "pg/cost/evaluated_texts.h"
#include "pg/exec/run.h"
#include "pg/service/area.h"
#include "pg/translate/lookup_key.h"

namespace gpuscan {
namespace {

constexpr uint32 entries_between_checks = 256;
constexpr uint32 max_codes_asked = 32 * 1024; // about as many short texts as an answer has room for

DictionaryCopy *copy_of(const FragmentRun *run, int source, int column) { return &run->copies[source][column]; }

struct varlena *entry_at(const DictionaryCopy *copy, uint32 code) {
    return reinterpret_cast<struct varlena *>(copy->data + copy->offsets[code]);
}

void append_entry(FragmentRun *run, DictionaryCopy *copy, const char *text, uint32 length) {
    Size size = aligned(VARHDRSZ + Size(length));
    if (copy->size == copy->allocated) {
        uint32 allocated = copy->allocated ? copy->allocated * 2 : 1024;
        Size bytes = allocated * sizeof(Size);
        copy->offsets = static_cast<Size *>(copy->offsets ? repalloc_huge(copy->offsets, bytes)
                                                          : MemoryContextAllocHuge(run->context, bytes));
        copy->allocated = allocated;
    }
    if (copy->data_used + size > copy->data_allocated) {
        Size bytes = copy->data_allocated ? copy->data_allocated * 2 : 32 * 1024;
        while (bytes < copy->data_used + size)
            bytes *= 2;
        copy->data = static_cast<char *>(copy->data ? repalloc_huge(copy->data, bytes)
                                                    : MemoryContextAllocHuge(run->context, bytes));
        copy->data_allocated = bytes;
    }
    struct varlena *entry = reinterpret_cast<struct varlena *>(copy->data + copy->data_used);
    SET_VARSIZE(entry, VARHDRSZ + length);
    memcpy(VARDATA(entry), text, length);
    copy->offsets[copy->size++] = copy->data_used;
    copy->data_used += size;
}

// Lets the device forget what it has cached of a source; its next user begins with an empty dictionary.
bool forget_source(FragmentRun *run, int source) {
    const SourceRelations *relations = &run->relations[source];
    for (int i = 0; i < relations->count; ++i) {
        protocol::EvictRequest head = {};
        head.locator = locator_of(relations->at[i].relation);
        memcpy(device_input(run->connection), &head, sizeof head);
        if (!request(run, protocol::Command::Evict, sizeof head, 0))
            return false;
    }
    return true;
}

// Of a dictionary, or of the texts of a unified dictionary: source == of_unified_dictionary.
bool append_entries(FragmentRun *run, uint32 source, int column, DictionaryCopy *copy, const char *at, const char *end,
                    uint32 count) {
    const bool is_text = source != protocol::of_unified_dictionary &&
                         is_text_kind(sql_kind(run->fragment->sources[source].columns[column].typid));
    for (uint32 i = 0; i < count; ++i) {
        uint32 length;
        if (Size(end - at) < sizeof length)
            return give_up(run, "the device's dictionary is cut short");
        memcpy(&length, at, sizeof length);
        at += sizeof length;
        if (Size(end - at) < length)
            return give_up(run, "the device's dictionary is cut short");
        if (is_text && !pg_verifymbstr(at, length, true))
            return forget_source(run, source) && give_up(run, "a text is not valid in the database's encoding");
        append_entry(run, copy, at, length);
        Size step = (Size(length) + 3) & ~Size(3);
        at += step < Size(end - at) ? step : Size(end - at);
    }
    return true;
}

// Brings a copy of the entries from `skipped` on up to date.
bool read_after(FragmentRun *run, uint32 source, int column, uint32 skipped, DictionaryCopy *copy) {
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        protocol::ReadDictionaryRequest head = {};
        head.source = source;
        head.column = column;
        head.first = skipped + copy->size;
        memcpy(device_input(run->connection), &head, sizeof head);
        if (!request(run, protocol::Command::ReadDictionary, sizeof head, sizeof(protocol::ReadDictionaryReply)))
            return false;
        uint32 size;
        const char *output = device_output(run->connection, &size);
        const protocol::ReadDictionaryReply *reply = reinterpret_cast<const protocol::ReadDictionaryReply *>(output);
        if (copy->known && reply->id != copy->id) { // another dictionary took its place: from the start
            copy->size = 0;
            copy->data_used = 0;
            copy->known = false;
            continue;
        }
        copy->known = true;
        copy->id = reply->id;
        const bool whole = skipped + copy->size + reply->count >= reply->size;
        if (reply->count == 0 && !whole)
            return give_up(run, "the device's dictionary is cut short");
        if (!append_entries(run, source, column, copy, output + aligned(sizeof *reply), output + size, reply->count))
            return false;
        if (whole)
            return true;
    }
}

// ---- the values of a lookup, entries 0..n-1 and n for NULL ----

struct Table {
    uint32 entries;
    Type type;
    char *values;
    uint8 *nulls;
};

Table make_table(FragmentRun *run, uint32 entries, Type type) {
    Table table;
    table.entries = entries;
    table.type = type;
    table.values = static_cast<char *>(
        MemoryContextAllocExtended(run->context, (Size(entries) + 1) * type_width(type), MCXT_ALLOC_HUGE));
    table.nulls = static_cast<uint8 *>(MemoryContextAllocExtended(run->context, Size(entries) + 1, MCXT_ALLOC_HUGE));
    return table;
}

void set_entry(Table *table, uint32 i, const ir::Value *value) {
    static const ir::Value zero;
    table->nulls[i] = value == nullptr;
    store_value(table->values + i * type_width(table->type), table->type, value ? value : &zero);
}

// (which asks whether the user may call the functions)
void prepare_expression(FragmentRun *run, int index) {
    LookupRun *state = &run->lookups[index];
    if (state->expr)
        return;
    MemoryContext old = MemoryContextSwitchTo(run->context); // that of `state`; who feeds has a shorter-lived one
    state->expr = start_expression(run, run->fragment->lookups[index].expr);
    MemoryContextSwitchTo(old);
}

// Calls take(i, value, null) for every entry i as the lookup's expression makes it, and at last for NULL, as long as it
// answers true.
template <class Take> bool each_entry(FragmentRun *run, int index, const DictionaryCopy *copy, Take take) {
    const FragmentLookup *lookup = &run->fragment->lookups[index];
    LookupRun *state = &run->lookups[index];
    ExprContext *econtext = run->econtext;
    prepare_expression(run, index);
    const FragmentColumn *column = &run->fragment->sources[lookup->source].columns[lookup->column];
    TupleTableSlot *slot = entry_slot(column);
    TupleTableSlot *previous = econtext->ecxt_scantuple;
    econtext->ecxt_scantuple = slot;
    bool taken = true;
    for (uint32 i = 0; taken && i <= copy->size; ++i) {
        if (i % entries_between_checks == 0)
            CHECK_FOR_INTERRUPTS();
        bool null;
        ExecClearTuple(slot);
        slot->tts_isnull[0] = i == copy->size;
        slot->tts_values[0] =
            i == copy->size ? Datum(0) : entry_datum(entry_at(copy, i), column->codec == Codec::Fixed);
        ExecStoreVirtualTuple(slot);
        Datum result = ExecEvalExprSwitchContext(state->expr, econtext, &null);
        taken = take(i, result, null);
        ResetExprContext(econtext);
    }
    econtext->ecxt_scantuple = previous;
    ExecDropSingleTupleTableSlot(slot);
    return taken;
}

bool evaluate_entries(FragmentRun *run, int index, const DictionaryCopy *copy, Table *table) {
    const FragmentLookup *lookup = &run->fragment->lookups[index];
    const int length = get_typlen(lookup->typid);
    return each_entry(run, index, copy, [run, lookup, table, length](uint32 i, Datum result, bool null) {
        ir::Value value;
        const char *reason = nullptr;
        if (!null && lookup->kind == LookupKind::Text) {
            set_wide(&value, unified_code_of_datum(run, lookup->unified, result, length, lookup->is_bpchar));
            if (!unified_dictionary_fits(run, lookup->unified))
                return false;
        } else if (!null && !encode_value(result, lookup->typid, lookup->type, 0, true, &value, &reason)) {
            return give_up(run, "%s", reason);
        }
        set_entry(table, i, null ? nullptr : &value);
        return true;
    });
}

// ---- order ----

struct Order {
    const FragmentRun *run;
    const DictionaryCopy *copy;
    Oid collation;
    int unified; // not the entries of `copy` but the texts of this unified dictionary
    bool is_bpchar;
    TypeCacheEntry *type; // of no texts, but values of this type; else NULL
};

struct Bytes {
    const char *at;
    int length;
};

struct varlena *ordered_entry(const Order *order, uint32 code) {
    return order->unified ? unified_entry(order->run, order->unified, code) : entry_at(order->copy, code);
}

Bytes text_of(const Order *order, uint32 code) {
    struct varlena *entry = ordered_entry(order, code);
    const int length = VARSIZE_ANY_EXHDR(entry);
    return {VARDATA_ANY(entry), order->is_bpchar ? bpchartruelen(VARDATA_ANY(entry), length) : length};
}

int compare_entries(const void *a, const void *b, void *argument) {
    const Order *order = static_cast<const Order *>(argument);
    const uint32 left = *static_cast<const uint32 *>(a), right = *static_cast<const uint32 *>(b);
    CHECK_FOR_INTERRUPTS();
    if (order->type != nullptr) {
        const bool fixed = order->type->typlen > 0;
        return DatumGetInt32(FunctionCall2Coll(&order->type->cmp_proc_finfo, order->collation,
                                               entry_datum(ordered_entry(order, left), fixed),
                                               entry_datum(ordered_entry(order, right), fixed)));
    }
    const Bytes x = text_of(order, left), y = text_of(order, right);
    return varstr_cmp(x.at, x.length, y.at, y.length, order->collation);
}

// A text by its first bytes behind those that all texts begin with.
struct Abbreviated {
    uint64 key; // as a number that is ordered as they are
    uint32 code;
};

struct ByteOrder {
    const Order *order;
    int common; // bytes that all texts begin with
};

int compare_bytes(const void *a, const void *b, void *argument) {
    const ByteOrder *bytes = static_cast<const ByteOrder *>(argument);
    const Abbreviated *left = static_cast<const Abbreviated *>(a), *right = static_cast<const Abbreviated *>(b);
    CHECK_FOR_INTERRUPTS();
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    const Bytes x = text_of(bytes->order, left->code), y = text_of(bytes->order, right->code);
    const int order = memcmp(x.at, y.at, static_cast<size_t>(std::min(x.length, y.length)));
    return order != 0 ? order : x.length - y.length;
}

int common_bytes(const Order *order, uint32 n) {
    if (n == 0)
        return 0;
    Bytes first = text_of(order, 0);
    for (uint32 i = 1; i < n && first.length > 0; ++i) {
        const Bytes text = text_of(order, i);
        first.length = std::min(first.length, text.length);
        if (memcmp(first.at, text.at, static_cast<size_t>(first.length)) != 0)
            first.length = static_cast<int>(std::mismatch(first.at, first.at + first.length, text.at).first - first.at);
    }
    return first.length;
}

void *allocate(FragmentRun *run, Size size) { return MemoryContextAllocExtended(run->context, size, MCXT_ALLOC_HUGE); }

// The codes 0..n-1 by their texts' bytes.
void sort_by_bytes(FragmentRun *run, const Order *order, uint32 n, uint32 *sorted) {
    ByteOrder bytes{order, common_bytes(order, n)};
    Abbreviated *texts = static_cast<Abbreviated *>(allocate(run, (Size(n) + 1) * sizeof(Abbreviated)));
    for (uint32 i = 0; i < n; ++i) {
        const Bytes text = text_of(order, i);
        uint64 key = 0;
        memcpy(&key, text.at + bytes.common,
               static_cast<size_t>(std::min<int>(text.length - bytes.common, sizeof key)));
        texts[i] = {pg_ntoh64(key), i};
    }
    qsort_arg(texts, n, sizeof *texts, compare_bytes, &bytes);
    for (uint32 i = 0; i < n; ++i)
        sorted[i] = texts[i].code;
    pfree(texts);
}

// Are the codes in the collation's order? Their ranks then; equal texts share a rank, that of the first of them.
bool rank_sorted(const Order *order, uint32 n, const uint32 *sorted, uint32 *ranks) {
    uint32 rank = 0;
    for (uint32 i = 0; i < n; ++i) {
        const int compared = i == 0 ? 0 : compare_entries(&sorted[i - 1], &sorted[i], const_cast<Order *>(order));
        if (compared > 0)
            return false;
        if (compared < 0)
            rank = i;
        ranks[sorted[i]] = rank;
    }
    return true;
}

// The ranks of codes 0..n-1, and the code of each rank. Most texts' bytes are in the order of the collation, which n - 1 comparisons by
// it show: bytes are compared many times faster. Where they are not, the collation sorts.
uint32 *sort_codes(FragmentRun *run, const Order *order, uint32 n, uint32 **by_rank) {
    uint32 *sorted = static_cast<uint32 *>(allocate(run, (Size(n) + 1) * sizeof(uint32)));
    uint32 *ranks = static_cast<uint32 *>(allocate(run, (Size(n) + 1) * sizeof(uint32)));
    sort_by_bytes(run, order, n, sorted);
    if (!rank_sorted(order, n, sorted, ranks)) {
        qsort_arg(sorted, n, sizeof *sorted, compare_entries, const_cast<Order *>(order));
        rank_sorted(order, n, sorted, ranks);
    }
    *by_rank = sorted;
    return ranks;
}

bool rank_entries(FragmentRun *run, int index, const DictionaryCopy *copy, Table *table) {
    const FragmentLookup *lookup = &run->fragment->lookups[index];
    LookupRun *state = &run->lookups[index];
    const Order order = {run,
                         copy,
                         lookup->collation,
                         lookup->unified,
                         lookup->is_bpchar,
                         OidIsValid(lookup->ordered) ? lookup_type_cache(lookup->ordered, TYPECACHE_CMP_PROC_FINFO)
                                                     : nullptr};
    uint32 *codes = nullptr; // of the entries, in the unified dictionary; count: NULL
    if (lookup->unified) {
        codes = static_cast<uint32 *>(allocate(run, (Size(copy->size) + 1) * sizeof(uint32)));
        if (!each_entry(run, index, copy, [run, lookup, codes](uint32 i, Datum result, bool null) {
                codes[i] = null ? UINT32_MAX : unified_code_of_datum(run, lookup->unified, result, -1, false);
                return null || unified_dictionary_fits(run, lookup->unified);
            }))
            return false;
    }
    if (state->by_rank)
        pfree(state->by_rank);
    state->ranks = lookup->unified ? run->unified_dictionaries[lookup->unified - 1].count : copy->size;
    uint32 *ranks = sort_codes(run, &order, state->ranks, &state->by_rank);
    for (uint32 i = 0; i <= copy->size; ++i) {
        const bool null = codes ? codes[i] == UINT32_MAX : i == copy->size;
        ir::Value value;
        if (!null)
            set_wide(&value, ranks[codes ? codes[i] : i]);
        set_entry(table, i, null ? nullptr : &value);
    }
    pfree(ranks);
    if (codes)
        pfree(codes);
    return true;
}

// ---- sending ----

// Sends the table, which begins with entry `skipped` of the lookup.
bool put_table(FragmentRun *run, int index, const Table *table, uint32 skipped) {
    const Size width = type_width(table->type);
    const uint32 piece = (protocol::slot_buffer_size - 64) / (width + 1);
    for (uint32 first = 0; first <= table->entries; first += piece) {
        uint32 left = table->entries + 1 - first;
        protocol::PutLookupRequest head = {};
        head.lookup = index;
        head.entries = skipped + table->entries;
        head.first = skipped + first;
        head.count = left < piece ? left : piece;
        char *input = device_input(run->connection);
        memcpy(input, &head, sizeof head);
        Size size = aligned(sizeof head);
        memcpy(input + size, table->values + first * width, head.count * width);
        size += aligned(head.count * width);
        memcpy(input + size, table->nulls + first, head.count);
        if (!request(run, protocol::Command::PutLookup, size + head.count, 0))
            return false;
    }
    return true;
}

// Texts on their way into a unified dictionary of the device.
struct TextPiece {
    uint32 count;
    StringInfoData nulls, offsets, bytes;
};

Size piece_size(const TextPiece *piece) {
    return aligned(sizeof(protocol::PutLookupRequest)) + aligned(piece->count) +
           aligned((piece->count + 1) * sizeof(uint32)) + aligned(piece->bytes.len);
}

bool put_texts(FragmentRun *run, int index, TextPiece *piece, uint32 entries, uint32 first) {
    if (piece->count == 0)
        return true;
    protocol::PutLookupRequest head = {};
    head.lookup = index;
    head.entries = entries;
    head.first = first;
    head.count = piece->count;
    head.as_texts = 1;
    const uint32 end = piece->bytes.len;
    appendBinaryStringInfo(&piece->offsets, reinterpret_cast<const char *>(&end), sizeof end);
    char *input = device_input(run->connection);
    memcpy(input, &head, sizeof head);
    Size size = aligned(sizeof head);
    for (const StringInfoData *part : {&piece->nulls, &piece->offsets, &piece->bytes}) {
        size = aligned(size);
        memcpy(input + size, part->data, part->len);
        size += part->len;
    }
    piece->count = 0;
    resetStringInfo(&piece->nulls);
    resetStringInfo(&piece->offsets);
    resetStringInfo(&piece->bytes);
    return request(run, protocol::Command::PutLookup, size, 0);
}

// The texts that the expression makes of the entries, for the device to number.
bool send_texts(FragmentRun *run, int index, const DictionaryCopy *copy, uint32 skipped) {
    const FragmentLookup *lookup = &run->fragment->lookups[index];
    const int length = get_typlen(lookup->typid);
    TextPiece piece = {};
    MemoryContext old = MemoryContextSwitchTo(run->context);
    initStringInfo(&piece.nulls);
    initStringInfo(&piece.offsets);
    initStringInfo(&piece.bytes);
    MemoryContextSwitchTo(old);
    uint32 first = skipped;
    const uint32 entries = skipped + copy->size;
    const bool sent = each_entry(run, index, copy, [&](uint32, Datum result, bool null) {
        Size size = 0;
        const char *bytes = null ? "" : bytes_of_datum(result, length, lookup->is_bpchar, &size);
        if (piece_size(&piece) + size + 64 > protocol::slot_buffer_size) {
            const uint32 count = piece.count;
            if (!put_texts(run, index, &piece, entries, first))
                return false;
            first += count;
            if (piece_size(&piece) + size + 64 > protocol::slot_buffer_size)
                return give_up(run, "a text is too long for the device");
        }
        const uint32 offset = piece.bytes.len;
        appendStringInfoChar(&piece.nulls, null);
        appendBinaryStringInfo(&piece.offsets, reinterpret_cast<const char *>(&offset), sizeof offset);
        appendBinaryStringInfo(&piece.bytes, bytes, size);
        ++piece.count;
        return true;
    });
    return sent && put_texts(run, index, &piece, entries, first);
}

protocol::RankOrder rank_order(const FragmentLookup *lookup) {
    if (OidIsValid(lookup->ordered) || !orders_by_bytes(lookup->collation))
        return protocol::RankOrder::Collation;
    return lookup->is_bpchar ? protocol::RankOrder::BytesWithoutBlanks : protocol::RankOrder::Bytes;
}

// Ranks move when texts come in between; what earlier passes found by the old ranks cannot be merged with new ones.
bool ranks_have_moved(FragmentRun *run, int index, uint64 dictionary, uint32 entries) {
    const LookupRun *state = &run->lookups[index];
    return run->fragment->lookups[index].kind == LookupKind::Rank && state->sent &&
           (state->dictionary != dictionary || state->entries != entries) &&
           !give_up(run, "new texts came up between two passes of an ordered column");
}

// Asks the device for its table of this lookup; *first: the entry from which on it needs what follows, more than there are:
// nothing. `*asked`: it could be asked.
bool use_lookup(FragmentRun *run, int index, bool *asked, uint32 *first) {
    const FragmentLookup *lookup = &run->fragment->lookups[index];
    LookupRun *state = &run->lookups[index];
    *asked = lookup_is_cacheable(lookup) &&
             (lookup->unified == 0 || run->unified_dictionaries[lookup->unified - 1].on_device);
    if (!*asked)
        return true;
    const bool is_rank = lookup->kind == LookupKind::Rank;
    StringInfoData key, function;
    initStringInfo(&key);
    initStringInfo(&function);
    append_lookup_key(&key, lookup);
    if (!is_rank && !lookup->deferred) { // (a deferred one's is that of evaluate_deferred(), in an attempt)
        prepare_expression(run, index);
        append_native_function(&function, lookup);
    }
    protocol::UseLookupRequest head = {};
    if (is_rank)
        head.ranks = rank_order(lookup);
    const Size key_at = aligned(sizeof head), function_at = aligned(key_at + key.len);
    // A long constant (a byte takes four in a key): the results are sent, and not kept.
    if (function_at + function.len > protocol::slot_buffer_size && lookup->kind != LookupKind::Text) {
        *asked = false;
        return true;
    }
    head.lookup = index;
    head.unified = lookup->unified;
    head.key_size = key.len;
    head.function_size = function.len;
    if (function_at + function.len > protocol::slot_buffer_size)
        return give_up(run, "the fragment is too long");
    char *input = device_input(run->connection);
    memcpy(input, &head, sizeof head);
    memcpy(input + key_at, key.data, key.len);
    memcpy(input + function_at, function.data, function.len);
    if (!request(run, protocol::Command::UseLookup, function_at + function.len, sizeof(protocol::UseLookupReply)))
        return false;
    pfree(key.data);
    pfree(function.data);
    const protocol::UseLookupReply *reply = reply_of<protocol::UseLookupReply>(run);
    *first = reply->first;
    if (ranks_have_moved(run, index, reply->dictionary, reply->entries))
        return false;
    state->sent = true;
    state->dictionary = reply->dictionary;
    state->entries = reply->entries;
    return true;
}

// Evaluates what the device has no results of, from entry `first` on.
bool send_rest(FragmentRun *run, int index, uint32 first) {
    const FragmentLookup *lookup = &run->fragment->lookups[index];
    DictionaryCopy rest = {};
    const DictionaryCopy *copy = &rest;
    if (first == 0) {
        if (!read_dictionary(run, lookup->source, lookup->column))
            return false;
        copy = copy_of(run, lookup->source, lookup->column);
    } else if (!read_after(run, lookup->source, lookup->column, first, &rest)) {
        return false;
    }
    run->lookups[index].entries = first + copy->size;
    if (lookup->kind == LookupKind::Text)
        return send_texts(run, index, copy, first);
    Table table = make_table(run, copy->size, lookup->type);
    if (!(lookup->kind == LookupKind::Rank ? rank_entries(run, index, copy, &table)
                                           : evaluate_entries(run, index, copy, &table)) ||
        !put_table(run, index, &table, first))
        return false;
    pfree(table.values);
    pfree(table.nulls);
    return true;
}

bool send_kept_rest(FragmentRun *run, int index, uint32 first) {
    if (!send_rest(run, index, first))
        return false;
    note_evaluated_texts(run->fragment, &run->fragment->lookups[index]);
    return true;
}

bool send_table(FragmentRun *run, int index) {
    const FragmentLookup *lookup = &run->fragment->lookups[index];
    LookupRun *state = &run->lookups[index];
    if (state->sent)
        return true;
    uint8 *nulls = static_cast<uint8 *>(palloc0(lookup->nvalues + 1));
    nulls[lookup->nvalues] = 1;
    const Table table = {lookup->nvalues, lookup->type, reinterpret_cast<char *>(lookup->values), nulls};
    state->sent = put_table(run, index, &table, 0);
    pfree(nulls);
    return state->sent;
}

bool send_lookup(FragmentRun *run, int index) {
    const FragmentLookup *lookup = &run->fragment->lookups[index];
    LookupRun *state = &run->lookups[index];
    bool asked = false;
    uint32 first = 0;
    if (!use_lookup(run, index, &asked, &first))
        return false;
    if (asked)
        return first > state->entries || send_kept_rest(run, index, first);
    if (!read_dictionary(run, lookup->source, lookup->column))
        return false;
    const DictionaryCopy *copy = copy_of(run, lookup->source, lookup->column);
    if (state->sent && state->dictionary == copy->id && state->entries == copy->size)
        return true;
    if (ranks_have_moved(run, index, copy->id, copy->size))
        return false;
    Table table = make_table(run, copy->size, lookup->type);
    if (lookup->kind == LookupKind::Rank ? !rank_entries(run, index, copy, &table)
                                         : !evaluate_entries(run, index, copy, &table))
        return false;
    if (!put_table(run, index, &table, 0))
        return false;
    pfree(table.values);
    pfree(table.nulls);
    state->sent = true;
    state->dictionary = copy->id;
    state->entries = copy->size;
    return true;
}

} // namespace

TupleTableSlot *entry_slot(const FragmentColumn *column) {
    TupleDesc desc = CreateTemplateTupleDesc(1);
    TupleDescInitEntry(desc, 1, "entry", column->typid, column->typmod, 0);
    TupleDescInitEntryCollation(desc, 1, column->collation);
    return MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
}

bool read_dictionary(FragmentRun *run, int source, int column) {
    return read_after(run, source, column, 0, copy_of(run, source, column));
}

bool read_unified_dictionary(FragmentRun *run, int unified) {
    return read_after(run, protocol::of_unified_dictionary, unified, 0, &run->unified_dictionaries[unified - 1].copy);
}

bool read_codes(FragmentRun *run, int source, int column, const uint32 *codes, uint32 count, DictionaryCopy *piece,
                uint32 *size) {
    uint64 id = 0;
    *size = 0;
    while (piece->size < count) {
        CHECK_FOR_INTERRUPTS();
        char *input = device_input(run->connection);
        protocol::ReadDictionaryRequest head = {};
        head.source = source;
        head.column = column;
        head.ncodes = std::min(count - piece->size, max_codes_asked);
        memcpy(input, &head, sizeof head);
        memcpy(input + aligned(sizeof head), codes + piece->size, head.ncodes * sizeof(uint32));
        if (!request(run, protocol::Command::ReadDictionary, aligned(sizeof head) + head.ncodes * sizeof(uint32),
                     sizeof(protocol::ReadDictionaryReply)))
            return false;
        uint32 got;
        const char *output = device_output(run->connection, &got);
        const protocol::ReadDictionaryReply *reply = reinterpret_cast<const protocol::ReadDictionaryReply *>(output);
        if (reply->count == 0 || reply->count > head.ncodes || (piece->size > 0 && reply->id != id))
            return give_up(run, "the device's dictionary is cut short");
        id = reply->id;
        *size = reply->size;
        if (!append_entries(run, source, column, piece, output + aligned(sizeof *reply), output + got, reply->count))
            return false;
    }
    return true;
}

bool read_entries(FragmentRun *run, int source, int column, const uint32 *codes, uint32 count) {
    DictionaryCopy piece = {}; // the entries in the order of `codes`
    uint32 size = 0;
    if (!read_codes(run, source, column, codes, count, &piece, &size))
        return false;
    Size *offsets = static_cast<Size *>(MemoryContextAllocHuge(run->context, (Size(size) + 1) * sizeof(Size)));
    for (uint32 i = 0; i < count; ++i) {
        if (codes[i] >= size)
            return give_up(run, "the device's dictionary is cut short");
        offsets[codes[i]] = piece.offsets[i];
    }
    DictionaryCopy *copy = copy_of(run, source, column);
    *copy = piece;
    copy->offsets = offsets;
    copy->size = copy->allocated = size;
    return true;
}

bool read_codes_of_ranks(FragmentRun *run, int index, const uint32 *ranks, uint32 count) {
    LookupRun *state = &run->lookups[index];
    if (!state->by_rank) {
        state->ranks = state->entries;
        state->by_rank = static_cast<uint32 *>(allocate(run, (Size(state->ranks) + 1) * sizeof(uint32)));
    }
    constexpr uint32 piece = protocol::slot_buffer_size / sizeof(uint32) / 2;
    for (uint32 done = 0; done < count;) {
        CHECK_FOR_INTERRUPTS();
        protocol::CodesOfRanksRequest head = {};
        head.lookup = index;
        head.count = std::min(piece, count - done);
        char *input = device_input(run->connection);
        memcpy(input, &head, sizeof head);
        memcpy(input + aligned(sizeof head), ranks + done, head.count * sizeof(uint32));
        if (!request(run, protocol::Command::CodesOfRanks, aligned(sizeof head) + head.count * sizeof(uint32),
                     head.count * sizeof(uint32)))
            return false;
        uint32 size;
        const char *output = device_output(run->connection, &size);
        const uint32 *codes = reinterpret_cast<const uint32 *>(output);
        for (uint32 i = 0; i < head.count; ++i) {
            const uint32 rank = ranks[done + i];
            if (rank >= state->ranks)
                return give_up(run, "the device's results have another form");
            state->by_rank[rank] = codes[i];
        }
        done += head.count;
    }
    return true;
}

// Of a deferred one only the key, and once: its entries are asked for by evaluate_deferred().
static bool tell_key(FragmentRun *run, int index) {
    bool asked;
    uint32 first;
    return run->lookups[index].sent || use_lookup(run, index, &asked, &first);
}

bool send_lookups(FragmentRun *run, int source) {
    for (int i = 0; i < run->fragment->nlookups; ++i) {
        const FragmentLookup *lookup = &run->fragment->lookups[i];
        const bool is_table = lookup->kind == LookupKind::Table;
        if (!is_table && lookup->source != source)
            continue;
        if (!(is_table ? send_table(run, i) : lookup->deferred ? tell_key(run, i) : send_lookup(run, i)))
            return false;
    }
    return true;
}

struct varlena *dictionary_entry(const FragmentRun *run, int source, int column, uint32 code) {
    const DictionaryCopy *copy = copy_of(run, source, column);
    return code < copy->size ? entry_at(copy, code) : nullptr;
}

} // namespace gpuscan
