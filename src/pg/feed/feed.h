// Feeding one chunk after the other of a source's relations: what the session's backend and its parallel workers have in
// common.
#pragma once

#include "pg/cost/feed_workers.h"
#include "pg/exec/run.h"

namespace gpuscan {

constexpr Size bitmap_bytes_aligned = (protocol::bitmap_bytes + 7) / 8 * 8;
constexpr uint32 chunks_of_request = 240; // that are asked for at once: a bitmap of each fits
// That are listed before what is missing of them is fed: of many small partitions so many that workers are worth starting.
constexpr uint32 max_chunks_ahead = 4096;

struct Window {
    uint32 input_offset;
    uint32 npages;
    protocol::PageEntry *entries;
    TupleMask *masks;    // the tuples that every snapshot sees
    bool masked;         // of a page these are not all that it has
    PageBuffer *buffers; // InvalidBuffer: copied
    uint8 *status;       // what the device said of the pages
};

// The search for a relation's pages, see find_page.cpp.
struct PageFinder {
    BlockNumber nblocks;
    BufferAccessStrategy strategy;
    bool shared;       // not a temporary table
    PageBuffer guess;  // where the next page may be
    int wrong;         // guesses in a row
    int without;       // pages for which nothing is guessed
    int distance;      // pages to read ahead, 0: none
    int reading;       // pages for which it is done
    BlockNumber ahead; // next page to be read ahead
};

// A chunk of which the cache may have everything.
struct ChunkAhead {
    int relation; // of the source
    protocol::StageManyEntry question;
    uint8 *visible; // NULL: every page is
    uint32 npages;  // that can be cached
    bool answered;  // a look at the map would tell nothing more
    bool held;      // by the session, as far as it can be cached
    uint32 missing; // if not: how many pages of it have to be brought, at most
    uint8 *covered; // which pages the session holds; NULL: those npages
    bool fed;       // completely, by whomever
};

// What is known of the chunk at hand, and the windows in which its pages are decoded: feeds that take turns share it.
struct ChunkWork {
    uint8 visible[bitmap_bytes_aligned];
    uint8 covered[bitmap_bytes_aligned];
    uint8 missing[bitmap_bytes_aligned];
    uint16 *bad; // decoded pages that must not be used: their second check failed; NULL: nothing has been decoded yet
    uint32 nbad;
    Window windows[2];
};

struct ExpressionFeed; // expression_pages.cpp
struct FeedLeader;     // parallel_feed.cpp

// A chunk whose missing pages several processes decode, in parts that they take in turn. Nothing of it changes once it is open but what is
// atomic, and `bad`.
struct SharedBuild {
    pg_atomic_uint32 state; // SharedBuildState
    pg_atomic_uint32 next_part, parts_done;
    pg_atomic_uint32 windows, pages_decoded; // by workers
    uint32 part_pages, nparts;
    uint32 nvisible;
    bool lsns_prove;
    TransactionId horizon;
    uint64 lacking;
    uint8 visible[bitmap_bytes_aligned];
    uint8 missing[bitmap_bytes_aligned];
    slock_t lock;
    uint8 bad[bitmap_bytes_aligned]; // decoded by workers, but the second check failed
};

struct ChunkFeed {
    FragmentRun *run;
    ChunkWork *work;
    Relation relation;
    uint32 feed;          // its number in the device's session
    int source;           // whose relation it is (not in a worker)
    SourceRelation *from; // ... and which
    BufferAccessStrategy strategy;
    PageFinder finder;
    ExpressionFeed *expressions; // NULL: the source has none
    uint64 lacking;              // expressions that the device wants of the missing pages
    bool cacheable;
    bool lsns_prove; // a page that has not changed is right, visible or not
    bool hashed;     // what is called an LSN of a page is its hash
    PageBuffer map_buffer;
    int window_pages; // 0: copy
    BlockNumber nblocks;

    uint32 chunk, npages;
    BlockNumber first;
    XLogRecPtr map_lsn; // 0: nothing is known by the map
    uint32 nvisible;
    TransactionId horizon; // of the build: every snapshot sees what older transactions did
    FeedLeader *leader;    // of workers who help to build the chunk; NULL: nobody does
    SharedBuild *shared;   // NULL: all pages are decoded here
    uint32 parts;          // of it that have been taken
};

struct RowFeed; // feed_rows.cpp

// All of a source's relations, one after the other.
struct SourceScan {
    FragmentRun *run;
    ChunkWork *work;
    int nrelations;
    ChunkFeed **feeds;    // by relation; NULL before and after its turn
    bool lsns_prove;      // as in ChunkFeed, for all of them
    XLogRecPtr wal_end;   // before the chunks ahead were looked at; 0: that proves nothing to this transaction
    WalPosition seen_wal; // likewise
    TransactionId next_xid,
        horizon;   // later than seen_wal; what older transactions than the horizon did, every snapshot sees
    RowFeed *rows; // of the relation rows_of, NULL: none are under way
    int rows_of;
    ChunkAhead *ahead; // in the order of the scan
    uint32 nahead, room_ahead;
    int relation; // where it goes on
    uint32 chunk;
};

// The tuple of a normal line pointer, as visibility checks want it.
inline HeapTupleData tuple_at(Relation relation, Page page, BlockNumber block, OffsetNumber number) {
    ItemId item = PageGetItemId(page, number);
    HeapTupleData tuple;
    tuple.t_tableOid = RelationGetRelid(relation);
    tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
    tuple.t_len = ItemIdGetLength(item);
    ItemPointerSet(&tuple.t_self, block, number);
    return tuple;
}

// A page's identity is its hash: WAL does not describe the relation.
inline bool is_hashed(Relation relation) { return relation->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED; }

inline bool has_tuple(const TupleMask *mask, uint32 offset) { return (mask->bits[offset / 64] >> (offset % 64)) & 1; }
inline void take_tuple(TupleMask *mask, uint32 offset) { mask->bits[offset / 64] |= uint64(1) << (offset % 64); }

// Lets go of the pages of a window, of which InvalidBuffer are copies.
inline void release_pages(const PageBuffer *buffers, uint32 count) {
    for (uint32 i = 0; i < count; ++i)
        if (BufferIsValid(buffers[i]))
            ReleaseBuffer(buffers[i]);
}

inline bool bit(const uint8 *bitmap, uint32 i) { return (bitmap[i / 8] >> (i % 8)) & 1; }

// ---- visibility_map.cpp ----

// Sets the bits of the first npages pages, and no other one.
void set_bits(uint8 *bitmap, uint32 npages);
// Looks at the map of the chunk: feed->map_lsn, feed->nvisible, work->visible. Without a page of it, or if that has no LSN either,
// nothing is visible.
void look_at_map(ChunkFeed *feed);
void stamp_map(ChunkFeed *feed);
void unpin_map(ChunkFeed *feed);

// ---- decode_pages.cpp ----

PageBuffer read_page(ChunkFeed *feed, uint32 page);
// The LSN of a page under its lock, or what stands for it.
uint64 identity_of(const ChunkFeed *feed, PageBuffer buffer);
// The pages work->missing, together with workers if there are any. `nothing`: there was none that can be cached. `by_others`: so many
// were decoded by workers.
bool decode_chunk(ChunkFeed *feed, bool *nothing, uint32 *by_others);
// In a parallel worker: brings parts of the chunk that the leader builds.
bool help_to_build(ChunkFeed *feed, SharedBuild *build);

// ---- seen_wal.cpp ----

// Where WAL ends, before anything is looked at; 0: that proves nothing to this transaction.
XLogRecPtr end_of_wal();
// How far WAL is to be followed: what lies behind that changes nothing that a snapshot sees which has been taken already. None: that
// cannot be said of this transaction, or of this moment.
WalPosition seen_wal();

// ---- stage_chunk.cpp ----

// Is a page that has not changed right for the run's snapshot, visible or not?
bool lsns_prove_to(const FragmentRun *run);

// In the current memory context. `feed`: its number in the device's session.
ChunkFeed *begin_chunks(FragmentRun *run, ChunkWork *work, Relation relation, uint32 feed, BlockNumber nblocks);
void end_chunks(ChunkFeed *feed);
void go_to_chunk(ChunkFeed *feed, uint32 chunk);
// What the session holds of a chunk that it was asked for.
void take_covered(uint8 *covered, const ChunkAhead *ahead);
// Brings the chunk into the session as far as possible; `work->covered` says for which pages.
bool stage_chunk(ChunkFeed *feed, bool *pass_full);

// ---- feed_relation.cpp ----

// The pages of the chunk that are not in `covered`.
bool feed_uncovered(ChunkFeed *feed, const uint8 *covered);

// ---- earlier_looks.cpp ----

// What this session saw of a part of the relation when WAL ended where it ends now: of whole_relation the number of its pages, of a
// chunk of `npages` pages, all of them visible, the LSN of the map page. False: that is not known.
constexpr uint32 whole_relation = UINT32_MAX; // no chunk has this number
bool recall_look(Relation relation, uint32 part, uint32 npages, XLogRecPtr wal_end, uint64 *seen);
// `wal_end` was taken before the look; 0: it is not noted.
void note_look(Relation relation, uint32 part, uint32 npages, XLogRecPtr wal_end, uint64 seen);

// ---- feed_rows.cpp ----

// Pages with visibility checked row by row, of one chunk of the relation after the other: they go to the device by windows, so
// that a page in each of many chunks takes one round trip. In the current memory context.
RowFeed *begin_rows(const ChunkFeed *from);
// The pages of the chunk whose bit in `covered` is not set. False: the fragment has failed, and the rows need no end.
bool add_rows(RowFeed *feed, const ChunkFeed *from, const uint8 *covered);
bool end_rows(RowFeed *feed);
// Without sending them.
void drop_rows(RowFeed *feed);
// All of that for one chunk.
bool feed_rows(const ChunkFeed *feed, const uint8 *covered);
// The same in a parallel worker: those in feed->work->covered are left out, those that it has brought are added to them.
bool bring_rows(ChunkFeed *feed, bool *pass_full);

// ---- expression_pages.cpp ----

struct EvaluatedPage {
    Page page; // pinned, or a copy
    BlockNumber block;
    const TupleMask *mask; // the tuples that count
};
// For the relation's pages, in the current memory context; NULL: there are no expressions. Raises an error where the user may not
// execute a function.
ExpressionFeed *begin_expressions(Relation relation, List *expressions, List *asked_quals);
void end_expressions(ExpressionFeed *feed);
// How many pages, at most `limit`, go into half of a slot's input with the values of all expressions.
uint32 pages_with_expressions(const ExpressionFeed *feed, uint32 limit, bool copied);
uint64 all_expressions(const ExpressionFeed *feed);
// Writes what follows a DecodeRequest's images: the values of the wanted expressions (bits). Returns its size.
Size put_expressions(ExpressionFeed *feed, uint64 wanted, const EvaluatedPage *pages, int npages, char *to);
// The values of all expressions for one tuple, in the current memory context, where the source's columns have attribute number 0.
// Failed: one has raised an error. Dropped: one has, but the quals that are asked first drop the row, so nobody meets the error.
enum class RowExpressions { Evaluated, Dropped, Failed };
RowExpressions read_expressions(ExpressionFeed *feed, Page page, BlockNumber block, OffsetNumber offset,
                                const AttrNumber *attnums, Datum *values, bool *nulls);

// ---- find_page.cpp ----

void begin_finding(PageFinder *finder, Relation relation, BlockNumber nblocks, BufferAccessStrategy strategy);
// The page, pinned.
PageBuffer find_page(PageFinder *finder, Relation relation, BlockNumber block);

// ---- parallel_feed.cpp ----

// How many workers are worth starting for so many missing pages of so many chunks, pages read row by row, and evaluations of an
// expression for a page.
FeedWorkers workers_for_chunks(uint32 nchunks, uint64 npages, uint64 rowwise, uint64 evaluated);
// Feeds these of the chunks ahead together with workers, who bring rows if `rowwise`.
bool feed_in_parallel(SourceScan *scan, const uint32 *chunks, uint32 nchunks, bool rowwise, const FeedWorkers &workers);
// The leader of such workers begins to build a chunk (feed->shared), whose parts they may take from here on.
void open_shared_build(ChunkFeed *feed, const uint8 *missing);
// Waits for the parts that others have taken, after the last one has been. `nothing` becomes false if there was a page in them, and
// `decoded` grows.
bool wait_for_parts(ChunkFeed *feed, bool *nothing, uint32 *decoded);

} // namespace gpuscan
