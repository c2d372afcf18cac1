// A cached chunk: the decoded rows of the heap pages that one page of the visibility map covers, and which of them a
// query may use.
//
// A chunk exists in versions. A version is immutable once published; the next one is a copy of it that shares the column
// buffers, because rows are only ever appended: a page that changed gets new rows at the end, its old rows become
// garbage. So readers keep what they hold without a lock, and a repair touches no row that anybody reads.
//
// All columns of a chunk share one layout (page -> rows), and the layout carries the LSN at which the page was decoded.
// A column that is decoded later, from a page with that same LSN, fills the same rows.
//
// Which pages a query may use (doc/architecture.md, "The column cache"): the visibility map says by its LSN that nothing became visible since,
// or page by page the heap page's LSN says that it is still the one decoded. LSN 0 is no identity, neither of a map page
// nor of a heap page: files loaded without WAL have it, and so has whatever reuses their name. The map page is given an LSN
// before its chunk is cached; the heap pages go by that one.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "engine/device.hpp"
#include "engine/store/page_bits.hpp"

namespace gpuscan {

// Where the rows of one heap page are.
struct PageRows {
    uint64_t lsn = 0; // of the heap page when it was decoded
    uint32_t row_start = 0;
    uint32_t nrows = 0;
};

// One column's values for the rows of a chunk: what a reader holds.
struct ColumnValues {
    Type type = Type::I32;
    Frame frame;           // how a value is stored
    BufferRef values;      // empty: the frame stores nothing
    BufferRef nulls;       // empty: no row is NULL
    uint32_t capacity = 0; // rows that the buffers hold
    ColumnStats stats;     // bounds of every value ever decoded into the buffers
    ZoneMapRef zones;      // the same by zone
    bool zone_map_narrows = false;

    size_t bytes() const { return (values ? values->size : 0) + (nulls ? nulls->size : 0); }
};

// Rows that no page in `have` stands for hold zeros or garbage.
struct ColumnData : ColumnValues {
    PageBits have;      // pages whose rows are decoded
    bool whole = false; // all known pages are among them; by ChunkVersion::summarize()
};

// Pages of which the device could not decode these columns together (toasted or compressed values).
struct CpuPages {
    std::vector<uint32_t> columns; // sorted
    PageBits pages;
};

struct ChunkVersion {
    uint32_t nrows = 0;                     // rows given away, garbage included
    uint32_t live_rows = 0;                 // of known pages
    PageBits known_pages;                   // those that have rows
    std::vector<PageRows> pages;            // by page; means something for known pages only
    std::map<uint32_t, ColumnData> columns; // by the column's number in its relation
    std::vector<CpuPages> cpu_pages;
    // By summarize(): pages 0..whole_pages-1 are known, no others, and all rows are theirs. 0: it is not so.
    uint32_t whole_pages = 0;

    // Notes what a hot query wants to know without a look at every page. Before publication, after the last change.
    void summarize();
    bool known(uint32_t page) const { return known_pages.test(page); }
    // Pages that are known and decoded in all of the columns.
    PageBits have(const std::vector<uint32_t> &columns) const;
    // Pages that are known to be beyond the device when these columns are wanted.
    PageBits cpu_only(const std::vector<uint32_t> &columns) const;
    uint32_t garbage_rows() const { return nrows - live_rows; }
    // Gives an unknown page new rows at the end.
    void place_page(uint32_t page, uint64_t lsn, uint16_t nrows);
    void forget_page(uint32_t page);
};
using ChunkRef = std::shared_ptr<const ChunkVersion>;

// A query's question about one chunk.
struct ChunkQuestion {
    PageBits visible;               // the map's bits
    uint64_t map_lsn = 0;           // read together with the bits
    const uint64_t *lsns = nullptr; // of the heap pages (nullptr: not sent)
    uint32_t npages = 0;
    std::vector<uint32_t> columns;
};

struct ChunkAnswer {
    bool need_lsns = false;    // cannot be answered without the pages' LSNs
    bool confirms_map = false; // by the pages' LSNs: with only the verified pages it is right at this map LSN
    PageBits verified;         // known pages whose rows are right for this query
    PageBits covered;          // visible, verified, and decoded in every column
    PageBits missing;          // visible, to be decoded
};

// `version` may be nullptr; `version_map_lsn` is the map LSN at which all its pages are right (0: none). All of them, not
// only those that were visible to whoever found out: until 17.10 and 18.5 a bit is cleared without a new LSN, so others
// may hold the same map LSN with more bits; and a scan that began when the table was shorter sees fewer pages.
ChunkAnswer check_chunk(const ChunkVersion *version, uint64_t version_map_lsn, const ChunkQuestion &question);

// What a pipeline reads of a version: the rows of the covered pages.
struct ChunkRows {
    uint32_t nrows = 0;             // rows from the first on that must be looked at
    uint32_t participating = 0;     // rows of covered pages
    std::vector<uint64_t> row_mask; // empty: all nrows take part
};
ChunkRows covered_rows(const ChunkVersion &version, const PageBits &covered);

} // namespace gpuscan
