// Feeding a table: the backend's half of the column cache. Whether an answer is right depends on this file.
//
// The cache holds the tuples of a page that every snapshot sees, as long as the page has none about which snapshots
// differ. Such a page is right for a query if no change that the query sees has been made since: every change of a page moves
// its LSN before its transaction commits, so the LSN is compared after the snapshot was taken. In recovery only the
// visibility map tells what every snapshot sees.
//
// A chunk is what one page of the visibility map covers. Setting one of the map's bits always moves the LSN of the map page,
// so a map page that is as it was says of all pages whose bit is set that they are. Per chunk:
//
//   read     LSN and bits of the map page in one hold of its SHARE lock (the bit is stored before the LSN, both under
//            the EXCLUSIVE lock: without ours, a new bit could be seen with the old LSN)
//   ahead    the cache has the chunk, or nearly: the device has it (StageMany, many chunks at once); what follows is done
//            for the other chunks one by one, from a new look at the map on
//   Stage    the device process compares the LSNs of pages that the map does not vouch for, where it finds them in
//            shared buffers. It asks for the others (they are read under the pages' SHARE locks)
//   build    pages that are missing or have changed, in windows: pin; SHARE lock; note pd_lsn and which tuples every
//            snapshot sees, unless snapshots differ; unlock; the device decodes under the pin; SHARE lock again: same
//            pd_lsn. The second lock is the barrier against a writer that has placed its tuple but not yet its LSN
//   Publish  the device drops the pages whose second check failed, and other queries may use the chunk
//   rows     every page that is not covered now is read row by row under the snapshot (feed_rows.cpp)
//
// What every snapshot sees is decided as VACUUM decides it: by HeapTupleSatisfiesVacuumHorizon, and by the oldest transaction
// that any snapshot, ours included, may regard as running. This never changes until the page does. A page whose flag
// PD_ALL_VISIBLE is set needs no look at its tuples; in recovery the flag proves nothing without the map's bit.
//
// A later content of a page is right for an older snapshot, too, as long as it is cached at all: what it lacks or has more
// was decided for that snapshot as well. So it does not matter what happens to page or map between look and publication.
//
// WAL does not describe unlogged tables. There a hash of the page, under its lock, does what the LSN does above (why it may
// be compared without a lock: server/page_identity.hpp), and neither the map nor the end of WAL vouches for anything. Nothing
// of them survives a crash, neither the tables nor the cache.
//
// A page image that was copied under its SHARE lock needs no second look: nothing was read outside of the lock.
// The LSN of a heap page is read with BufferGetLSNAtomic: with checksums, a hint bit moves it under a SHARE lock.
//
// While WAL ends where it ended when LSNs were compared, no later snapshot sees a change: it would need a commit record behind that.
// But a transaction sees its own changes without one, so this counts only for those that have written nothing.
//
// nblocks is taken after the snapshot: pages that come later hold nothing that the snapshot sees.
#include "engine/util/page_hash.hpp"
#include "pg/cost/rowwise_pages.h"
#include "pg/feed/feed.h"

namespace gpuscan {
namespace {

// For test/tap/windows.sh, which proves that it would notice: bit 1 builds without the lock of the map page. (Bit 0:
// server/source_feed.cpp.)
#ifndef GPUSCAN_TEST_NO_BARRIER
#define GPUSCAN_TEST_NO_BARRIER 0
#endif
constexpr bool lock_map = (GPUSCAN_TEST_NO_BARRIER & 2) == 0;

constexpr uint32 map_bytes = BLCKSZ - MAXALIGN(SizeOfPageHeaderData);
static_assert(map_bytes * 4 == pages_per_chunk && map_bytes % 8 == 0, "a map page has two bits per heap page");
static_assert(chunks_of_request * (bitmap_bytes_aligned + sizeof(protocol::StageManyEntry)) + 64 <=
                  protocol::slot_buffer_size,
              "the bitmaps of all of them fit into a request");
constexpr uint32 accepted_missing = 256;       // so few pages are read row by row rather than waited for
constexpr uint32 min_pages_for_workers = 1024; // pages of a chunk: fewer are read by the session itself
constexpr int longest_wait = 500;              // ms for another session's build, then the missing pages are read by row

bool bit(const uint8 *bitmap, uint32 i) { return (bitmap[i / 8] >> (i % 8)) & 1; }

// In recovery only the map proves anything, and for a snapshot of that time after promotion, too: a page's flag may have
// come with an image of the page, and without a conflict with snapshots that do not see all of its tuples.
bool lsns_prove_to(const FragmentRun *run) { return !RecoveryInProgress() && !run->snapshot->takenDuringRecovery; }

// ---- what may be cached ----

// Tables whose pages change where the device process does not see it (temporary), in place (catalogs), without a new page LSN, or are
// all-visible without being so for everyone (storage of this very transaction: wal_level = minimal, COPY FREEZE) are not for the cache.
bool is_cacheable(Relation relation) {
    char kind = relation->rd_rel->relkind;
    return relation->rd_rel->relam == HEAP_TABLE_AM_OID && (kind == RELKIND_RELATION || kind == RELKIND_MATVIEW) &&
           !RelationUsesLocalBuffers(relation) && !IsCatalogRelation(relation) &&
           RelationGetRelid(relation) >= FirstNormalObjectId && relation->rd_createSubid == InvalidSubTransactionId &&
           relation->rd_newRelfilelocatorSubid == InvalidSubTransactionId &&
           relation->rd_firstRelfilelocatorSubid == InvalidSubTransactionId;
}

// ---- the visibility map ----

// The even bits of a word, pushed together.
uint32 even_bits(uint64 word) {
    word &= UINT64CONST(0x5555555555555555);
    word = (word | word >> 1) & UINT64CONST(0x3333333333333333);
    word = (word | word >> 2) & UINT64CONST(0x0f0f0f0f0f0f0f0f);
    word = (word | word >> 4) & UINT64CONST(0x00ff00ff00ff00ff);
    word = (word | word >> 8) & UINT64CONST(0x0000ffff0000ffff);
    return static_cast<uint32>(word | word >> 16);
}

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

// Sets the bits of the first npages pages, and no other one.
void set_bits(uint8 *bitmap, uint32 npages) {
    memset(bitmap, 0xff, npages / 8);
    memset(bitmap + npages / 8, 0, bitmap_bytes_aligned - npages / 8);
    if (npages % 8 != 0)
        bitmap[npages / 8] = (1 << (npages % 8)) - 1;
}

// The all-visible bits (bit 0 of each pair) of the chunk's pages; returns how many are set.
uint32 take_bits(uint8 *to, const uint8 *map, uint32 npages) {
    memset(to, 0, bitmap_bytes_aligned);
    for (uint32 page = 0; page < npages; page += 32) {
        uint64 word;
        memcpy(&word, map + page / 4, sizeof word);
        uint32 bits = even_bits(word);
        if (npages - page < 32)
            bits &= (uint32(1) << (npages - page)) - 1;
        memcpy(to + page / 8, &bits, sizeof bits);
    }
    return static_cast<uint32>(pg_popcount(reinterpret_cast<const char *>(to), bitmap_bytes_aligned));
}

// LSN and bits in one hold of the lock; false: there is no such map page.
bool read_map(ChunkFeed *feed, XLogRecPtr *lsn, uint8 *bits, uint32 *set) {
    // Pins the map page, or finds that there is none; never extends the map as visibilitymap_pin would.
    visibilitymap_get_status(feed->relation, feed->first, &feed->map_buffer);
    if (!BufferIsValid(feed->map_buffer))
        return false;
    uint8 map[map_bytes];
    if (lock_map)
        LockBuffer(feed->map_buffer, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(feed->map_buffer);
    *lsn = PageGetLSN(page);
    const bool all = all_visible(PageGetContents(page), feed->npages);
    if (!all)
        memcpy(map, PageGetContents(page), map_bytes);
    if (lock_map)
        LockBuffer(feed->map_buffer, BUFFER_LOCK_UNLOCK);
    if (all)
        set_bits(bits, feed->npages);
    *set = all ? feed->npages : take_bits(bits, map, feed->npages);
    return true;
}

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

// How many pages the relation has, after `wal_end` was taken.
BlockNumber count_blocks(Relation relation, XLogRecPtr wal_end) {
    uint64 nblocks;
    if (!recall_look(relation, whole_relation, 0, wal_end, &nblocks)) {
        nblocks = RelationGetNumberOfBlocks(relation);
        note_look(relation, whole_relation, 0, wal_end, nblocks);
    }
    return static_cast<BlockNumber>(nblocks);
}

ChunkFeed *begin_scan(const SourceScan *scan, int source, SourceRelation *from) {
    ChunkFeed *feed =
        begin_chunks(scan->run, scan->work, from->relation, from->feed, count_blocks(from->relation, scan->wal_end));
    feed->lsns_prove = scan->lsns_prove; // (the end of recovery must not come between two looks)
    feed->source = source;
    feed->from = from;
    feed->expressions = begin_expressions(from->relation, from->expressions, from->asked_quals);
    ++from->scans;
    return feed;
}

PageBuffer read_page(ChunkFeed *feed, uint32 page) {
    return find_page(&feed->finder, feed->relation, feed->first + page);
}

// ---- staging ----

// Where WAL ends, before anything is looked at; 0: that proves nothing to this transaction.
XLogRecPtr end_of_wal() {
    return RecoveryInProgress() || TransactionIdIsValid(GetTopTransactionIdIfAny()) ? InvalidXLogRecPtr
                                                                                    : GetXLogInsertRecPtr();
}

// LSNs of pages, and where they lie.
struct PageLsns {
    uint8 pages[bitmap_bytes_aligned];
    uint32 count;
    uint64 lsns[pages_per_chunk];
    uint32 buffers[pages_per_chunk];
};

bool send_stage(ChunkFeed *feed, const PageLsns *lsns, bool accept_missing, XLogRecPtr wal_end) {
    char *input = device_input(feed->run->connection);
    protocol::StageRequest head = {};
    head.source = feed->feed;
    head.chunk = feed->chunk;
    head.npages = feed->npages;
    head.has_lsns = lsns != nullptr;
    head.accept_missing = accept_missing;
    head.lsns_prove = feed->lsns_prove;
    head.map_lsn = feed->map_lsn;
    head.wal_end = wal_end;
    memcpy(input, &head, sizeof head);
    Size size = aligned(sizeof head);
    memcpy(input + size, feed->work->visible, protocol::bitmap_bytes);
    size += aligned(protocol::bitmap_bytes);
    if (lsns) {
        memcpy(input + size, lsns->pages, protocol::bitmap_bytes);
        size += aligned(protocol::bitmap_bytes);
        memcpy(input + size, lsns->lsns, lsns->count * sizeof *lsns->lsns);
        size += lsns->count * sizeof *lsns->lsns;
        memcpy(input + size, lsns->buffers, lsns->count * sizeof *lsns->buffers);
        size += lsns->count * sizeof *lsns->buffers;
    }
    return request(feed->run, protocol::Command::Stage, size, sizeof(protocol::StageReply));
}

bool reply_bitmap(ChunkFeed *feed, uint8 *to) {
    uint32 size;
    const char *output = device_output(feed->run->connection, &size);
    if (size < aligned(sizeof(protocol::StageReply)) + protocol::bitmap_bytes)
        return give_up(feed->run, "the device's reply is too short");
    memcpy(to, output + aligned(sizeof(protocol::StageReply)), protocol::bitmap_bytes);
    return true;
}

// The LSN of a page under its lock, or what stands for it.
uint64 identity_of(const ChunkFeed *feed, PageBuffer buffer) {
    return feed->hashed ? page_hash(BufferGetPage(buffer)) : BufferGetLSNAtomic(buffer);
}

// Reads what the device wants to know (the last reply). A page that a ring of buffers holds will not stay there.
void collect_lsns(ChunkFeed *feed, PageLsns *lsns) {
    lsns->count = 0;
    for (uint32 page = 0; page < feed->npages; ++page) {
        if (!bit(lsns->pages, page))
            continue;
        PageBuffer buffer = read_page(feed, page);
        LockBuffer(buffer, BUFFER_LOCK_SHARE);
        lsns->lsns[lsns->count] = identity_of(feed, buffer);
        lsns->buffers[lsns->count++] = buffer - 1;
        UnlockReleaseBuffer(buffer);
    }
}

bool tell_lsns(ChunkFeed *feed, bool accept_missing, XLogRecPtr wal_end) {
    PageLsns *lsns = static_cast<PageLsns *>(palloc(sizeof(PageLsns)));
    bool told = reply_bitmap(feed, lsns->pages);
    if (told) {
        collect_lsns(feed, lsns);
        told = send_stage(feed, lsns, accept_missing, wal_end);
    }
    pfree(lsns);
    return told;
}

// ---- staging ahead ----

// Looks at the map of the chunk. Without a page of it, or if that has no LSN either, nothing is visible.
void look_at_map(ChunkFeed *feed) {
    if (!feed->hashed && read_map(feed, &feed->map_lsn, feed->work->visible, &feed->nvisible))
        return;
    feed->map_lsn = InvalidXLogRecPtr;
    feed->nvisible = 0;
    memset(feed->work->visible, 0, sizeof feed->work->visible);
}

// The same, after `wal_end` was taken; what was seen of a chunk whose pages are all visible is remembered.
void look_at_map_ahead(ChunkFeed *feed, XLogRecPtr wal_end) {
    if (recall_look(feed->relation, feed->chunk, feed->npages, wal_end, &feed->map_lsn)) {
        feed->nvisible = feed->npages;
        return;
    }
    look_at_map(feed);
    if (feed->nvisible == feed->npages && feed->map_lsn != InvalidXLogRecPtr)
        note_look(feed->relation, feed->chunk, feed->npages, wal_end, feed->map_lsn);
}

// Looks at the map of the chunk; false: it has to be staged by itself, or can't be.
bool look_ahead(ChunkFeed *feed, ChunkAhead *ahead, XLogRecPtr wal_end) {
    look_at_map_ahead(feed, wal_end);
    if (feed->nvisible > 0 && feed->map_lsn == InvalidXLogRecPtr) // it gets one
        return false;
    ahead->npages = feed->lsns_prove ? feed->npages : feed->nvisible;
    if (ahead->npages == 0)
        return false;
    ahead->question.all_visible = feed->nvisible == feed->npages;
    ahead->question.map_lsn = feed->map_lsn;
    if (!ahead->question.all_visible) {
        ahead->visible = static_cast<uint8 *>(palloc(bitmap_bytes_aligned));
        memcpy(ahead->visible, feed->work->visible, bitmap_bytes_aligned);
    }
    return true;
}

// Keeps the first `kept` of the chunks that were looked at.
void forget_ahead(SourceScan *scan, uint32 kept) {
    for (uint32 i = kept; i < scan->nahead; ++i) {
        if (scan->ahead[i].visible)
            pfree(scan->ahead[i].visible);
        if (scan->ahead[i].covered)
            pfree(scan->ahead[i].covered);
    }
    scan->nahead = kept;
}

// The feed of the relation where the scan is, begun if this is its first chunk; NULL at the end of all.
ChunkFeed *present_feed(SourceScan *scan, int source) {
    const SourceRelations *relations = &scan->run->relations[source];
    for (; scan->relation < scan->nrelations; ++scan->relation, scan->chunk = 0) {
        ChunkFeed **feed = &scan->feeds[scan->relation];
        if (!*feed)
            *feed = begin_scan(scan, source, &relations->at[scan->relation]);
        if (Size(scan->chunk) * pages_per_chunk < (*feed)->nblocks)
            return *feed;
        unpin_map(*feed);
    }
    return nullptr;
}

// Goes over the next chunks; returns how many of them the session can be asked for, which `asked` gets.
uint32 list_chunks(SourceScan *scan, int source, uint32 *asked) {
    uint32 nasked = 0;
    forget_ahead(scan, 0);
    while (scan->nahead < scan->room_ahead) {
        ChunkFeed *feed = present_feed(scan, source);
        if (!feed)
            break;
        ChunkAhead *ahead = &scan->ahead[scan->nahead];
        *ahead = ChunkAhead();
        ahead->relation = scan->relation;
        ahead->question.chunk = scan->chunk;
        go_to_chunk(feed, scan->chunk++);
        ahead->question.source = feed->feed;
        ahead->question.npages = feed->npages;
        if (feed->cacheable) {
            ahead->npages = ahead->missing = feed->npages;
            asked[nasked++] = scan->nahead;
        }
        ++scan->nahead;
    }
    return nasked;
}

// Reads the maps of these chunks; returns how many are left, at the front: the session can be asked for them.
uint32 look_at_chunks(SourceScan *scan, uint32 *asked, uint32 nasked) {
    uint32 left = 0;
    for (uint32 i = 0; i < nasked; ++i) {
        CHECK_FOR_INTERRUPTS();
        ChunkAhead *ahead = &scan->ahead[asked[i]];
        ChunkFeed *feed = scan->feeds[ahead->relation];
        go_to_chunk(feed, ahead->question.chunk);
        if (look_ahead(feed, ahead, scan->wal_end))
            asked[left++] = asked[i];
        ahead->missing = ahead->npages;
        if (i + 1 == nasked || scan->ahead[asked[i + 1]].relation != ahead->relation)
            unpin_map(feed);
    }
    return left;
}

Size put_questions(const SourceScan *scan, const uint32 *asked, uint32 nasked, bool by_wal) {
    char *input = device_input(scan->run->connection);
    protocol::StageManyRequest head = {};
    head.count = nasked;
    head.lsns_prove = scan->lsns_prove;
    head.wal_end = scan->wal_end;
    head.by_wal = by_wal;
    memcpy(input, &head, sizeof head);
    Size size = aligned(sizeof head);
    for (uint32 i = 0; i < nasked; ++i, size += sizeof(protocol::StageManyEntry))
        memcpy(input + size, &scan->ahead[asked[i]].question, sizeof(protocol::StageManyEntry));
    for (uint32 i = 0; i < nasked && !by_wal; ++i) {
        const uint8 *visible = scan->ahead[asked[i]].visible;
        if (visible) {
            memcpy(input + size, visible, bitmap_bytes_aligned);
            size += bitmap_bytes_aligned;
        }
    }
    return size;
}

// Takes the reply: what the session holds of the chunks. Returns for how many of them there was room in the pass; 0: failed.
uint32 take_answers(SourceScan *scan, int source, const uint32 *asked, uint32 nasked) {
    FragmentRun *run = scan->run;
    const Size states = aligned(sizeof(protocol::StageManyReply));
    uint32 reply_size;
    const char *output = device_output(run->connection, &reply_size);
    const uint32 answered = reinterpret_cast<const protocol::StageManyReply *>(output)->answered;
    Size bitmaps = states + aligned(answered) + aligned(answered * sizeof(uint32));
    if (answered == 0 || answered > nasked || reply_size < states + aligned(answered) + answered * sizeof(uint32)) {
        give_up(run, "the device's reply is too short");
        return 0;
    }
    for (uint32 i = 0; i < answered; ++i) {
        ChunkAhead *ahead = &scan->ahead[asked[i]];
        uint32 count;
        memcpy(&count, output + states + aligned(answered) + i * sizeof count, sizeof count);
        const protocol::StageManyState state = static_cast<protocol::StageManyState>(output[states + i]);
        ahead->held = state != protocol::StageManyState::NotHeld;
        if (ahead->held)
            run->relations[source].at[ahead->relation].rows += count;
        ahead->missing = ahead->held ? 0 : count;
        if (state == protocol::StageManyState::HeldInPart) {
            if (reply_size < bitmaps + protocol::bitmap_bytes) {
                give_up(run, "the device's reply is too short");
                return 0;
            }
            ahead->covered = static_cast<uint8 *>(palloc0(bitmap_bytes_aligned));
            memcpy(ahead->covered, output + bitmaps, protocol::bitmap_bytes);
            bitmaps += aligned(protocol::bitmap_bytes);
            run->report.pages_cached += pg_popcount(reinterpret_cast<char *>(ahead->covered), bitmap_bytes_aligned);
        } else if (state == protocol::StageManyState::Held) {
            run->report.pages_cached += ahead->npages;
        }
    }
    return answered;
}

// Asks for these chunks, and runs the pipeline whenever the pass is full.
bool ask_for_chunks(SourceScan *scan, int source, const uint32 *asked, uint32 nasked, bool by_wal) {
    FragmentRun *run = scan->run;
    for (uint32 at = 0; at < nasked;) {
        const uint32 count = std::min(nasked - at, chunks_of_request);
        const Size size = put_questions(scan, asked + at, count, by_wal);
        if (!request(run, protocol::Command::StageMany, size, sizeof(protocol::StageManyReply)))
            return false;
        const bool full = reply_of<protocol::StageManyReply>(run)->pass_full != 0;
        const uint32 answered = take_answers(scan, source, asked + at, count);
        if (answered == 0 || (full && !run_pipeline(run, false)))
            return false;
        at += answered;
    }
    return true;
}

// Asks for the next chunks: afterwards scan->ahead says which of them the session holds. If WAL ends where it ended when LSNs
// were last compared, the first question is without a look at the maps.
bool stage_ahead(SourceScan *scan, int source) {
    uint32 *asked = static_cast<uint32 *>(palloc(scan->room_ahead * sizeof(uint32)));
    scan->wal_end = end_of_wal();
    uint32 nasked = list_chunks(scan, source, asked);
    bool staged = true;
    if (nasked > 0 && scan->wal_end != InvalidXLogRecPtr && scan->lsns_prove &&
        device_area()->counters.proved_wal_end.load(std::memory_order_relaxed) == scan->wal_end) {
        staged = ask_for_chunks(scan, source, asked, nasked, true);
        uint32 left = 0;
        for (uint32 i = 0; i < nasked; ++i)
            if (!scan->ahead[asked[i]].held)
                asked[left++] = asked[i];
        nasked = left;
    }
    if (staged) {
        nasked = look_at_chunks(scan, asked, nasked);
        staged = ask_for_chunks(scan, source, asked, nasked, false);
    }
    pfree(asked);
    return staged;
}

// ---- building ----

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
    for (uint32 i = 0; i < window->npages; ++i)
        if (BufferIsValid(window->buffers[i]))
            ReleaseBuffer(window->buffers[i]);
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

bool publish(ChunkFeed *feed) {
    char *input = device_input(feed->run->connection);
    protocol::PublishRequest head = {};
    head.source = feed->feed;
    head.nbad = feed->work->nbad;
    memcpy(input, &head, sizeof head);
    Size size = aligned(sizeof head);
    memcpy(input + size, feed->work->bad, feed->work->nbad * sizeof *feed->work->bad);
    size += feed->work->nbad * sizeof *feed->work->bad;
    return request(feed->run, protocol::Command::Publish, size, sizeof(protocol::StageReply));
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

// ---- several processes ----

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

// The missing pages, together with workers if there are any.
bool decode_chunk(ChunkFeed *feed, bool *nothing, uint32 *by_others) {
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

// ---- one chunk ----

void pause(int milliseconds) {
    WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds, PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

} // namespace

void take_covered(uint8 *covered, const ChunkAhead *ahead) {
    if (ahead->covered)
        memcpy(covered, ahead->covered, bitmap_bytes_aligned);
    else if (ahead->visible && ahead->npages < ahead->question.npages)
        memcpy(covered, ahead->visible, bitmap_bytes_aligned);
    else
        set_bits(covered, ahead->question.npages);
}

void go_to_chunk(ChunkFeed *feed, uint32 chunk) {
    feed->chunk = chunk;
    feed->first = chunk * pages_per_chunk;
    feed->npages = feed->nblocks - feed->first < pages_per_chunk ? feed->nblocks - feed->first : pages_per_chunk;
}

bool stage_chunk(ChunkFeed *feed, bool *pass_full) {
    FragmentRun *run = feed->run;
    *pass_full = false;
    memset(feed->work->covered, 0, sizeof feed->work->covered);
    if (!feed->cacheable)
        return true;

    bool accept_missing = false, stamped = false;
    int waited = 0, wait = 1;
    for (;;) {
        const XLogRecPtr wal_end = end_of_wal();
        look_at_map(feed);
        if (feed->nvisible == 0 && !feed->lsns_prove)
            return true;
        if (feed->nvisible > 0 && feed->map_lsn == InvalidXLogRecPtr && !stamped) {
            stamp_map(feed);
            stamped = true;
            continue;
        }
        if (!send_stage(feed, nullptr, accept_missing, wal_end))
            return false;
        uint32 built = 0;
        const protocol::StageReply *reply = reply_of<protocol::StageReply>(run);
        if (reply->state == static_cast<uint32>(protocol::StageState::NeedLsns)) {
            if (!tell_lsns(feed, accept_missing, wal_end))
                return false;
            reply = reply_of<protocol::StageReply>(run);
        }
        if (reply->state == static_cast<uint32>(protocol::StageState::NeedPages)) {
            uint64 before = run->report.pages_decoded;
            bool nothing;
            uint32 by_others = 0;
            feed->lacking = reply->expressions;
            prepare_windows(feed);
            if (!reply_bitmap(feed, feed->work->missing) || !decode_chunk(feed, &nothing, &by_others))
                return false;
            if (nothing && !accept_missing) { // and no version that is like the one before
                accept_missing = true;
                continue;
            }
            if (!publish(feed))
                return false;
            built = static_cast<uint32>(run->report.pages_decoded - before) + by_others;
            reply = reply_of<protocol::StageReply>(run);
        }
        switch (static_cast<protocol::StageState>(reply->state)) {
        case protocol::StageState::Ready: {
            uint32 pages = reply->pages;
            *pass_full = reply->pass_full != 0;
            if (feed->from)
                feed->from->rows += reply->rows;
            if (!reply_bitmap(feed, feed->work->covered))
                return false;
            run->report.pages_cached += pages > built ? pages - built : 0;
            return true;
        }
        case protocol::StageState::Busy:
            accept_missing = reply->pages <= accepted_missing || waited >= longest_wait;
            if (accept_missing)
                break;
            pause(wait);
            waited += wait;
            wait = wait < 10 ? wait + 1 : 10;
            break;
        case protocol::StageState::NeedLsns: // the chunk changed between two requests
            if (waited++ < longest_wait)
                break;
            return give_up(run, "the map of %s keeps changing", RelationGetRelationName(feed->relation));
        default:
            return give_up(run, "the device could not stage a part of %s", RelationGetRelationName(feed->relation));
        }
    }
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

ChunkFeed *begin_chunks(FragmentRun *run, ChunkWork *work, Relation relation, uint32 number, BlockNumber nblocks) {
    ChunkFeed *feed = static_cast<ChunkFeed *>(palloc0(sizeof(ChunkFeed)));
    feed->run = run;
    feed->work = work;
    feed->relation = relation;
    feed->feed = number;
    feed->nblocks = nblocks;
    feed->cacheable = is_cacheable(relation);
    feed->lsns_prove = lsns_prove_to(run);
    feed->hashed = is_hashed(relation);
    feed->map_buffer = InvalidBuffer;
    // As a sequential scan does: a large table shall not wipe out shared_buffers.
    if (!RelationUsesLocalBuffers(relation) && nblocks > static_cast<BlockNumber>(NBuffers / 4))
        feed->strategy = GetAccessStrategy(BAS_BULKREAD);
    begin_finding(&feed->finder, relation, nblocks, feed->strategy);
    return feed;
}

void end_chunks(ChunkFeed *feed) {
    unpin_map(feed);
    end_expressions(feed->expressions);
    if (feed->strategy)
        FreeAccessStrategy(feed->strategy);
    pfree(feed);
}

bool feed_uncovered(ChunkFeed *feed, const uint8 *covered) {
    return feed->run->visible_only || feed_rows(feed, covered);
}

namespace {

// Feeds what is missing of the chunks that were asked for together with workers, where that pays.
bool feed_missing(SourceScan *scan) {
    uint32 *chunks = static_cast<uint32 *>(palloc((scan->nahead + 1) * sizeof(uint32)));
    uint32 nchunks = 0;
    uint64 npages = 0, rowwise = 0, evaluated = 0;
    const bool rows = !scan->run->visible_only;
    bool fed = true;
    for (uint32 i = 0; i < scan->nahead; ++i) {
        const ChunkAhead *ahead = &scan->ahead[i];
        ChunkFeed *feed = scan->feeds[ahead->relation];
        go_to_chunk(feed, ahead->question.chunk);
        const uint32 others = rows && !RelationUsesLocalBuffers(feed->relation) ? feed->npages - ahead->npages : 0;
        if (ahead->missing == 0 && others < min_pages_for_workers)
            continue;
        chunks[nchunks++] = i;
        npages += ahead->missing;
        evaluated += ahead->missing * static_cast<uint64>(pg_popcount64(all_expressions(feed->expressions)));
        rowwise += others;
    }
    const FeedWorkers workers = workers_for_chunks(nchunks, npages, rowwise, evaluated);
    if (workers.count > 0) {
        fed = feed_in_parallel(scan, chunks, nchunks, rowwise > 0, workers);
        for (uint32 i = 0; i < nchunks; ++i)
            scan->ahead[chunks[i]].fed = true;
    }
    pfree(chunks);
    return fed;
}

// The session has nothing of the chunk yet.
bool stage_alone(ChunkFeed *feed) {
    bool pass_full = false;
    bool staged = stage_chunk(feed, &pass_full);
    unpin_map(feed);
    return staged && (!pass_full || run_pipeline(feed->run, false));
}

// Sends the rows that are under way.
bool flush_rows(SourceScan *scan) {
    RowFeed *rows = scan->rows;
    scan->rows = nullptr;
    return !rows || end_rows(rows);
}

// Adds the pages that are not covered to the rows that are under way.
bool feed_other_pages(SourceScan *scan, int relation, ChunkFeed *feed) {
    if (scan->run->visible_only)
        return true;
    if (scan->rows && scan->rows_of != relation && !flush_rows(scan))
        return false;
    if (!scan->rows)
        scan->rows = begin_rows(feed);
    scan->rows_of = relation;
    return add_rows(scan->rows, feed, feed->work->covered);
}

bool feed_chunk(SourceScan *scan, const ChunkAhead *ahead) {
    if (ahead->held && !ahead->covered && ahead->npages == ahead->question.npages)
        return true;
    ChunkFeed *feed = scan->feeds[ahead->relation];
    go_to_chunk(feed, ahead->question.chunk);
    if (ahead->held)
        take_covered(feed->work->covered, ahead);
    else if (!stage_alone(feed))
        return false;
    return feed_other_pages(scan, ahead->relation, feed);
}

// Lets go of the relations before the one that the scan is in.
void end_feeds(SourceScan *scan, int end) {
    for (int i = 0; i < end; ++i)
        if (scan->feeds[i]) {
            end_chunks(scan->feeds[i]);
            scan->feeds[i] = nullptr;
        }
}

bool feed_scan(SourceScan *scan, int source) {
    do {
        if (!stage_ahead(scan, source) || !feed_missing(scan))
            return false;
        for (uint32 i = 0; i < scan->nahead; ++i)
            if (!scan->ahead[i].fed && !feed_chunk(scan, &scan->ahead[i]))
                return false;
        if (!flush_rows(scan))
            return false;
        end_feeds(scan, scan->relation);
    } while (scan->nahead > 0);
    return true;
}

} // namespace

bool feed_relations(FragmentRun *run, int source) {
    MemoryContext context = AllocSetContextCreate(run->context, "GpuScan feed", ALLOCSET_DEFAULT_SIZES);
    MemoryContext old = MemoryContextSwitchTo(context);
    SourceScan *scan = static_cast<SourceScan *>(palloc0(sizeof(SourceScan)));
    scan->run = run;
    scan->work = static_cast<ChunkWork *>(palloc0(sizeof(ChunkWork)));
    scan->nrelations = run->relations[source].count;
    scan->room_ahead = std::min(static_cast<uint32>(scan->nrelations) + chunks_of_request, max_chunks_ahead);
    scan->ahead = static_cast<ChunkAhead *>(palloc0(scan->room_ahead * sizeof(ChunkAhead)));
    scan->lsns_prove = lsns_prove_to(run);
    scan->feeds = static_cast<ChunkFeed **>(palloc0(sizeof(ChunkFeed *) * (scan->nrelations + 1)));
    batch_begin(run, source);
    const uint64 rowwise = run->report.pages_rowwise;
    bool fed = feed_scan(scan, source) && batch_flush(run);
    if (fed && !run->visible_only)
        note_rowwise_pages(run->fragment->sources[source].relid, run->report.pages_rowwise - rowwise);
    if (scan->rows)
        drop_rows(scan->rows);
    end_feeds(scan, scan->nrelations);
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
    return fed;
}

} // namespace gpuscan
