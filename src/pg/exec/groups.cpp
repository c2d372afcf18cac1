// Where are the groups of a run until the executor has asked for all of them?
//
// The device's replies are kept as they come, page by page, so that nothing is copied twice and no array has to grow. All
// of them are fetched before the first group is shown: until then the CPU plan can still answer, afterwards no device is
// needed any more. As many pages stay in memory as a hash aggregation may use (work_mem times hash_mem_multiplier); later
// ones go to a temporary file; where temp_file_limit could turn that into an error, the CPU plan answers instead.
//
// A page is looked at once when it comes (can each of its groups be shown?) and then each time it is shown; it is unpacked
// some groups at a time.
#include "pg/exec/groups.h"

#include "pg/exec/emit.h"

namespace gpuscan {
namespace {

constexpr Size unpacked_groups = 1024; // at a time: they stay in the processor's cache

void make_room(FragmentRun *run) {
    GroupStore *store = &run->groups;
    const Size nkeys = run->fragment->nkeys, naggregates = run->fragment->naggregates;
    MemoryContext old = MemoryContextSwitchTo(run->context);
    store->parts =
        static_cast<protocol::GroupPart *>(palloc0((nkeys + 2 * naggregates + 1) * sizeof(protocol::GroupPart)));
    store->keys = static_cast<ir::Value *>(palloc((nkeys * unpacked_groups + 1) * sizeof(ir::Value)));
    store->key_nulls = static_cast<uint8 *>(palloc0(nkeys * unpacked_groups + 1));
    store->states =
        static_cast<ir::AggregateState *>(palloc((naggregates * unpacked_groups + 1) * sizeof(ir::AggregateState)));
    MemoryContextSwitchTo(old);
}

// Makes a page's groups those of `run`. False: it has another form than the fragment's groups.
bool open_page(FragmentRun *run, const char *page, Size size) {
    GroupStore *store = &run->groups;
    if (!store->parts)
        make_room(run);
    if (!protocol::open_group_page(page, size, run->fragment->nkeys, run->fragment->naggregates, store->parts))
        return false;
    store->current = GroupPage();
    store->current.keys = store->keys;
    store->current.key_nulls = store->key_nulls;
    store->current.states = store->states;
    store->page_groups = reinterpret_cast<const protocol::FetchReply *>(page)->ngroups;
    store->unpacked = 0;
    return true;
}

// The next groups of the page; false: there are none.
bool unpack_groups(FragmentRun *run) {
    GroupStore *store = &run->groups;
    const Size nkeys = run->fragment->nkeys, naggregates = run->fragment->naggregates;
    const Size first = store->unpacked;
    const Size n = store->page_groups - first < unpacked_groups ? store->page_groups - first : unpacked_groups;
    store->current.ngroups = n;
    store->current.next = 0;
    if (n == 0) // or there has never been a page
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

void store_in_memory(FragmentRun *run, const char *page, Size size) {
    GroupStore *store = &run->groups;
    MemoryContext old = MemoryContextSwitchTo(run->context);
    if (store->npages == store->allocated) {
        store->allocated = store->allocated ? store->allocated * 2 : 16;
        const Size bytes = store->allocated * sizeof(StoredPage);
        store->pages = static_cast<StoredPage *>(store->pages ? repalloc_huge(store->pages, bytes) : palloc(bytes));
    }
    StoredPage *to = &store->pages[store->npages++];
    to->size = size;
    to->data = static_cast<char *>(palloc(size));
    memcpy(to->data, page, size);
    store->bytes += size;
    MemoryContextSwitchTo(old);
}

bool store_in_file(FragmentRun *run, const char *page, Size size) {
    GroupStore *store = &run->groups;
    if (temp_file_limit >= 0)
        return give_up(run, "the groups do not fit into work_mem, and temp_file_limit is set");
    MemoryContext old = MemoryContextSwitchTo(run->context);
    if (!store->file)
        store->file = BufFileCreateTemp(false);
    MemoryContextSwitchTo(old);
    BufFileWrite(store->file, &size, sizeof size);
    BufFileWrite(store->file, const_cast<char *>(page), size);
    store->bytes_on_disk += sizeof size + size;
    return true;
}

void read_file(GroupStore *store, void *to, Size size) {
    if (BufFileRead(store->file, to, size) != size)
        ereport(ERROR, (errcode_for_file_access(), errmsg("could not read from the temporary file of groups")));
}

void show_page(FragmentRun *run, const char *page, Size size) {
    if (!open_page(run, page, size))
        elog(ERROR, "gpuscan: a page of groups is damaged");
}

// The page after the current one; false: there is none.
bool next_page(FragmentRun *run) {
    GroupStore *store = &run->groups;
    const uint64 page = store->shown_pages;
    if (page < store->npages) {
        ++store->shown_pages;
        show_page(run, store->pages[page].data, store->pages[page].size);
        return true;
    }
    if (store->read_bytes == store->bytes_on_disk)
        return false;
    if (store->read_bytes == 0 && BufFileSeek(store->file, 0, 0, SEEK_SET) != 0)
        ereport(ERROR, (errcode_for_file_access(), errmsg("could not rewind the temporary file of groups")));
    Size size;
    read_file(store, &size, sizeof size);
    if (size > protocol::slot_buffer_size)
        elog(ERROR, "gpuscan: a page of groups is damaged");
    if (!store->buffer)
        store->buffer = static_cast<char *>(MemoryContextAlloc(run->context, protocol::slot_buffer_size));
    read_file(store, store->buffer, size);
    store->read_bytes += sizeof size + size;
    show_page(run, store->buffer, size);
    return true;
}

} // namespace

bool groups_add(FragmentRun *run, const char *reply, Size size) {
    GroupStore *store = &run->groups;
    if (!open_page(run, reply, size) || size > protocol::slot_buffer_size)
        return give_up(run, "the device's groups have another form");
    while (unpack_groups(run))
        for (GroupPage *page = &store->current; page->next < page->ngroups; ++page->next)
            if (!group_can_be_shown(run))
                return false;
    if (store->file || store->bytes + size > get_hash_memory_limit())
        return store_in_file(run, reply, size);
    store_in_memory(run, reply, size);
    return true;
}

void groups_rewind(FragmentRun *run) {
    GroupStore *store = &run->groups;
    store->current = GroupPage();
    store->page_groups = store->unpacked = 0;
    store->shown_pages = 0;
    store->read_bytes = 0;
    store->started = false;
}

bool groups_next(FragmentRun *run) {
    GroupPage *page = &run->groups.current;
    if (!run->groups.started) { // what it had when it came was only looked at
        run->groups.started = true;
        *page = GroupPage();
        run->groups.page_groups = run->groups.unpacked = 0;
    } else if (page->next < page->ngroups) {
        ++page->next;
    }
    while (page->next >= page->ngroups)
        if (!unpack_groups(run) && !next_page(run))
            return false;
    return true;
}

void groups_close(FragmentRun *run) {
    if (run->groups.file)
        BufFileClose(run->groups.file);
    run->groups = GroupStore();
}

} // namespace gpuscan
