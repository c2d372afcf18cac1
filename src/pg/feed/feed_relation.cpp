// Feeding a table: the backend's half of the column cache. Whether an answer is right depends on the rules below, which visibility_map.cpp,
// decode_pages.cpp and stage_chunk.cpp carry out for one chunk; this file goes over the chunks of all relations of a source.
//
// The cache holds the tuples of a page that every snapshot sees, as long as the page has none about which snapshots
// differ. Such a page is right for a query if no change that the query sees has been made since: every change of a page moves
// its LSN before its transaction commits, so the LSN is compared after the snapshot was taken. In recovery only the
// visibility map tells what every snapshot sees.
//
// A chunk is what one page of the visibility map covers. Setting one of the map's bits always moves the LSN of the map page,
// so a map page that is as it was says of all pages whose bit is set that they are. Per chunk:
//
//   read     LSN and bits of the map page in one hold of its SHARE lock
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
// A later content of a page is right for an older snapshot, too, as long as it is cached at all: what it lacks or has more
// was decided for that snapshot as well. So it does not matter what happens to page or map between look and publication.
//
// WAL does not describe unlogged tables. There a hash of the page, under its lock, does what the LSN does above (why it may
// be compared without a lock: server/page_identity.hpp), and neither the map nor the end of WAL vouches for anything. Nothing
// of them survives a crash, neither the tables nor the cache.
//
// Before all that the device process reads WAL up to where it had been flushed when the snapshot was taken (seen_wal.cpp), and knows
// which of the pages that it has WAL has named since: the others need no look at all.
//
// nblocks is taken after the snapshot: pages that come later hold nothing that the snapshot sees.
#include "pg/cost/rowwise_pages.h"
#include "pg/feed/feed.h"

namespace gpuscan {
namespace {

static_assert(chunks_of_request * (bitmap_bytes_aligned + sizeof(protocol::StageManyEntry)) + 64 <=
                  protocol::slot_buffer_size,
              "the bitmaps of all of them fit into a request");
constexpr uint32 min_pages_for_workers = 1024; // pages of a chunk: fewer are read by the session itself

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

// ---- staging ahead ----

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

Size put_questions(const SourceScan *scan, const uint32 *asked, uint32 nasked, bool no_maps) {
    char *input = device_input(scan->run->connection);
    protocol::StageManyRequest head = {};
    head.count = nasked;
    head.lsns_prove = scan->lsns_prove;
    head.seen_wal = scan->seen_wal;
    head.no_maps = no_maps;
    head.next_xid = scan->next_xid;
    head.horizon = scan->horizon;
    memcpy(input, &head, sizeof head);
    Size size = aligned(sizeof head);
    for (uint32 i = 0; i < nasked; ++i, size += sizeof(protocol::StageManyEntry))
        memcpy(input + size, &scan->ahead[asked[i]].question, sizeof(protocol::StageManyEntry));
    for (uint32 i = 0; i < nasked && !no_maps; ++i) {
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
        ahead->answered = state != protocol::StageManyState::NotHeld;
        ahead->held = ahead->answered && state != protocol::StageManyState::Missing;
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
bool ask_for_chunks(SourceScan *scan, int source, const uint32 *asked, uint32 nasked, bool no_maps) {
    FragmentRun *run = scan->run;
    for (uint32 at = 0; at < nasked;) {
        const uint32 count = std::min(nasked - at, chunks_of_request);
        const Size size = put_questions(scan, asked + at, count, no_maps);
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

// Asks for the next chunks: afterwards scan->ahead says which of them the session holds. Where WAL is followed, the first question is
// without a look at the maps: most chunks need none.
bool stage_ahead(SourceScan *scan, int source) {
    uint32 *asked = static_cast<uint32 *>(palloc(scan->room_ahead * sizeof(uint32)));
    scan->wal_end = end_of_wal();
    scan->seen_wal = scan->lsns_prove ? seen_wal() : WalPosition();
    uint32 nasked = list_chunks(scan, source, asked);
    bool staged = true;
    scan->horizon = InvalidTransactionId;
    if (nasked > 0 && scan->seen_wal.end != 0) {
        scan->next_xid = ReadNextTransactionId();
        scan->horizon = GetOldestNonRemovableTransactionId(scan->feeds[scan->ahead[asked[0]].relation]->relation);
        staged = ask_for_chunks(scan, source, asked, nasked, true);
        uint32 left = 0;
        for (uint32 i = 0; i < nasked; ++i)
            if (!scan->ahead[asked[i]].answered)
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

} // namespace

bool feed_uncovered(ChunkFeed *feed, const uint8 *covered) {
    return feed->run->cacheable_only || feed_rows(feed, covered);
}

namespace {

// Feeds what is missing of the chunks that were asked for together with workers, where that pays.
bool feed_missing(SourceScan *scan) {
    uint32 *chunks = static_cast<uint32 *>(palloc((scan->nahead + 1) * sizeof(uint32)));
    uint32 nchunks = 0;
    uint64 npages = 0, rowwise = 0, evaluated = 0;
    const bool rows = !scan->run->cacheable_only;
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
    if (scan->run->cacheable_only)
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
    if (fed && !run->cacheable_only)
        note_rowwise_pages(run->fragment->sources[source].relid, run->report.pages_rowwise - rowwise);
    if (scan->rows)
        drop_rows(scan->rows);
    end_feeds(scan, scan->nrelations);
    MemoryContextSwitchTo(old);
    MemoryContextDelete(context);
    return fed;
}

} // namespace gpuscan
