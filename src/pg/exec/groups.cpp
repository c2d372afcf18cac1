// Where are the groups of a run until the executor has asked for all of them?
//
// The device's replies are kept as they come, page by page, so that nothing is copied twice and no array has to grow. All
// of them are fetched before the first group is shown: until then the CPU plan can still answer, afterwards no device is
// needed any more. As many pages stay in memory as a hash aggregation may use (work_mem times hash_mem_multiplier); later
// ones go to a temporary file; where temp_file_limit could turn that into an error, the CPU plan answers instead.
//
// A page is looked at once when it comes (can each of its groups be shown?) and then each time it is shown.
#include "pg/exec/groups.h"

#include "pg/exec/emit.h"

namespace gpuscan {
namespace {

// Makes a page's groups those of `run`. False: it has another form than the fragment's groups.
bool open_page(FragmentRun *run, const char *page, Size size) {
    const Size nkeys = run->fragment->nkeys, naggregates = run->fragment->naggregates;
    const protocol::FetchReply *head = reinterpret_cast<const protocol::FetchReply *>(page);
    const Size ngroups = head->ngroups;
    const Size keys = aligned(sizeof *head);
    const Size states = keys + ngroups * nkeys * sizeof(ir::Value);
    const Size nulls = states + ngroups * naggregates * sizeof(ir::AggregateState);
    if (head->nkeys != nkeys || head->naggregates != naggregates || nulls + ngroups * nkeys > size)
        return false;
    GroupPage *current = &run->groups.current;
    current->ngroups = ngroups;
    current->next = 0;
    current->keys = reinterpret_cast<const ir::Value *>(page + keys);
    current->states = reinterpret_cast<const ir::AggregateState *>(page + states);
    current->key_nulls = reinterpret_cast<const uint8 *>(page + nulls);
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
    store->shown_pages = 0;
    store->read_bytes = 0;
    store->started = false;
}

bool groups_next(FragmentRun *run) {
    GroupPage *page = &run->groups.current;
    if (!run->groups.started)
        run->groups.started = true;
    else if (page->next < page->ngroups)
        ++page->next;
    while (page->next >= page->ngroups)
        if (!next_page(run))
            return false;
    return true;
}

void groups_close(FragmentRun *run) {
    if (run->groups.file)
        BufFileClose(run->groups.file);
    run->groups = GroupStore();
}

} // namespace gpuscan
