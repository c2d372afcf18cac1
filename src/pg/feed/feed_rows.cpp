// Feeding pages that are not cached: PostgreSQL decides per tuple, the device decodes what it was told.
//
// As in heapgetpage: under the page's SHARE lock every normal line pointer is tested against the snapshot (or all are
// visible because the page says so, which counts only outside of recovery), and the tuples found stay where they are
// as long as the page is pinned. So the device gets page and mask, and the pins go when it has replied. Where pins
// are scarce, the page is copied under its lock instead. Pages with values that the device cannot read (toasted ones)
// come back and are decoded here.
//
// A parallel worker (parallel_feed.cpp) does the same under its leader's snapshot, for a session that has joined the leader's. What it
// has brought it notes as covered; pages that came back are left to the leader.
#include <algorithm>

#include "pg/feed/feed.h"

namespace gpuscan {

struct RowFeed {
    MemoryContext context; // of everything here
    FragmentRun *run;
    Relation relation;
    uint32 feed;          // its number in the device's session
    SourceRelation *from; // not in a worker
    int source;           // ... nor this
    uint8 *brought;       // in a worker: pages that it has delivered
    BlockNumber first;    // of the chunk
    BufferAccessStrategy strategy;
    ExpressionFeed *expressions; // NULL: none
    bool copy;
    uint32 limit, npages;
    protocol::PageEntry *entries;
    TupleMask *masks;
    PageBuffer *buffers;
    BlockNumber *blocks;
    char *images;         // copies; they survive until the next window
    TupleTableSlot *slot; // of its own descriptor: nothing to be given back
    int last_attribute;   // that is asked for
    Datum *row;
    bool *row_nulls;
    MemoryContext row_context;
};

namespace {

// The visible tuples of a page under its lock.
uint32 visible_tuples(RowFeed *feed, PageBuffer buffer, BlockNumber block, TupleMask *mask) {
    Snapshot snapshot = feed->run->snapshot;
    Page page = BufferGetPage(buffer);
    OffsetNumber last = PageGetMaxOffsetNumber(page);
    bool all_visible = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
    uint32 count = 0;
    *mask = TupleMask();
    for (OffsetNumber i = FirstOffsetNumber; i <= last; ++i) {
        if (!ItemIdIsNormal(PageGetItemId(page, i)))
            continue;
        HeapTupleData tuple = tuple_at(feed->relation, page, block, i);
        if (all_visible || HeapTupleSatisfiesVisibility(&tuple, snapshot, buffer)) {
            take_tuple(mask, i - 1);
            ++count;
        }
    }
    return count;
}

void prepare_rows(RowFeed *feed) {
    const int ncolumns = feed->run->fragment->sources[feed->source].columns.count;
    feed->slot =
        MakeSingleTupleTableSlot(CreateTupleDescCopyConstr(RelationGetDescr(feed->relation)), &TTSOpsHeapTuple);
    feed->last_attribute = 0;
    for (int i = 0; i < ncolumns; ++i)
        feed->last_attribute = std::max<int>(feed->last_attribute, feed->from->attnums[i]);
    feed->row = static_cast<Datum *>(palloc((ncolumns + 1) * sizeof(Datum)));
    feed->row_nulls = static_cast<bool *>(palloc((ncolumns + 1) * sizeof(bool)));
    feed->row_context = AllocSetContextCreate(CurrentMemoryContext, "GpuScan row", ALLOCSET_DEFAULT_SIZES);
}

// Rows of a page that the device could not read. `page` is pinned or a copy; its visible tuples stay as they are.
bool decode_here(RowFeed *feed, Page page, BlockNumber block, const TupleMask *mask) {
    const FragmentSource *source = &feed->run->fragment->sources[feed->source];
    if (!feed->row)
        prepare_rows(feed);
    for (uint32 offset = 0; offset < max_tuples_per_page; ++offset) {
        if (!has_tuple(mask, offset))
            continue;
        CHECK_FOR_INTERRUPTS();
        HeapTupleData tuple = tuple_at(feed->relation, page, block, offset + 1);
        // No further than PostgreSQL would go: what stands behind may be damaged.
        ExecStoreHeapTuple(&tuple, feed->slot, false);
        slot_getsomeattrs(feed->slot, feed->last_attribute);
        for (int i = 0; i < source->columns.count; ++i) {
            if (feed->from->attnums[i] == 0)
                continue;
            feed->row[i] = feed->slot->tts_values[feed->from->attnums[i] - 1];
            feed->row_nulls[i] = feed->slot->tts_isnull[feed->from->attnums[i] - 1];
        }
        MemoryContext old = MemoryContextSwitchTo(feed->row_context);
        const RowExpressions evaluated = read_expressions(feed->expressions, page, block, offset + 1,
                                                          feed->from->attnums, feed->row, feed->row_nulls);
        const bool added = evaluated == RowExpressions::Dropped ||
                           (evaluated == RowExpressions::Failed ? give_up(feed->run, "an expression met an error")
                                                                : batch_add(feed->run, feed->row, feed->row_nulls));
        MemoryContextSwitchTo(old);
        MemoryContextReset(feed->row_context);
        if (!added)
            return false;
    }
    return true;
}

void release_window(RowFeed *feed) {
    release_pages(feed->buffers, feed->npages);
    feed->npages = 0;
}

bool post_window(RowFeed *feed) {
    char *input = device_input(feed->run->connection);
    protocol::DecodeRequest head = {};
    head.source = feed->feed;
    head.npages = feed->npages;
    head.copied = feed->copy;
    head.has_masks = 1;
    head.expressions = all_expressions(feed->expressions);
    memcpy(input, &head, sizeof head);
    Size size = aligned(sizeof head);
    memcpy(input + size, feed->entries, feed->npages * sizeof *feed->entries);
    size += feed->npages * sizeof *feed->entries;
    memcpy(input + size, feed->masks, feed->npages * sizeof *feed->masks);
    size += feed->npages * sizeof *feed->masks;
    if (feed->copy) {
        memcpy(input + size, feed->images, Size(feed->npages) * BLCKSZ);
        size += Size(feed->npages) * BLCKSZ;
    }
    if (feed->expressions) {
        EvaluatedPage *pages = static_cast<EvaluatedPage *>(palloc(feed->npages * sizeof(EvaluatedPage)));
        for (uint32 i = 0; i < feed->npages; ++i)
            pages[i] = {feed->copy ? feed->images + Size(i) * BLCKSZ : BufferGetPage(feed->buffers[i]), feed->blocks[i],
                        &feed->masks[i]};
        size += put_expressions(feed->expressions, head.expressions, pages, feed->npages, input + size);
        pfree(pages);
    }
    return request(feed->run, protocol::Command::DecodeRows, size,
                   aligned(sizeof(protocol::DecodeReply)) + feed->npages);
}

void note_brought(RowFeed *feed, BlockNumber block) {
    const uint32 page = block - feed->first;
    if (!feed->brought)
        return;
    feed->brought[page / 8] |= 1 << (page % 8);
    ++feed->run->report.pages_rowwise;
}

bool send_window(RowFeed *feed) {
    FragmentRun *run = feed->run;
    uint8 status[protocol::max_window_pages];
    bool pass_full = false;
    if (feed->npages == 0)
        return true;
    bool sent = post_window(feed);
    if (sent) {
        uint32 size;
        const char *output = device_output(run->connection, &size);
        pass_full = reinterpret_cast<const protocol::DecodeReply *>(output)->pass_full != 0;
        memcpy(status, output + aligned(sizeof(protocol::DecodeReply)), feed->npages);
    }
    for (uint32 i = 0; sent && i < feed->npages; ++i) {
        switch (static_cast<PageStatus>(status[i])) {
        case PageStatus::Ok:
            note_brought(feed, feed->blocks[i]);
            break;
        case PageStatus::Unrepresentable:
            sent =
                give_up(run, "a value of %s does not fit the device's type", RelationGetRelationName(feed->relation));
            break;
        default:
            sent = feed->brought != nullptr ||
                   decode_here(feed, feed->copy ? feed->images + Size(i) * BLCKSZ : BufferGetPage(feed->buffers[i]),
                               feed->blocks[i], &feed->masks[i]);
        }
    }
    release_window(feed);
    return sent && (!pass_full || feed->brought != nullptr || run_pipeline(run, false));
}

void add_page(RowFeed *feed, BlockNumber block) {
    CHECK_FOR_INTERRUPTS();
    PageBuffer buffer = ReadBufferExtended(feed->relation, MAIN_FORKNUM, block, RBM_NORMAL, feed->strategy);
    heap_page_prune_opt(feed->relation, buffer);
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    uint32 count = visible_tuples(feed, buffer, block, &feed->masks[feed->npages]);
    if (count > 0 && feed->copy)
        memcpy(feed->images + Size(feed->npages) * BLCKSZ, BufferGetPage(buffer), BLCKSZ);
    LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
    if (!feed->brought) {
        ++feed->run->report.pages_rowwise;
        feed->from->rows += count;
    }
    if (count == 0 || feed->copy)
        ReleaseBuffer(buffer);
    if (count == 0)
        return note_brought(feed, block);
    protocol::PageEntry entry = {};
    entry.page = feed->npages;
    entry.ntuples = count;
    entry.buffer = feed->copy ? feed->npages : buffer - 1;
    feed->buffers[feed->npages] = feed->copy ? InvalidBuffer : buffer;
    feed->blocks[feed->npages] = block;
    feed->entries[feed->npages++] = entry;
}

void prepare(RowFeed *feed) {
    int pages = window_pages(feed->relation);
    feed->copy = pages == 0;
    feed->limit = pages_with_expressions(feed->expressions, feed->copy ? copied_window_pages : pages, feed->copy);
    feed->entries = static_cast<protocol::PageEntry *>(palloc(feed->limit * sizeof *feed->entries));
    feed->masks = static_cast<TupleMask *>(palloc(feed->limit * sizeof *feed->masks));
    feed->buffers = static_cast<PageBuffer *>(palloc(feed->limit * sizeof *feed->buffers));
    feed->blocks = static_cast<BlockNumber *>(palloc(feed->limit * sizeof *feed->blocks));
    if (feed->copy)
        feed->images = static_cast<char *>(palloc(Size(feed->limit) * BLCKSZ));
}

// How many pages from `page` on are covered, as far as whole words go; most chunks are covered entirely.
uint32 covered_words(const uint8 *covered, uint32 page, uint32 npages) {
    uint32 skipped = 0;
    for (; page + skipped + 64 <= npages; skipped += 64) {
        uint64 word;
        memcpy(&word, covered + (page + skipped) / 8, sizeof word);
        if (word != ~UINT64CONST(0))
            break;
    }
    return skipped;
}

} // namespace

RowFeed *begin_rows(const ChunkFeed *from) {
    MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "GpuScan rows", ALLOCSET_DEFAULT_SIZES);
    RowFeed *feed = static_cast<RowFeed *>(MemoryContextAllocZero(context, sizeof(RowFeed)));
    feed->context = context;
    feed->run = from->run;
    feed->relation = from->relation;
    feed->feed = from->feed;
    feed->from = from->from;
    feed->source = from->source;
    feed->strategy = from->strategy;
    feed->expressions = from->expressions;
    return feed;
}

bool add_rows(RowFeed *feed, const ChunkFeed *from, const uint8 *covered) {
    MemoryContext old = MemoryContextSwitchTo(feed->context);
    bool fed = true;
    feed->first = from->first;
    for (uint32 page = 0; fed && page < from->npages; ++page) {
        if (page % 64 == 0)
            page += covered_words(covered, page, from->npages);
        if (page >= from->npages || (covered[page / 8] >> (page % 8)) & 1)
            continue;
        if (feed->limit == 0)
            prepare(feed);
        add_page(feed, feed->first + page);
        if (feed->npages == feed->limit)
            fed = send_window(feed);
    }
    MemoryContextSwitchTo(old);
    return fed;
}

bool end_rows(RowFeed *feed) {
    MemoryContext old = MemoryContextSwitchTo(feed->context);
    const bool fed = send_window(feed);
    MemoryContextSwitchTo(old);
    MemoryContextDelete(feed->context);
    return fed;
}

void drop_rows(RowFeed *feed) {
    release_window(feed);
    MemoryContextDelete(feed->context);
}

bool feed_rows(const ChunkFeed *from, const uint8 *covered) {
    RowFeed *feed = begin_rows(from);
    return add_rows(feed, from, covered) && end_rows(feed);
}

bool bring_rows(ChunkFeed *from, bool *pass_full) {
    FragmentRun *run = from->run;
    uint8 brought[bitmap_bytes_aligned] = {};
    RowFeed *feed = begin_rows(from);
    feed->brought = brought;
    if (!add_rows(feed, from, from->work->covered) || !end_rows(feed))
        return false;
    protocol::DeliverRowsRequest head = {};
    head.source = from->feed;
    memcpy(device_input(run->connection), &head, sizeof head);
    if (!request(run, protocol::Command::DeliverRows, sizeof head, sizeof(protocol::DeliverRowsReply)))
        return false;
    *pass_full |= reply_of<protocol::DeliverRowsReply>(run)->pass_full != 0;
    for (Size i = 0; i < sizeof brought; ++i)
        from->work->covered[i] |= brought[i];
    return true;
}

} // namespace gpuscan
