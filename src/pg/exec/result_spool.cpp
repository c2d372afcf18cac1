// Where are groups and rows between the device and the executor? See result_spool.h.
#include "pg/exec/result_spool.h"

#include "engine/util/huge_pages.hpp"

namespace gpuscan {

namespace {

// Room comes in blocks of growing size, on huge pages where the system has them: a page fault for every 4 kB would take as
// long as copying them.
char *take_room(FragmentRun *run, ResultSpool *store, Size size) {
    constexpr Size largest = 64 * 1024 * 1024;
    if (store->room < size) {
        Size bytes = store->kept < size ? size : store->kept < largest ? store->kept : largest;
        store->free = static_cast<char *>(MemoryContextAllocHuge(run->context, bytes));
        store->room = bytes;
        wish_huge_pages(store->free, bytes);
    }
    char *room = store->free;
    store->free += size;
    store->room -= size;
    return room;
}

bool spill(FragmentRun *run, ResultSpool *store, const char *bytes, uint32 size, const char *what) {
    if (temp_file_limit >= 0)
        return give_up(run, "the %s do not fit into work_mem, and temp_file_limit is set", what);
    MemoryContext old = MemoryContextSwitchTo(run->context);
    if (!store->file)
        store->file = BufFileCreateTemp(false);
    MemoryContextSwitchTo(old);
    BufFileWrite(store->file, &size, sizeof size);
    BufFileWrite(store->file, const_cast<char *>(bytes), size);
    store->spilled += sizeof size + size;
    return true;
}

void read_exactly(ResultSpool *store, void *to, Size size) {
    if (BufFileRead(store->file, to, size) != size)
        ereport(ERROR,
                (errcode_for_file_access(), errmsg("could not read from a temporary file of a device's results")));
    store->read += size;
}

} // namespace

bool replies_add(FragmentRun *run, ResultSpool *store, const char *bytes, uint32 size, Size memory, const char *what) {
    if (size > protocol::slot_buffer_size)
        return give_up(run, "the device's %s have another form", what);
    if (store->file || store->kept + size > memory)
        return spill(run, store, bytes, size, what);
    if (store->count == store->allocated) {
        store->allocated = store->allocated ? store->allocated * 2 : 16;
        Size room = store->allocated * sizeof(StoredReply);
        store->replies = static_cast<StoredReply *>(store->replies ? repalloc_huge(store->replies, room)
                                                                   : MemoryContextAllocHuge(run->context, room));
    }
    char *copy = take_room(run, store, aligned(size));
    memcpy(copy, bytes, size);
    store->replies[store->count].bytes = copy;
    store->replies[store->count++].size = size;
    store->kept += size;
    return true;
}

void replies_rewind(ResultSpool *store) {
    store->next = store->read = 0;
    if (store->file && BufFileSeek(store->file, 0, 0, SEEK_SET) != 0)
        ereport(ERROR, (errcode_for_file_access(), errmsg("could not rewind a temporary file of a device's results")));
}

bool replies_next(FragmentRun *run, ResultSpool *store, const char **bytes, uint32 *size) {
    if (store->next < store->count) {
        *bytes = store->replies[store->next].bytes;
        *size = store->replies[store->next++].size;
        return true;
    }
    if (store->read == store->spilled)
        return false;
    read_exactly(store, size, sizeof *size);
    if (*size > protocol::slot_buffer_size)
        ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("a temporary file of a device's results is damaged")));
    if (!store->from_file)
        store->from_file = static_cast<char *>(MemoryContextAlloc(run->context, protocol::slot_buffer_size));
    read_exactly(store, store->from_file, *size);
    *bytes = store->from_file;
    return true;
}

void replies_close(ResultSpool *store) {
    if (store->file)
        BufFileClose(store->file);
    store->file = nullptr;
}

} // namespace gpuscan
