// Finding a relation's pages in shared_buffers, one after the other, as fast as a link to a GPU takes them.
//
// ReadBuffer computes a hash and looks into a shared table whose entries are seldom in a processor's cache. But a table
// that was loaded or read in one go lies in consecutive buffers, so the buffer behind the last one is tried first:
// ReadRecentBuffer compares its tag under its header's lock, and pins it only if it holds the page that is wanted. A guess
// can therefore be wrong, but never harmful. While guesses fail, they are given up for some pages.
//
// (Fetching descriptors and line pointers of the next pages into the processor's cache ahead was tried, 3 to 24 pages: no gain,
// with one feeding process or eight.)
//
// A page that had to be read from a file switches the reading ahead on for a while (PrefetchBuffer, as far as
// effective_io_concurrency of the table's tablespace says).
#include "pg/feed/feed.h"

namespace gpuscan {
namespace {

constexpr int wrong_guesses = 8;       // in a row, before they are given up
constexpr int pages_without = 256;     // guesses then
constexpr int read_ahead_lasts = 1024; // pages

bool try_guess(PageFinder *finder, Relation relation, BlockNumber block) {
    if (finder->without > 0) {
        --finder->without;
        return false;
    }
    if (finder->guess <= 0 || finder->guess > NBuffers)
        return false;
    if (ReadRecentBuffer(relation->rd_locator, MAIN_FORKNUM, block, finder->guess)) {
        finder->wrong = 0;
        pgstat_count_buffer_read(relation);
        pgstat_count_buffer_hit(relation);
        return true;
    }
    if (++finder->wrong >= wrong_guesses) {
        finder->wrong = 0;
        finder->without = pages_without;
    }
    return false;
}

void read_ahead(PageFinder *finder, Relation relation, BlockNumber block) {
    const BlockNumber end = block + finder->distance < finder->nblocks ? block + finder->distance : finder->nblocks;
    if (finder->ahead <= block)
        finder->ahead = block + 1;
    for (; finder->ahead < end; ++finder->ahead)
        PrefetchBuffer(relation, MAIN_FORKNUM, finder->ahead);
}

} // namespace

void begin_finding(PageFinder *finder, Relation relation, BlockNumber nblocks, BufferAccessStrategy strategy) {
    *finder = PageFinder();
    finder->nblocks = nblocks;
    finder->strategy = strategy;
    finder->shared = !RelationUsesLocalBuffers(relation);
    finder->distance = get_tablespace_io_concurrency(relation->rd_rel->reltablespace);
}

PageBuffer find_page(PageFinder *finder, Relation relation, BlockNumber block) {
    CHECK_FOR_INTERRUPTS();
    PageBuffer buffer = finder->guess;
    if (!finder->shared || !try_guess(finder, relation, block)) {
        if (finder->reading > 0) {
            --finder->reading;
            read_ahead(finder, relation, block);
        }
        const int64 reads = pgBufferUsage.shared_blks_read;
        buffer = ReadBufferExtended(relation, MAIN_FORKNUM, block, RBM_NORMAL, finder->strategy);
        if (pgBufferUsage.shared_blks_read != reads && finder->distance > 0)
            finder->reading = read_ahead_lasts;
    }
    finder->guess = buffer + 1;
    return buffer;
}

} // namespace gpuscan
