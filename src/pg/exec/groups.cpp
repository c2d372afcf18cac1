// Where are the groups of a run until the executor has asked for all of them?
//
// The device's replies are kept as they come, page by page (result_spool.h), so that nothing is copied twice. All of them are
// fetched before the first group is shown: until then the CPU plan can still answer, afterwards no device is needed any
// more. As many pages stay in memory as a hash aggregation may use (work_mem times hash_mem_multiplier).
//
// A page is looked at once when it comes: can each of its groups be shown? Its columns' frames mostly tell that without a
// look at the groups. It is shown some groups at a time: they are unpacked, each output is made Datums of in a loop of its
// own (emit.cpp) in an array that lies group by group, and a tuple is one copy of its piece of the array.
#include "pg/exec/groups.h"

#include <algorithm>

#include "pg/catalog/encode.h"
#include "pg/exec/code_set.h"
#include "pg/exec/emit.h"
#include "pg/exec/result_spool.h"
#include "pg/fragment/column_form.h"

namespace gpuscan {

struct GroupStore {
    ResultSpool replies;
    uint64 ngroups;
    protocol::GroupPart *parts;   // of the open page, one for each key and two for each aggregate
    uint64 page_groups, unpacked; // of the open page: groups, and how many have been in `slice`
    GroupPage slice;
    ir::Value *keys; // of `slice`
    uint8 *key_nulls;
    ir::AggregateState *states;
    // What is being shown.
    const RowTargets *targets;
    MemoryContext values; // of the slice
    Datum *datums;        // slice_groups * targets
    bool *nulls;          // slice_groups * targets
    char **numerics;      // per target: slice_groups * numeric_room bytes, where it may be a numeric
    uint64 shown;         // of the slice
};

namespace {

constexpr Size slice_groups = 256; // they stay in the processor's first caches

GroupStore *make_store(FragmentRun *run) {
    const Size nkeys = run->fragment->nkeys, naggregates = run->fragment->naggregates;
    MemoryContext old = MemoryContextSwitchTo(run->context);
    GroupStore *store = static_cast<GroupStore *>(palloc0(sizeof(GroupStore)));
    store->parts =
        static_cast<protocol::GroupPart *>(palloc0((nkeys + 2 * naggregates + 1) * sizeof(protocol::GroupPart)));
    store->keys = static_cast<ir::Value *>(palloc((nkeys * slice_groups + 1) * sizeof(ir::Value)));
    store->key_nulls = static_cast<uint8 *>(palloc0(nkeys * slice_groups + 1));
    store->states =
        static_cast<ir::AggregateState *>(palloc((naggregates * slice_groups + 1) * sizeof(ir::AggregateState)));
    store->values = AllocSetContextCreate(run->context, "GpuScan groups", ALLOCSET_DEFAULT_SIZES);
    MemoryContextSwitchTo(old);
    return store;
}

// Makes a page the one whose groups are unpacked. False: it has another form than the fragment's groups.
bool open_page(FragmentRun *run, const char *page, Size size) {
    GroupStore *store = run->groups;
    store->page_groups = store->unpacked = 0;
    store->slice = GroupPage();
    if (!protocol::open_group_page(page, size, run->fragment->nkeys, run->fragment->naggregates, store->parts))
        return false;
    store->slice.keys = store->keys;
    store->slice.key_nulls = store->key_nulls;
    store->slice.states = store->states;
    store->page_groups = reinterpret_cast<const protocol::FetchReply *>(page)->ngroups;
    return true;
}

// The next groups of the page; false: there are none.
bool unpack_groups(FragmentRun *run) {
    GroupStore *store = run->groups;
    const Size nkeys = run->fragment->nkeys, naggregates = run->fragment->naggregates;
    const Size first = store->unpacked;
    const Size n = store->page_groups - first < slice_groups ? store->page_groups - first : slice_groups;
    store->slice.ngroups = n;
    if (n == 0)
        return false;
    for (Size k = 0; k < nkeys; ++k) {
        const protocol::GroupPart *part = &store->parts[k];
        protocol::unpack_group_part(*part, first, n, &store->keys[k].low, &store->keys[k].high,
                                    nkeys * sizeof(ir::Value));
        for (Size i = 0; i < n; ++i)
            store->key_nulls[i * nkeys + k] = part->nulls ? part->nulls[first + i] : 0;
    }
    for (Size a = 0; a < naggregates; ++a) {
        const protocol::GroupPart *count = &store->parts[nkeys + 2 * a], *value = count + 1;
        ir::AggregateState *to = &store->states[a];
        const Size stride = naggregates * sizeof(ir::AggregateState);
        protocol::unpack_group_part(*count, first, n, &to->count, nullptr, stride);
        protocol::unpack_group_part(*value, first, n, &to->low, &to->high, stride);
    }
    store->unpacked += n;
    return true;
}

// The next groups of this page or a later one; false: there are none.
bool next_slice(FragmentRun *run) {
    GroupStore *store = run->groups;
    while (!unpack_groups(run)) {
        const char *page;
        uint32 size;
        if (!replies_next(run, &store->replies, &page, &size))
            return false;
        if (!open_page(run, page, size))
            elog(ERROR, "gpuscan: a page of groups is damaged");
    }
    return true;
}

void rewind_groups(GroupStore *store) {
    replies_rewind(&store->replies);
    store->page_groups = store->unpacked = store->shown = 0;
    store->slice = GroupPage();
}

// ---- taking them ----

// Do the frames of the page's columns tell that all of its groups can be shown?
bool is_error_free_page(const FragmentRun *run) {
    const Fragment *fragment = run->fragment;
    for (int i = 0; i < fragment->noutputs; ++i) {
        const FragmentOutput *output = &fragment->outputs[i];
        if (!has_unfit_values(output))
            continue;
        if (output->kind != OutputKind::SumInt8)
            return false;
        const protocol::GroupColumn *value = &run->groups->parts[fragment->nkeys + 2 * output->agg + 1].column;
        if (value->high != protocol::GroupColumn::sign &&
            !(value->high == protocol::GroupColumn::zero && value->base >= 0))
            return false;
    }
    return true;
}

bool add_page(FragmentRun *run, const char *page, Size size) {
    GroupStore *store = run->groups;
    if (!open_page(run, page, size))
        return give_up(run, "the device's groups have another form");
    store->ngroups += store->page_groups;
    if (!is_error_free_page(run))
        while (unpack_groups(run))
            if (!groups_can_be_shown(run, &store->slice))
                return false;
    return replies_add(run, &store->replies, page, size, get_hash_memory_limit(), "groups");
}

// ---- their texts ----

bool shows_dictionary(const FragmentOutput *output) {
    return output->unified == 0 && (output->type == Type::Code || output->rank_lookup >= 0);
}

// The first output that shows texts of the same dictionary: theirs is one set.
int first_of_dictionary(const Fragment *fragment, int output) {
    const FragmentOutput *of = &fragment->outputs[output];
    for (int i = 0; i < output; ++i)
        if (shows_dictionary(&fragment->outputs[i]) && fragment->outputs[i].source == of->source &&
            fragment->outputs[i].column == of->column)
            return i;
    return output;
}

void search_codes(FragmentRun *run, CodeSet *sets) {
    const Fragment *fragment = run->fragment;
    rewind_groups(run->groups);
    while (next_slice(run))
        for (int i = 0; i < fragment->noutputs; ++i) {
            if (!shows_dictionary(&fragment->outputs[i]))
                continue;
            CodeSet *set = &sets[first_of_dictionary(fragment, i)];
            uint32 code;
            for (uint64 g = 0; g < run->groups->slice.ngroups; ++g)
                if (code_of_group(run, &run->groups->slice, &fragment->outputs[i], g, &code))
                    code_set_add(run, set, code);
        }
}

// What the device has as ranks of the entries themselves becomes codes.
bool fetch_ranked_codes(FragmentRun *run) {
    const Fragment *fragment = run->fragment;
    for (int i = 0; i < fragment->noutputs; ++i) {
        const FragmentOutput *output = &fragment->outputs[i];
        if (!shows_dictionary(output) || output->rank_lookup < 0)
            continue;
        CodeSet ranks = {};
        uint32 rank;
        rewind_groups(run->groups);
        while (next_slice(run))
            for (uint64 g = 0; g < run->groups->slice.ngroups; ++g)
                if (rank_of_group(run, &run->groups->slice, output, g, &rank))
                    code_set_add(run, &ranks, rank);
        if (!fetch_codes_of_ranks(run, output->rank_lookup, &ranks))
            return false;
    }
    return true;
}

// Texts are shown from their dictionaries, which must be here before the connection goes.
bool fetch_group_texts(FragmentRun *run) {
    const Fragment *fragment = run->fragment;
    CodeSet *sets = static_cast<CodeSet *>(palloc0(sizeof(CodeSet) * static_cast<Size>(fragment->noutputs + 1)));
    bool any = false;
    for (int i = 0; i < fragment->noutputs; ++i)
        any = any || shows_dictionary(&fragment->outputs[i]);
    if (any) {
        if (!fetch_ranked_codes(run))
            return false;
        search_codes(run, sets);
    }
    for (int i = 0; i < fragment->noutputs; ++i) {
        const int unified = fragment->outputs[i].unified;
        if (unified != 0 && run->unified_dictionaries[unified - 1].on_device && !read_unified_dictionary(run, unified))
            return false;
    }
    for (int i = 0; i < fragment->noutputs; ++i)
        if (sets[i].count > 0 && !fetch_texts(run, fragment->outputs[i].source, fragment->outputs[i].column, &sets[i]))
            return false;
    return true;
}

// ---- keys that the device tells apart by their bytes ----

struct HashedCode {
    uint32 hash, code;
};

int compare_hashes(const void *a, const void *b) {
    const uint32 x = static_cast<const HashedCode *>(a)->hash, y = static_cast<const HashedCode *>(b)->hash;
    return x < y ? -1 : x > y;
}

Datum entry_of_key(const FragmentRun *run, const FragmentOutput *output, uint32 code) {
    return entry_datum(dictionary_entry(run, output->source, output->column, code), output->fixed_length);
}

// Each different value that the groups have, with its hash by the type's hash function.
HashedCode *hash_keys(FragmentRun *run, const FragmentOutput *output, TypeCacheEntry *type, Oid collation,
                      uint64 *count) {
    const uint32 entries = run->copies[output->source][output->column].size;
    uint8 *seen = static_cast<uint8 *>(palloc_extended(entries + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    const uint64 most = std::min<uint64>(run->groups->ngroups, entries);
    HashedCode *keys = static_cast<HashedCode *>(palloc_extended((most + 1) * sizeof(HashedCode), MCXT_ALLOC_HUGE));
    *count = 0;
    rewind_groups(run->groups);
    while (next_slice(run)) {
        CHECK_FOR_INTERRUPTS();
        for (uint64 g = 0; g < run->groups->slice.ngroups; ++g) {
            uint32 code;
            if (!code_of_group(run, &run->groups->slice, output, g, &code) || seen[code])
                continue;
            seen[code] = 1;
            keys[(*count)++] = {
                DatumGetUInt32(FunctionCall1Coll(&type->hash_proc_finfo, collation, entry_of_key(run, output, code))),
                code};
        }
    }
    pfree(seen);
    return keys;
}

// Equal values in different bytes are two groups here, but one of PostgreSQL's.
bool are_keys_different(FragmentRun *run, const FragmentOutput *output) {
    const FragmentSource *source = &run->fragment->sources[output->source];
    const FragmentColumn *column = &source->columns[output->column];
    TypeCacheEntry *type = lookup_type_cache(column->typid, TYPECACHE_EQ_OPR_FINFO | TYPECACHE_HASH_PROC_FINFO);
    uint64 count;
    HashedCode *keys = hash_keys(run, output, type, column->collation, &count);
    qsort(keys, count, sizeof *keys, compare_hashes);
    for (uint64 i = 0; i < count; ++i)
        for (uint64 j = i + 1; j < count && keys[j].hash == keys[i].hash; ++j) {
            CHECK_FOR_INTERRUPTS();
            if (DatumGetBool(FunctionCall2Coll(&type->eq_opr_finfo, column->collation,
                                               entry_of_key(run, output, keys[i].code),
                                               entry_of_key(run, output, keys[j].code)))) {
                if (source->is_relation)
                    note_tied_values({source->relid, column_number(column), source->leaves != NIL});
                return give_up(run, "equal values of a group are written in different ways");
            }
        }
    pfree(keys);
    return true;
}

// (A key of a unified dictionary is NULL.)
bool are_groups_those_of_postgresql(FragmentRun *run) {
    MemoryContext context = AllocSetContextCreate(run->context, "GpuScan keys", ALLOCSET_DEFAULT_SIZES);
    MemoryContext old = MemoryContextSwitchTo(context);
    bool different = true;
    for (int i = 0; different && i < run->fragment->noutputs; ++i) {
        const FragmentOutput *output = &run->fragment->outputs[i];
        different = !output->by_bytes || output->unified != 0 || are_keys_different(run, output);
    }
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
    return different;
}

} // namespace

bool fetch_groups(FragmentRun *run) {
    run->groups = make_store(run);
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        if (!request(run, protocol::Command::Fetch, 0, sizeof(protocol::FetchReply)))
            return false;
        uint32 size;
        const char *output = device_output(run->connection, &size);
        if (reinterpret_cast<const protocol::FetchReply *>(output)->ngroups == 0)
            break;
        if (!add_page(run, output, size))
            return false;
    }
    run->report.groups_spilled = run->groups->replies.spilled;
    return fetch_group_texts(run) && are_groups_those_of_postgresql(run);
}

void release_groups(GroupStore *store) {
    if (store)
        replies_close(&store->replies);
}

// ---- showing them ----

void begin_groups(FragmentRun *run, const RowTargets *targets) {
    GroupStore *store = run->groups;
    rewind_groups(store);
    if (store->targets == targets)
        return;
    MemoryContext old = MemoryContextSwitchTo(run->context);
    const Size count = static_cast<Size>(targets->count > 0 ? targets->count : 1);
    store->targets = targets;
    store->datums = static_cast<Datum *>(palloc0(slice_groups * count * sizeof(Datum)));
    store->nulls = static_cast<bool *>(palloc0(slice_groups * count));
    store->numerics = static_cast<char **>(palloc0(count * sizeof(char *)));
    for (int i = 0; i < targets->count; ++i)
        if (shows_plain_numeric(&run->fragment->outputs[targets->columns[i]]))
            store->numerics[i] = static_cast<char *>(palloc(slice_groups * numeric_room));
    MemoryContextSwitchTo(old);
}

bool next_group(FragmentRun *run, TupleTableSlot *slot) {
    GroupStore *store = run->groups;
    const int count = store->targets->count;
    if (unlikely(store->shown >= store->slice.ngroups)) {
        if (!next_slice(run))
            return false;
        store->shown = 0;
        MemoryContextReset(store->values);
        MemoryContext old = MemoryContextSwitchTo(store->values);
        for (int i = 0; i < count; ++i)
            show_groups(run, &store->slice, &run->fragment->outputs[store->targets->columns[i]], count,
                        store->datums + i, store->nulls + i, store->numerics[i]);
        MemoryContextSwitchTo(old);
    }
    memcpy(slot->tts_values, store->datums + store->shown * static_cast<Size>(count), count * sizeof(Datum));
    memcpy(slot->tts_isnull, store->nulls + store->shown * static_cast<Size>(count), count);
    ++store->shown;
    ExecStoreVirtualTuple(slot);
    return true;
}

} // namespace gpuscan
