// Bringing one chunk into the device's session: what the cache has of it, and what must be decoded (feed_relation.cpp tells the rules).
#include "pg/feed/feed.h"

namespace gpuscan {
namespace {

constexpr uint32 accepted_missing = 256; // so few pages are read row by row rather than waited for
constexpr int longest_wait = 500;        // ms for another session's build, then the missing pages are read by row

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

} // namespace

// In recovery only the map proves anything, and for a snapshot of that time after promotion, too: a page's flag may have
// come with an image of the page, and without a conflict with snapshots that do not see all of its tuples.
bool lsns_prove_to(const FragmentRun *run) { return !RecoveryInProgress() && !run->snapshot->takenDuringRecovery; }
namespace {

// LSNs of pages, and where they lie.
struct PageLsns {
    uint8 pages[bitmap_bytes_aligned];
    uint32 count;
    uint64 lsns[pages_per_chunk];
    uint32 buffers[pages_per_chunk];
};

bool send_stage(ChunkFeed *feed, const PageLsns *lsns, bool accept_missing, const WalPosition &seen) {
    char *input = device_input(feed->run->connection);
    protocol::StageRequest head = {};
    head.source = feed->feed;
    head.chunk = feed->chunk;
    head.npages = feed->npages;
    head.has_lsns = lsns != nullptr;
    head.accept_missing = accept_missing;
    head.lsns_prove = feed->lsns_prove;
    head.map_lsn = feed->map_lsn;
    head.seen_wal = seen;
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

// (`seen` stays what it was before the first question: it must not lie behind what is looked at.)
bool tell_lsns(ChunkFeed *feed, bool accept_missing, const WalPosition &seen) {
    PageLsns *lsns = static_cast<PageLsns *>(palloc(sizeof(PageLsns)));
    bool told = reply_bitmap(feed, lsns->pages);
    if (told) {
        collect_lsns(feed, lsns);
        told = send_stage(feed, lsns, accept_missing, seen);
    }
    pfree(lsns);
    return told;
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
        const WalPosition seen = feed->lsns_prove ? seen_wal() : WalPosition();
        look_at_map(feed);
        if (feed->nvisible == 0 && !feed->lsns_prove)
            return true;
        if (feed->nvisible > 0 && feed->map_lsn == InvalidXLogRecPtr && !stamped) {
            stamp_map(feed);
            stamped = true;
            continue;
        }
        if (!send_stage(feed, nullptr, accept_missing, seen))
            return false;
        uint32 built = 0;
        const protocol::StageReply *reply = reply_of<protocol::StageReply>(run);
        if (reply->state == static_cast<uint32>(protocol::StageState::NeedLsns)) {
            if (!tell_lsns(feed, accept_missing, seen))
                return false;
            reply = reply_of<protocol::StageReply>(run);
        }
        if (reply->state == static_cast<uint32>(protocol::StageState::NeedPages)) {
            uint64 before = run->report.pages_decoded;
            bool nothing;
            uint32 by_others = 0;
            feed->lacking = reply->expressions;
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

} // namespace gpuscan
