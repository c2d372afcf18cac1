// Pages in shared buffers; see buffered_pages.h.
//
// PostgreSQL and a device read the same pages the first time, but share that work among different numbers of processes, so that the
// share decides between them where a table is large. It cannot be told from sizes: a sequential scan of a table larger than a quarter of
// shared buffers reads through a small ring of them and leaves them as they were, so a table that would fit may be in none. Looking for
// a page takes some 50 ns, without a pin; what has been found holds for a statement of the client's.
#include "pg/pg.h"

#include "pg/cost/buffered_pages.h"

#include "pg/compat.h"

namespace gpuscan {

constexpr BlockNumber few_pages = 1024; // 8 MB: some 4 ms
constexpr int looks = 64;
constexpr int relations_known = 32;

static bool is_buffered(const RelFileLocator *locator, BlockNumber block) {
    BufferTag tag;
    InitBufferTag(&tag, locator, MAIN_FORKNUM, block);
    const uint32 hash = BufTableHashCode(&tag);
    LWLock *lock = BufMappingPartitionLock(hash);
    LWLockAcquire(lock, LW_SHARED);
    const int buffer = BufTableLookup(&tag, hash);
    LWLockRelease(lock);
    return buffer >= 0;
}

static double look_for_pages(Oid relid, BlockNumber pages) {
    Relation relation = table_open(relid, NoLock);
    int found = looks;
    if (!RelationUsesLocalBuffers(relation) && RELKIND_HAS_STORAGE(relation->rd_rel->relkind)) {
        found = 0;
        for (int i = 0; i < looks; ++i)
            found += is_buffered(&relation->rd_locator, static_cast<BlockNumber>((i + 0.5) * pages / looks));
    }
    table_close(relation, NoLock);
    return found / static_cast<double>(looks);
}

double buffered_share(PlannerInfo *root, const RelOptInfo *rel) {
    struct Known {
        Oid relid;
        BlockNumber pages;
        TimestampTz statement;
        double share;
    };
    static Known known[relations_known];
    const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
    if (rel->pages < few_pages || rte->rtekind != RTE_RELATION)
        return 1;
    const TimestampTz statement = GetCurrentStatementStartTimestamp();
    Known *place = &known[rte->relid % relations_known];
    if (place->relid != rte->relid || place->pages != rel->pages || place->statement != statement)
        *place = {rte->relid, rel->pages, statement, look_for_pages(rte->relid, rel->pages)};
    return place->share;
}

} // namespace gpuscan
