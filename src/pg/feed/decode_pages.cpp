// Decoding the missing pages of a chunk, in windows: which of a page's tuples every snapshot sees, and has the page changed meanwhile?
//
// What every snapshot sees is decided as VACUUM decides it: by HeapTupleSatisfiesVacuumHorizon, and by the oldest transaction
// that any snapshot, ours included, may regard as running. This never changes until the page does. A page whose flag
// PD_ALL_VISIBLE is set needs no look at its tuples; in recovery the flag proves nothing without the map's bit.
//
// While the device decodes one window, the one before is checked again and the one behind is collected. Several processes may decode parts
// of one chunk (parallel_feed.cpp); the one that builds it hears which pages of theirs failed the second check.
//
// A page image that was copied under its SHARE lock needs no second look: nothing was read outside of the lock.
// The LSN of a heap page is read with BufferGetLSNAtomic: with checksums, a hint bit moves it under a SHARE lock.
#include "engine/util/page_hash.hpp"
#include "pg/feed/feed.h"

namespace gpuscan {

PageBuffer read_page(ChunkFeed *feed, uint32 page) {
    return find_page(&feed->finder, feed->relation, feed->first + page);
}

// The LSN of a page under its lock, or what stands for it.
uint64 identity_of(const ChunkFeed *feed, PageBuffer buffer) {
    return feed->hashed ? page_hash(BufferGetPage(buffer)) : BufferGetLSNAtomic(buffer);
}

namespace {

// Normal line pointers of a page under its lock. Two at a time: lp_flags are bits 15 and 16, and LP_NORMAL is 1.
uint32 count_tuples(Page page) {
    static_assert(LP_NORMAL == 1 && sizeof(ItemIdData) == sizeof(uint32), "bits of ItemIdData");
    const uint32 last = PageGetMaxOffsetNumber(page);
    const char *pointers = reinterpret_cast<const char *>(page) + SizeOfPageHeaderData;
    uint64 counts = 0; // of even and odd ones
    uint32 i = 0;
    for (; i + 2 <= last; i += 2) {
        uint64 two;
        memcpy(&two, pointers + i * sizeof(ItemIdData), sizeof two);
        counts += (two >> 15) & ~(two >> 16) & UINT64CONST(0x0000000100000001);
    }
    if (i < last)
        counts += ItemIdIsNormal(PageGetItemId(page, last));
    return static_cast<uint32>(counts) + static_cast<uint32>(counts >> 32);
}

Size copied_images_offset() {
    return aligned(sizeof(protocol::DecodeRequest)) +
           copied_window_pages * (sizeof(protocol::PageEntry) + sizeof(TupleMask));
}

// The tuples of a page under its lock that every snapshot sees; false: there are others that some snapshot may see.
bool take_decided(const ChunkFeed *feed, PageBuffer buffer, BlockNumber block, TupleMask *mask, uint32 *count) {
    Page page = BufferGetPage(buffer);
    const OffsetNumber last = PageGetMaxOffsetNumber(page);
    for (OffsetNumber i = FirstOffsetNumber; i <= last; ++i) {
        if (!ItemIdIsNormal(PageGetItemId(page, i)))
            continue;
        HeapTupleData tuple = tuple_at(feed->relation, page, block, i);
        TransactionId dead_after = InvalidTransactionId;
        switch (HeapTupleSatisfiesVacuumHorizon(&tuple, buffer, &dead_after)) {
        case HEAPTUPLE_LIVE:
            // (Committed, if perhaps not on disk yet: a crash that loses the commit ends the cache, too.)
            if (!TransactionIdPrecedes(HeapTupleHeaderGetXmin(tuple.t_data), feed->horizon))
                return false;
            take_tuple(mask, i - 1);
            ++*count;
            break;
        case HEAPTUPLE_RECENTLY_DEAD:
            if (!TransactionIdPrecedes(dead_after, feed->horizon))
                return false;
            break;
        case HEAPTUPLE_DEAD:
            break;
        default:
            return false;
        }
    }
    return true;
}

// Takes all normal line pointers.
void take_all(Page page, TupleMask *mask) {
    const OffsetNumber last = PageGetMaxOffsetNumber(page);
    for (OffsetNumber i = FirstOffsetNumber; i <= last; ++i)
        if (ItemIdIsNormal(PageGetItemId(page, i)))
            take_tuple(mask, i - 1);
}

// Notes which tuples of a page under its lock the cache is to have; false: the page cannot be cached.
bool take_tuples(const ChunkFeed *feed, PageBuffer buffer, uint32 number, TupleMask *mask, uint32 *count) {
    Page page = BufferGetPage(buffer);
    if (PageIsNew(page) || PageGetMaxOffsetNumber(page) > max_tuples_per_page)
        return false;
    *mask = TupleMask();
    *count = 0;
    // (Where the map said that all pages were visible, no page of the window has a mask.)
    if (!PageIsAllVisible(page))
        return feed->lsns_prove && feed->nvisible < feed->npages &&
               take_decided(feed, buffer, feed->first + number, mask, count);
    if (!feed->lsns_prove && !bit(feed->work->visible, number))
        return false;
    *count = count_tuples(page);
    if (feed->nvisible < feed->npages || feed->lacking) // other pages of the window may need masks, or this one
        take_all(page, mask);
    return true;
}

// Pages of the chunk that this process is to decode.
struct Part {
    uint32 next, end;
};

Part whole_chunk(const ChunkFeed *feed) { return {0, feed->shared ? 0 : feed->npages}; }

// Takes the next one of a chunk that others decode, too; false: there is none.
bool take_part(ChunkFeed *feed, Part *part) {
    SharedBuild *build = feed->shared;
    if (!build)
        return false;
    const uint32 number = pg_atomic_fetch_add_u32(&build->next_part, 1);
    if (number >= build->nparts)
        return false;
    ++feed->parts;
    part->next = number * build->part_pages;
    part->end = std::min(part->next + build->part_pages, feed->npages);
    return true;
}

// Fills a window with the next missing pages, first check included.
void collect_window(ChunkFeed *feed, Window *window, Part *part) {
    const bool copy = feed->window_pages == 0;
    const uint32 limit = pages_with_expressions(feed->lacking ? feed->expressions : nullptr,
                                                copy ? copied_window_pages : feed->window_pages, copy);
    char *images = device_input(feed->run->connection) + window->input_offset + copied_images_offset();
    window->npages = 0;
    window->masked = feed->lacking != 0; // whose values stand beside these tuples and no others
    while (window->npages < limit) {
        if (part->next == part->end && (window->npages > 0 || !take_part(feed, part)))
            break;
        const uint32 number = part->next++;
        if (!bit(feed->work->missing, number))
            continue;
        PageBuffer buffer = read_page(feed, number);
        // (Not pruned: that takes longer than all else, and writes WAL. A scan of PostgreSQL's that does it changes the page.)
        LockBuffer(buffer, BUFFER_LOCK_SHARE);
        Page page = BufferGetPage(buffer);
        uint32 count = 0;
        const bool usable = take_tuples(feed, buffer, number, &window->masks[window->npages], &count);
        protocol::PageEntry entry = {};
        entry.page = number;
        entry.ntuples = count;
        entry.lsn = usable ? identity_of(feed, buffer) : 0; // (after the look at the tuples, which may set hint bits)
        entry.buffer = copy ? window->npages : buffer - 1;
        if (usable && copy)
            memcpy(images + Size(window->npages) * BLCKSZ, page, BLCKSZ);
        window->masked |= usable && !PageIsAllVisible(page) && count != count_tuples(page);
        LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
        if (!usable || copy)
            ReleaseBuffer(buffer);
        if (!usable)
            continue;
        window->buffers[window->npages] = copy ? InvalidBuffer : buffer;
        window->entries[window->npages++] = entry;
    }
}

// The values of expressions for the pages of a window, whose copies end at `size`.
Size put_values(ChunkFeed *feed, const Window *window, char *input, Size size) {
    const bool copy = feed->window_pages == 0;
    const char *images = input + size - Size(window->npages) * BLCKSZ;
    EvaluatedPage *pages = static_cast<EvaluatedPage *>(palloc(window->npages * sizeof(EvaluatedPage)));
    for (uint32 i = 0; i < window->npages; ++i)
        pages[i] = {copy ? const_cast<char *>(images) + Size(i) * BLCKSZ : BufferGetPage(window->buffers[i]),
                    feed->first + window->entries[i].page, &window->masks[i]};
    size = put_expressions(feed->expressions, feed->lacking, pages, window->npages, input + size);
    pfree(pages);
    return size;
}

void post_window(ChunkFeed *feed, Window *window) {
    const bool copy = feed->window_pages == 0;
    char *input = device_input(feed->run->connection) + window->input_offset;
    protocol::DecodeRequest head = {};
    head.source = feed->feed;
    head.chunk = feed->chunk;
    head.npages = window->npages;
    head.copied = copy;
    head.has_masks = window->masked;
    head.expressions = feed->lacking;
    memcpy(input, &head, sizeof head);
    Size size = aligned(sizeof head);
    memcpy(input + size, window->entries, window->npages * sizeof *window->entries);
    size += window->npages * sizeof *window->entries;
    if (window->masked) {
        memcpy(input + size, window->masks, window->npages * sizeof *window->masks);
        size += window->npages * sizeof *window->masks;
    }
    if (copy) {
        if (size != copied_images_offset())
            memmove(input + size, input + copied_images_offset(), Size(window->npages) * BLCKSZ);
        size += Size(window->npages) * BLCKSZ;
    }
    if (feed->lacking)
        size += put_values(feed, window, input, size);
    device_post(feed->run->connection, protocol::Command::Decode, window->input_offset, size);
}

// The second check: the page did not change while it was decoded.
bool page_is_unchanged(const ChunkFeed *feed, PageBuffer buffer, uint64 identity) {
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    bool unchanged = identity_of(feed, buffer) == identity;
    LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
    return unchanged;
}

// Waits for a window's reply.
bool receive_window(ChunkFeed *feed, Window *window) {
    FragmentRun *run = feed->run;
    if (!accept(run, device_wait(run->connection)))
        return false;
    uint32 size = 0;
    const char *output = device_output(run->connection, &size);
    if (size < aligned(sizeof(protocol::DecodeReply)) + window->npages)
        return give_up(run, "the device's reply is too short");
    memcpy(window->status, output + aligned(sizeof(protocol::DecodeReply)), window->npages);
    return true;
}

void release_window(Window *window) {
    release_pages(window->buffers, window->npages);
    window->npages = 0;
}

// Checks a decoded window's pages again and lets go of them.
void check_window(ChunkFeed *feed, Window *window) {
    for (uint32 i = 0; i < window->npages; ++i) {
        const protocol::PageEntry *entry = &window->entries[i];
        PageBuffer buffer = window->buffers[i];
        bool unchanged = !BufferIsValid(buffer) || page_is_unchanged(feed, buffer, entry->lsn);
        if (BufferIsValid(buffer))
            ReleaseBuffer(buffer);
        if (window->status[i] != static_cast<uint8>(PageStatus::Ok))
            continue; // the device does not count it either: read row by row
        if (unchanged) {
            ++feed->run->report.pages_decoded;
        } else {
            feed->work->bad[feed->work->nbad++] = entry->page;
        }
    }
    window->npages = 0;
}

// While the device decodes one window, the one before is checked again and the one behind is collected. *nothing: there was
// no page that can be cached.
bool decode_missing(ChunkFeed *feed, bool *nothing) {
    Part part = whole_chunk(feed);
    *nothing = true;
    int current = 0;
    Window *flying = nullptr;
    for (;;) {
        Window *window = &feed->work->windows[current];
        collect_window(feed, window, &part);
        if (flying && !receive_window(feed, flying)) {
            release_window(flying);
            release_window(window);
            return false;
        }
        if (window->npages > 0) {
            post_window(feed, window);
            *nothing = false;
        }
        if (flying)
            check_window(feed, flying);
        if (window->npages == 0)
            return true;
        flying = window;
        current = 1 - current;
    }
}

void prepare_windows(ChunkFeed *feed) {
    feed->work->nbad = 0;
    feed->horizon = feed->lsns_prove ? GetOldestNonRemovableTransactionId(feed->relation) : InvalidTransactionId;
    feed->window_pages = window_pages(feed->relation);
    if (feed->work->bad)
        return;
    feed->work->bad = static_cast<uint16 *>(palloc(2 * pages_per_chunk * sizeof(uint16)));
    for (Window &window : feed->work->windows) {
        window.entries =
            static_cast<protocol::PageEntry *>(palloc(protocol::max_window_pages * sizeof(protocol::PageEntry)));
        window.masks = static_cast<TupleMask *>(palloc(protocol::max_window_pages * sizeof(TupleMask)));
        window.buffers = static_cast<PageBuffer *>(palloc(protocol::max_window_pages * sizeof(PageBuffer)));
        window.status = static_cast<uint8 *>(palloc(protocol::max_window_pages));
    }
    feed->work->windows[1].input_offset = protocol::slot_buffer_size / 2;
}

void note_bad_pages(ChunkFeed *feed, SharedBuild *build) {
    SpinLockAcquire(&build->lock);
    for (uint32 i = 0; i < feed->work->nbad; ++i)
        build->bad[feed->work->bad[i] / 8] |= static_cast<uint8>(1 << feed->work->bad[i] % 8);
    SpinLockRelease(&build->lock);
}

void take_bad_pages(ChunkFeed *feed, const SharedBuild *build) {
    for (uint32 page = 0; page < feed->npages; ++page)
        if (bit(build->bad, page))
            feed->work->bad[feed->work->nbad++] = static_cast<uint16>(page);
}

} // namespace

// The missing pages, together with workers if there are any.
bool decode_chunk(ChunkFeed *feed, bool *nothing, uint32 *by_others) {
    prepare_windows(feed);
    if (!feed->leader)
        return decode_missing(feed, nothing);
    SharedBuild *build = feed->shared;
    open_shared_build(feed, feed->work->missing);
    if (!decode_missing(feed, nothing))
        return false;
    pg_atomic_fetch_add_u32(&build->parts_done, feed->parts);
    if (!wait_for_parts(feed, nothing, by_others))
        return false;
    take_bad_pages(feed, build);
    return true;
}

bool help_to_build(ChunkFeed *feed, SharedBuild *build) {
    bool nothing;
    const uint64 before = feed->run->report.pages_decoded;
    feed->shared = build;
    feed->parts = 0;
    feed->lacking = build->lacking;
    feed->nvisible = build->nvisible;
    feed->lsns_prove = build->lsns_prove;
    memcpy(feed->work->visible, build->visible, bitmap_bytes_aligned);
    memcpy(feed->work->missing, build->missing, bitmap_bytes_aligned);
    prepare_windows(feed);
    feed->horizon = build->horizon;
    if (!decode_missing(feed, &nothing))
        return false;
    note_bad_pages(feed, build);
    pg_atomic_fetch_add_u32(&build->windows, !nothing);
    pg_atomic_fetch_add_u32(&build->pages_decoded, static_cast<uint32>(feed->run->report.pages_decoded - before));
    pg_atomic_fetch_add_u32(&build->parts_done, feed->parts); // (the last: the leader publishes then)
    return true;
}

} // namespace gpuscan
