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
// Which pages a query may use (doc/architecture.md, "The column cache"): those that have not changed since they were decoded.
// WAL says so of those that it has not named since (quiet_pages.hpp), and a page's own LSN of the page. The LSN of the visibility
// map's page says it of many pages at once, if it is as it was when LSNs were last compared (ChunkProof). LSN 0 is no identity,
// neither of a map page nor of a heap page: files loaded without WAL have it, and so has whatever reuses their name. The map page is
// given an LSN before its chunk is cached; the heap pages go by that one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "engine/store/chunk_columns.hpp"
#include "engine/store/page_blocks.hpp"

namespace gpuscan {

// Where the rows of one heap page are.
struct PageRows {
    uint64_t lsn = 0; // of the heap page when it was decoded, or its hash (server/page_identity.hpp)
    uint32_t row_start = 0;
    uint32_t nrows = 0;
};

// Pages of which the device could not decode these columns together (toasted or compressed values, expressions that failed).
struct CpuPages {
    std::vector<uint32_t> columns; // sorted
    PageBits pages;
};

// What a pipeline reads of a version. Queries and versions share masks, and do without a few ranges: so a page that changes costs
// nobody the copy of a mask. Bits behind the rows for which a mask was made are set: the rows that later versions give away.
using RowMask = std::shared_ptr<const std::vector<uint64_t>>;
struct ChunkRows {
    uint32_t nrows = 0;            // rows from the first on that must be looked at
    uint32_t participating = 0;    // rows of covered pages
    RowMask mask;                  // of nrows or more; nullptr: all nrows take part, but for ...
    std::vector<RowRange> without; // in order, none meets another
};
using RowsRef = std::shared_ptr<const ChunkRows>;
// Words [first, end) of mask and ranges in one, with no bit behind nrows.
std::vector<uint64_t> row_words(const ChunkRows &rows, size_t first, size_t end);
// Calls f for the words, in order, in which the two have other rows, until it answers false: then so does this. Where they share a
// mask, only the words are looked at that they can have otherwise.
using UnlikeWord = std::function<bool(size_t word, uint64_t a, uint64_t b)>;
bool each_unlike_word(const ChunkRows &a, const ChunkRows &b, const UnlikeWord &f);

// The same in device memory, where bits behind nrows are set. `before`: that of the version before, which `lost` rows have left since;
// nullptr: there is none. Throws OutOfDeviceMemory.
using Allocate = std::function<BufferRef(size_t bytes)>;
BufferRef make_device_mask(Device &device, const Allocate &allocate, const ChunkRows &rows, const BufferRef &before,
                           const std::vector<RowRange> &lost);

struct ChunkVersion {
    uint32_t nrows = 0;         // rows given away, garbage included
    uint32_t live_rows = 0;     // of known pages
    PageBits known_pages;       // those that have rows
    PageBlocks<PageRows> pages; // means something for known pages only
    ChunkColumns columns;
    std::vector<CpuPages> cpu_pages;
    // By summarize(), and nothing while a builder works on the version: ...
    uint32_t whole_pages = 0; // pages 0..whole_pages-1 are known, and no others; 0: it is not so
    RowsRef known_rows;       // of all known pages
    BufferRef mask;           // their mask and ranges in device memory (make_device_mask); nullptr: there is none
    // Only while a builder works on it: the rows of the version that it is made of, and those that went. (`mask` is still that one's.)
    RowsRef base_rows; // nullptr: the mask is made page by page
    std::vector<RowRange> lost;
    bool other_pages = true; // are known than in that one

    // Notes what a hot query wants to know without a look at every page. Before publication, after the last change.
    // `put`: make_device_mask(), or nullptr where there shall be none.
    using PutMask =
        std::function<BufferRef(const ChunkRows &rows, const BufferRef &before, const std::vector<RowRange> &lost)>;
    void summarize(const PutMask &put);
    void forget_summary() {
        whole_pages = 0;
        other_pages = false;
        base_rows = std::move(known_rows);
        known_rows = nullptr;
        if (base_rows && base_rows->nrows < nrows) // the last rows are nobody's
            lost.push_back({base_rows->nrows, nrows});
    }
    bool known(uint32_t page) const { return known_pages.test(page); }
    // Pages that are known and decoded in all of the columns; of a version that is summed up.
    PageBits have(const std::vector<uint32_t> &columns) const;
    // Pages that are known to be beyond the device when these columns are wanted.
    PageBits cpu_only(const std::vector<uint32_t> &columns) const;
    uint32_t garbage_rows() const { return nrows - live_rows; }
    // Gives an unknown page new rows at the end.
    void place_page(uint32_t page, uint64_t lsn, uint16_t nrows);
    void forget_page(uint32_t page);
};
using ChunkRef = std::shared_ptr<const ChunkVersion>;

// What the visibility map shows of a version's pages. A page in the list was right when the map page had this LSN and the page's bit
// was set. Setting a bit moves the map's LSN, but clearing one does not before 17.11 and 18.6, so others may have seen the same LSN with
// more bits: only listed pages are meant.
struct ChunkProof {
    uint64_t map_lsn = 0; // 0: none
    PageBits by_map;
    uint32_t whole_by_map = 0; // pages 0..n-1 are in by_map (0: not known)
};
using ProofRef = std::shared_ptr<const ChunkProof>;

// Where the chunk's pages were last seen in PostgreSQL's shared buffers: guesses that whoever uses them checks. Shared by the
// chunk's versions. Of pages behind its end nothing is known.
class PagePlaces {
  public:
    static constexpr uint32_t none = UINT32_MAX;
    // `before`: what was known so far, or nullptr.
    PagePlaces(uint32_t npages, const PagePlaces *before) : npages_(npages), place_(new std::atomic<uint32_t>[npages]) {
        for (uint32_t page = 0; page < npages; ++page)
            place_[page].store(before != nullptr ? before->get(page) : none, std::memory_order_relaxed);
    }
    uint32_t npages() const { return npages_; }
    uint32_t get(uint32_t page) const { return page < npages_ ? place_[page].load(std::memory_order_relaxed) : none; }
    void set(uint32_t page, uint32_t buffer) {
        if (page < npages_)
            place_[page].store(buffer, std::memory_order_relaxed);
    }

  private:
    const uint32_t npages_;
    const std::unique_ptr<std::atomic<uint32_t>[]> place_;
};

struct ChunkAnswer {
    PageBits verified; // known pages whose rows are right for this query
    PageBits covered;  // wanted, verified, and decoded in every column
    PageBits missing;  // wanted, to be decoded
    PageBits unknown;  // cached, but their LSNs could not be compared (they are `missing`, too)
    // Verified, but somebody is at work on them, and may have told WAL already: nobody else learns of them.
    std::vector<uint32_t> in_work;
    bool news = false; // something was found that nobody knew: finding_of() says what
};

// A query's question about one chunk, asked after its snapshot was taken.
struct ChunkQuestion {
    // Compares the LSNs of these heap pages with those at which the version decoded them. Adds to what is verified, in work and unknown
    // (of those it finds no LSN).
    using Compare = std::function<void(const ChunkVersion &, const PageBits &pages, ChunkAnswer &answer)>;

    PageBits visible;     // the map's bits
    uint64_t map_lsn = 0; // read together with the bits
    // WAL has been followed to here at least, and this was read before the bits and LSNs. Behind it no change was made that the snapshot
    // sees; 0: that is not known of this asker, or WAL does not describe the pages.
    uint64_t followed = 0;
    bool has_lsns = true; // what pages have are LSNs, not hashes
    PageBits wanted;      // pages that count if they have not changed: all, in recovery the visible ones
    std::vector<uint32_t> columns;
    Compare compare;
    uint32_t compare_at_most = UINT32_MAX; // of more pages nothing is compared: they are unknown
};

// `version`, `proof` and `quiet` may be nullptr.
ChunkAnswer check_chunk(const ChunkVersion *version, const ChunkProof *proof, const PageBits *quiet,
                        const ChunkQuestion &question);

// What a query found of a version of which WAL has named a few pages, for the next one that finds the same ones named.
struct ChunkLook {
    std::shared_ptr<const PageBits> quiet; // the others
    uint32_t npages = 0;                   // of the chunk
    std::vector<uint32_t> missing;         // named, and changed, or not known to the version
    PageBits covered;
    RowsRef rows; // of the covered pages
};

// What a look at a version tells others.
struct ChunkFinding {
    PageBits right;        // these pages are as the version has them ...
    uint64_t followed = 0; // ... when WAL had been written up to there at least
    ChunkProof proof;
};
ChunkFinding finding_of(const PageBits &verified, const std::vector<uint32_t> &in_work, const ChunkQuestion &question);
// What two looks at the same version have proved: the later one, or both.
void add_proof(ChunkProof &proof, const ChunkProof &other);

// The rows of the covered pages, all of which the version knows.
RowsRef covered_rows(const ChunkVersion &version, const PageBits &covered);

} // namespace gpuscan
