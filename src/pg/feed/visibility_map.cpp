// The visibility map, as far as a chunk needs it: the bits of one map page, and its LSN.
//
// Both are read in one hold of the page's SHARE lock. Who sets a bit does it before the LSN, both under the EXCLUSIVE lock: without ours, a
// new bit could be seen with the old LSN (feed_relation.cpp).
#include "engine/store/page_bits.hpp"
#include "pg/feed/feed.h"

namespace gpuscan {

// Sets the bits of the first npages pages, and no other one.
void set_bits(uint8 *bitmap, uint32 npages) {
    memset(bitmap, 0xff, npages / 8);
    memset(bitmap + npages / 8, 0, bitmap_bytes_aligned - npages / 8);
    if (npages % 8 != 0)
        bitmap[npages / 8] = (1 << (npages % 8)) - 1;
}

namespace {

// For test/tap/windows.sh, which proves that it would notice: bit 1 builds without the lock of the map page. (Bit 0:
// server/source_feed.cpp.)
#ifndef GPUSCAN_TEST_NO_BARRIER
#define GPUSCAN_TEST_NO_BARRIER 0
#endif
constexpr bool lock_map = (GPUSCAN_TEST_NO_BARRIER & 2) == 0;

constexpr uint32 map_bytes = BLCKSZ - MAXALIGN(SizeOfPageHeaderData);
static_assert(map_bytes * 4 == pages_per_chunk && map_bytes % 8 == 0, "a map page has two bits per heap page");

// Every page of the chunk is all-visible: the common case, and cheap to see.
bool all_visible(const char *map, uint32 npages) {
    uint64 common = ~UINT64CONST(0), word;
    uint32 page = 0;
    for (; page + 32 <= npages; page += 32) {
        memcpy(&word, map + page / 4, sizeof word);
        common &= word;
    }
    if (page < npages) {
        memcpy(&word, map + page / 4, sizeof word);
        common &= word | ~UINT64CONST(0) << (2 * (npages - page));
    }
    return (~common & UINT64CONST(0x5555555555555555)) == 0;
}

static_assert(sizeof(PageBits::Pairs) >= map_bytes && PageBits::bytes * 2 == map_bytes, "two bits for each page");

// The all-visible bits (bit 0 of each pair) of the chunk's pages; returns how many are set.
uint32 take_bits(uint8 *to, const PageBits::Pairs &map, uint32 npages) {
    PageBits visible;
    visible.read_first_bits(map, npages);
    memset(to, 0, bitmap_bytes_aligned);
    visible.write(to);
    return visible.count();
}

// LSN and bits in one hold of the lock; false: there is no such map page.
bool read_map(ChunkFeed *feed, XLogRecPtr *lsn, uint8 *bits, uint32 *set) {
    // Pins the map page, or finds that there is none; never extends the map as visibilitymap_pin would.
    visibilitymap_get_status(feed->relation, feed->first, &feed->map_buffer);
    if (!BufferIsValid(feed->map_buffer))
        return false;
    PageBits::Pairs map;
    if (lock_map)
        LockBuffer(feed->map_buffer, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(feed->map_buffer);
    *lsn = PageGetLSN(page);
    const bool all = all_visible(PageGetContents(page), feed->npages);
    if (!all) {
        memcpy(map.data(), PageGetContents(page), map_bytes);
        memset(reinterpret_cast<char *>(map.data()) + map_bytes, 0, sizeof map - map_bytes);
    }
    if (lock_map)
        LockBuffer(feed->map_buffer, BUFFER_LOCK_UNLOCK);
    if (all)
        set_bits(bits, feed->npages);
    *set = all ? feed->npages : take_bits(bits, map, feed->npages);
    return true;
}

} // namespace

// Of many relations only one map page is pinned at a time.
void unpin_map(ChunkFeed *feed) {
    if (BufferIsValid(feed->map_buffer))
        ReleaseBuffer(feed->map_buffer);
    feed->map_buffer = InvalidBuffer;
}

// A map page of a table that was loaded without WAL has LSN 0, which identifies nothing. Logging the page as it is
// gives it an LSN. (Its contents lie where a standard page has its hole.)
void stamp_map(ChunkFeed *feed) {
    if (RecoveryInProgress() || !XLogInsertAllowed())
        return;
    LockBuffer(feed->map_buffer, BUFFER_LOCK_EXCLUSIVE);
    if (PageGetLSN(BufferGetPage(feed->map_buffer)) == InvalidXLogRecPtr) {
        START_CRIT_SECTION();
        MarkBufferDirty(feed->map_buffer);
        log_newpage_buffer(feed->map_buffer, false);
        END_CRIT_SECTION();
    }
    LockBuffer(feed->map_buffer, BUFFER_LOCK_UNLOCK);
}

// Looks at the map of the chunk. Without a page of it, or if that has no LSN either, nothing is visible.
void look_at_map(ChunkFeed *feed) {
    if (!feed->hashed && read_map(feed, &feed->map_lsn, feed->work->visible, &feed->nvisible))
        return;
    feed->map_lsn = InvalidXLogRecPtr;
    feed->nvisible = 0;
    memset(feed->work->visible, 0, sizeof feed->work->visible);
}

} // namespace gpuscan
