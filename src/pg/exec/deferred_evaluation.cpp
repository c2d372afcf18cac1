// What user functions and casts make of the values that rows bring to them (translate/deferred_lookup.cpp).
//
// Before a pass runs, the device is asked which entries of a dictionary it will look up; they are read, the expression is
// evaluated for each of them, as PostgreSQL would for the first row that has the value, and the results are put into the
// device's table. A lookup that stands behind another one is asked for when that one's table is there.
//
// Functions are called within a subtransaction (attempt.h), so that an error ends the attempt and nothing else: the CPU plan then
// meets it on the row on which PostgreSQL would, or on none.
#include "pg/attempt.h"
#include "pg/catalog/encode.h"
#include "pg/exec/run.h"

namespace gpuscan {
namespace {

constexpr uint32 calls_between_checks = 64;
constexpr Size max_text =
    protocol::slot_buffer_size / 2; // bytes; codes, flags and offsets of a message take less than the rest

// What is asked for at once.
struct Wanted {
    int lookup;
    uint32 count, entries; // of the codes; of the dictionary, which is the code of NULL
    const uint32 *codes;
    DictionaryCopy texts; // of all codes but NULL's, which is the last one
    char *values;
    uint8 *nulls;
    StringInfoData bytes; // of texts that the device numbers, one after the other; ...
    uint32 *ends;         // ... where each ends; NULL: the values are no such texts
};

bool has_deferred(const Fragment *fragment) {
    for (int i = 0; i < fragment->nlookups; ++i)
        if (fragment->lookups[i].deferred)
            return true;
    return false;
}

// False with a failure: a value that the device's type cannot hold. Errors are those of the functions.
bool evaluate(FragmentRun *run, Wanted *wanted, ExprContext *econtext) {
    const FragmentLookup *lookup = &run->fragment->lookups[wanted->lookup];
    const FragmentColumn *column = &run->fragment->sources[lookup->source].columns[lookup->column];
    const int length = get_typlen(lookup->typid);
    const Size width = type_width(lookup->type);
    ExprState *state = start_expression(run, lookup->expr);
    TupleTableSlot *slot = entry_slot(column);
    econtext->ecxt_scantuple = slot;
    bool encoded = true;
    for (uint32 i = 0; encoded && i < wanted->count; ++i) {
        if (i % calls_between_checks == 0)
            CHECK_FOR_INTERRUPTS();
        bool null;
        ExecClearTuple(slot);
        slot->tts_isnull[0] = wanted->codes[i] == wanted->entries;
        slot->tts_values[0] =
            slot->tts_isnull[0]
                ? Datum(0)
                : entry_datum(reinterpret_cast<struct varlena *>(wanted->texts.data + wanted->texts.offsets[i]),
                              column->codec == Codec::Fixed);
        ExecStoreVirtualTuple(slot);
        const Datum result = ExecEvalExprSwitchContext(state, econtext, &null);
        ir::Value value = {};
        const char *reason = nullptr;
        if (wanted->ends) {
            Size size = 0;
            const char *bytes = null ? "" : bytes_of_datum(result, length, lookup->is_bpchar, &size);
            if (size > max_text)
                encoded = give_up(run, "a text is too long for the device");
            else
                appendBinaryStringInfo(&wanted->bytes, bytes, size);
            wanted->ends[i] = wanted->bytes.len;
        } else if (!null && lookup->kind == LookupKind::Text) {
            MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
            value.low = unified_code_of_datum(run, lookup->unified, result, length, lookup->is_bpchar);
            MemoryContextSwitchTo(old);
            encoded = unified_dictionary_fits(run, lookup->unified);
        } else if (!null && !encode_value(result, lookup->typid, lookup->type, 0, true, &value, &reason)) {
            encoded = give_up(run, "%s", reason);
        }
        wanted->nulls[i] = null;
        if (!wanted->ends)
            store_value(wanted->values + i * width, lookup->type, &value);
        ResetExprContext(econtext);
    }
    ExecDropSingleTupleTableSlot(slot);
    return encoded;
}

struct Evaluation {
    FragmentRun *run;
    Wanted *wanted;
    ExprContext *econtext; // NULL: it has been freed
    bool encoded;
};

void evaluate_wanted(void *argument) {
    Evaluation *e = static_cast<Evaluation *>(argument);
    e->encoded = evaluate(e->run, e->wanted, e->econtext);
    FreeExprContext(e->econtext, true);
    e->econtext = nullptr;
}

// The same, and an error is a failure.
bool evaluate_within_subtransaction(FragmentRun *run, Wanted *wanted) {
    // (Its callbacks end with the subtransaction.)
    Evaluation e{run, wanted, CreateExprContext(run->parent->state), false};
    MemoryContext scratch = AllocSetContextCreate(run->context, "gpuscan functions", ALLOCSET_DEFAULT_SIZES);
    MemoryContext old = MemoryContextSwitchTo(scratch);
    const char *message = "";
    const Attempt outcome = attempt(evaluate_wanted, &e, &message);
    MemoryContextSwitchTo(old);
    if (e.econtext != nullptr)
        FreeExprContext(e.econtext, false);
    if (outcome == Attempt::Impossible)
        give_up(run, "a function that may fail is not called while parallel workers run");
    else if (outcome == Attempt::Failed)
        give_up(run, "a function met an error: %s", message);
    MemoryContextDelete(scratch);
    return outcome == Attempt::Done && e.encoded;
}

// What the device lacks; `lookup` -1: nothing.
bool ask(FragmentRun *run, Wanted *wanted) {
    protocol::DeferredCodesRequest head = {};
    head.pipeline = run->pipeline;
    memcpy(device_input(run->connection), &head, sizeof head);
    if (!request(run, protocol::Command::DeferredCodes, sizeof head, sizeof(protocol::DeferredCodesReply)))
        return false;
    uint32 size;
    const char *output = device_output(run->connection, &size);
    const protocol::DeferredCodesReply *reply = reinterpret_cast<const protocol::DeferredCodesReply *>(output);
    *wanted = Wanted{};
    wanted->lookup = -1;
    if (reply->lookup == ir::none)
        return true;
    const Size at = aligned(sizeof *reply);
    if (reply->lookup >= static_cast<uint32>(run->fragment->nlookups) ||
        !run->fragment->lookups[reply->lookup].deferred || reply->count > protocol::max_deferred_codes ||
        at + reply->count * sizeof(uint32) > size)
        return give_up(run, "the device's reply is too short");
    wanted->lookup = static_cast<int>(reply->lookup);
    wanted->count = reply->count;
    wanted->entries = reply->entries;
    uint32 *codes = static_cast<uint32 *>(palloc((reply->count + 1) * sizeof(uint32)));
    memcpy(codes, output + at, reply->count * sizeof(uint32));
    wanted->codes = codes;
    return true;
}

// The codes of a message, behind its head; returns where they end.
Size put_codes(FragmentRun *run, const Wanted *wanted, uint32 first, uint32 count) {
    protocol::PutEntriesRequest head = {};
    head.lookup = wanted->lookup;
    head.count = count;
    head.as_texts = wanted->ends != nullptr;
    char *input = device_input(run->connection);
    memcpy(input, &head, sizeof head);
    memcpy(input + aligned(sizeof head), wanted->codes + first, count * sizeof(uint32));
    return aligned(sizeof head) + aligned(count * sizeof(uint32));
}

bool put(FragmentRun *run, const Wanted *wanted, Type type) {
    char *input = device_input(run->connection);
    Size size = put_codes(run, wanted, 0, wanted->count);
    memcpy(input + size, wanted->values, wanted->count * type_width(type));
    size += aligned(wanted->count * type_width(type));
    memcpy(input + size, wanted->nulls, wanted->count);
    return request(run, protocol::Command::PutEntries, size + wanted->count, 0);
}

// As many texts at once as a message holds.
bool put_texts(FragmentRun *run, const Wanted *wanted) {
    char *input = device_input(run->connection);
    for (uint32 first = 0; first < wanted->count;) {
        const uint32 begin = first == 0 ? 0 : wanted->ends[first - 1];
        uint32 count = 0;
        while (first + count < wanted->count && wanted->ends[first + count] - begin <= max_text)
            ++count;
        Size size = put_codes(run, wanted, first, count);
        memcpy(input + size, wanted->nulls + first, count);
        size += aligned(count);
        for (uint32 i = 0; i <= count; ++i) {
            const uint32 offset = (first + i == 0 ? 0 : wanted->ends[first + i - 1]) - begin;
            memcpy(input + size + i * sizeof offset, &offset, sizeof offset);
        }
        size += aligned((count + 1) * sizeof(uint32));
        const uint32 bytes = wanted->ends[first + count - 1] - begin;
        memcpy(input + size, wanted->bytes.data + begin, bytes);
        if (!request(run, protocol::Command::PutEntries, size + bytes, 0))
            return false;
        first += count;
    }
    return true;
}

bool meet(FragmentRun *run, Wanted *wanted) {
    const FragmentLookup *lookup = &run->fragment->lookups[wanted->lookup];
    const bool null = wanted->count > 0 && wanted->codes[wanted->count - 1] == wanted->entries; // codes ascend
    uint32 size;
    if (!read_codes(run, lookup->source, lookup->column, wanted->codes, wanted->count - (null ? 1 : 0), &wanted->texts,
                    &size))
        return false;
    wanted->values = static_cast<char *>(palloc0((wanted->count + 1) * type_width(lookup->type)));
    wanted->nulls = static_cast<uint8 *>(palloc0(wanted->count + 1));
    const bool as_texts = lookup->unified != 0 && run->unified_dictionaries[lookup->unified - 1].on_device;
    if (as_texts) {
        initStringInfo(&wanted->bytes);
        wanted->ends = static_cast<uint32 *>(palloc((wanted->count + 1) * sizeof(uint32)));
    }
    if (!evaluate_within_subtransaction(run, wanted) ||
        !(as_texts ? put_texts(run, wanted) : put(run, wanted, lookup->type)))
        return false;
    if (as_texts) {
        pfree(wanted->bytes.data);
        pfree(wanted->ends);
    }
    run->report.entries_deferred += wanted->count;
    if (wanted->texts.data)
        pfree(wanted->texts.data);
    if (wanted->texts.offsets)
        pfree(wanted->texts.offsets);
    return true;
}

} // namespace

bool evaluate_deferred(FragmentRun *run) {
    if (!has_deferred(run->fragment))
        return true;
    for (;;) {
        Wanted wanted;
        if (!ask(run, &wanted))
            return false;
        if (wanted.lookup < 0)
            return true;
        if (!meet(run, &wanted))
            return false;
        pfree(const_cast<uint32 *>(wanted.codes));
        pfree(wanted.values);
        pfree(wanted.nulls);
    }
}

} // namespace gpuscan
