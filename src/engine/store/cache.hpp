// The column cache of one device: what is cached, who is building, and what has to go.
//
//   relation (locator)  ->  columns (key and layout, compared in full; a text column's dictionary, which columns of several
//                           relations share if they name it alike: the partitions of a table)
//                       ->  chunks (number of the visibility map page)  ->  the current version, what is known of it, its builder
//
// Readers take a version (a shared_ptr) under the cache's mutex and use it without one. A builder holds the chunk's only
// token; it publishes by swapping the pointer. What shows the version's pages to be right stands beside it (QuietPages, ChunkProof): a
// query that has compared LSNs adds to it without a new version, and whoever follows WAL (server/wal_follower.hpp) takes pages away.
//
// Memory: every buffer comes from allocate(), which counts it until its last owner is gone. The unit of eviction is one
// column of one chunk, the least recently used first, and never one that somebody uses (the buffer's use count says so).
// Scans larger than the budget would empty a plain LRU list just before they come round again; so a query makes room only
// at the cost of what was last used before it began. What it builds beyond that is published all the same (it is paid
// for, and others may be waiting for it), but stands first in line to go.
//
// Attributes are few, but every constant in an expression makes another column. So of each relation's expressions a limited number is
// known: those that were asked for last, with what is cached of them, or why it cannot be.
//
// A relation's entry goes when its file is gone or empty: DROP, TRUNCATE and rewrites give memory back without a hook.
// Sessions that still use it keep their part alive.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "engine/store/cache_statistics.hpp"
#include "engine/store/chunk.hpp"
#include "engine/store/dictionary.hpp"
#include "engine/store/quiet_pages.hpp"
#include "engine/store/relation_file.hpp"

namespace gpuscan {

// One column of a relation as one query shape sees it. Shared by the cache and the sessions that use it.
struct CachedColumn {
    uint32_t id = 0;     // in its relation, never used twice
    uint32_t attnum = 0; // or the number of the expression that it is
    std::string key;     // everything that must be equal for cached values to be this column's
    ColumnLayout layout;
    std::shared_ptr<Dictionary> dictionary; // text
    std::atomic<uint64_t> hits{0};          // chunks served
    uint64_t asked = 0;                     // when a query last named it, on the cache's clock
};
using ColumnRef = std::shared_ptr<CachedColumn>;

class CachedRelation;
using RelationRef = std::shared_ptr<CachedRelation>;

class Cache {
  public:
    static constexpr size_t max_expressions_known = 512;      // of a relation, ...
    static constexpr size_t max_key_bytes = size_t(16) << 20; // ... with keys of so many bytes together

    Cache(Device &device, size_t budget);
    ~Cache();
    Cache(const Cache &) = delete;
    Cache &operator=(const Cache &) = delete;

    // ---- finding things ----
    std::shared_ptr<Dictionary> new_dictionary() const;
    RelationRef relation(const RelationFile &file, const std::string &path);
    static const RelationFile &file(const RelationRef &relation);
    // `dictionary`: the name under which a text column shares one, "": it has its own. A new expression takes the place of the one
    // that was asked for least recently, if nobody uses that and there are max_expressions_known.
    ColumnRef column(const RelationRef &relation, const std::string &key, const ColumnLayout &layout,
                     const std::string &dictionary = {});
    // The columns, but for these, of which the version has every page, as far as they can be cached.
    std::vector<ColumnRef> whole_columns(const RelationRef &relation, const ChunkVersion &version,
                                         const std::vector<uint32_t> &but);
    // Why the column cannot be cached, or "". A refusal ends with the column's entry, or after some time.
    std::string refusal(const RelationRef &relation, const CachedColumn &column);
    void refuse(const RelationRef &relation, const CachedColumn &column, const std::string &reason, bool for_good);

    // ---- chunks ----
    struct Snapshot {
        ChunkRef version; // nullptr: nothing cached
        ProofRef proof;   // of this version; nullptr: none
        // The pages that WAL has not named since they were known to be right; nullptr: none, or it has not been followed that far.
        std::shared_ptr<const PageBits> quiet;
        uint32_t nquiet = 0;
        std::shared_ptr<const ChunkLook> look; // the last one at this version; nullptr: none is known
        bool calm = false; // nobody changes the relation's pages any more (writing_pace.hpp), as far as WAL says
    };
    // `followed`: how far WAL must have been told; 0: it does not matter what it says.
    Snapshot chunk(const RelationRef &relation, uint32_t number, uint64_t followed);
    struct ChunkName {
        const RelationRef *relation;
        uint32_t number;
    };
    struct Look : ChunkName {
        bool is_first; // of a query, at the relation
    };
    std::vector<Snapshot> chunks(const std::vector<Look> &names, uint64_t followed);
    // Of the chunk's first `npages` pages at least.
    std::shared_ptr<PagePlaces> places(const RelationRef &relation, uint32_t number, uint32_t npages);
    // Has an effect only if `version` is still the current one.
    void remember_look(const RelationRef &relation, uint32_t number, const ChunkRef &version,
                       std::shared_ptr<const ChunkLook> look);
    // How many of the pages has WAL named behind `decided`? (Where it is not followed: none.)
    uint32_t count_undecided(const RelationRef &relation, uint32_t number, const std::vector<uint32_t> &pages,
                             uint64_t decided);
    // A query has to bear so much from what the chunk lacks: should it be repaired? Yes, if queries have borne more than `bearable`
    // since the last version, this one included; and once, if nobody changes its pages any more (`calm`).
    bool is_repair_due(const RelationRef &relation, uint32_t number, uint32_t burden, uint32_t bearable, bool calm);
    // A version would not have them either (pages that are new, or about which snapshots differ): counted anew from here on.
    void bear_missing(const RelationRef &relation, uint32_t number);
    // The current versions of all chunks.
    std::vector<ChunkRef> versions(const RelationRef &relation);
    // Columns of chunks have been of use; moves them to the end of the line for eviction.
    struct Use : ChunkName {
        const std::vector<ColumnRef> *columns;
    };
    void touch(const std::vector<Use> &uses);
    // Adds to what is known of `version`; has an effect only if it is still the current one.
    void confirm(const RelationRef &relation, uint32_t number, const ChunkRef &version, const ChunkFinding &finding);

    // The right to build a chunk; given back by its end.
    class Token {
      public:
        Token() = default;
        Token(Token &&o) noexcept { *this = std::move(o); }
        Token &operator=(Token &&o) noexcept;
        ~Token() { release(); }
        void release();
        explicit operator bool() const { return cache_ != nullptr; }

      private:
        friend class Cache;
        Cache *cache_ = nullptr;
        RelationRef relation_;
        uint32_t number_ = 0;
    };
    // The token, empty when somebody else has it.
    Token take_token(const RelationRef &relation, uint32_t number);
    // Makes `version` the current one, in which these pages were decoded anew. `cold`: it goes first when memory is needed.
    void publish(const Token &token, std::shared_ptr<ChunkVersion> version, const PageBits &decoded,
                 const ChunkFinding &finding, bool cold);

    // ---- what WAL says ----
    // Forgets what it has said; from now on each record that ends behind `from` is told. QuietPages::never: none is.
    void begin_following(uint64_t from);
    struct Reference {
        static constexpr uint32_t whole_file = UINT32_MAX;
        RelationFile file; // all 0: any
        uint32_t block;
        uint64_t end; // of the record
        bool tidies;  // it says nothing of a writer
    };
    // Records name these blocks of main forks, and files that are made or cut off, in their order. All that end before `told` have been
    // told then.
    void note_references(const std::vector<Reference> &references, uint64_t told);

    // ---- memory ----
    uint64_t tick(); // now, on the clock of last uses
    // A buffer within the budget, at the cost of what was last used before `began` and, when that is not enough, of
    // anything that nobody uses (then *squeezed becomes true). Throws OutOfDeviceMemory.
    BufferRef allocate(size_t bytes, uint64_t began, bool *squeezed = nullptr);
    // A buffer that the budget does not count (transient rows); evicts where the device has no memory left.
    BufferRef allocate_work(size_t bytes);
    // Evicts until the device itself can give `bytes` (hash tables, results); as far as possible.
    void make_room(size_t bytes);
    void set_budget(size_t bytes);
    // What a dictionary may hold from now on; columns that did not fit are tried again when that is more. And whether a dictionary made
    // from now on counts against the budget (where that is of host memory).
    void set_dictionaries(size_t max_bytes, bool counted);
    // Gives device memory back that is worth less than cached columns; false: there is none. Set before the first query.
    void set_reclaim(std::function<bool()> reclaim) { reclaim_ = std::move(reclaim); }
    // From now on the pages that are cached are counted there (nullptr: nowhere). What is cached already is not.
    void count_in(CacheStatistics *cache_statistics);
    size_t budget() const { return budget_.load(std::memory_order_relaxed); }
    size_t bytes() const { return used_->load(std::memory_order_relaxed); }

    // Bytes of columns and dictionaries that go; where somebody still reads them, once he has finished.
    size_t evict_all();
    size_t evict(const RelationFile &file);
    // Evicts the relations whose files are gone, or empty where something is cached of them; `size` answers for a path, -1: gone.
    size_t evict_gone(const std::function<int64_t(const std::string &path)> &size);
    uint64_t evictions() const { return evictions_.load(std::memory_order_relaxed); } // column chunks evicted so far

    struct Entry {
        RelationFile file;
        uint32_t attnum, chunks, pages;
        uint64_t bytes, hits;
        std::string expression; // its text; empty: an attribute
    };
    std::vector<Entry> list();

  private:
    friend class CachedRelation;
    struct Chunk;
    BufferRef put_mask(const ChunkRows &rows, const BufferRef &before, const std::vector<RowRange> &lost);
    bool make_room_for(size_t bytes, uint64_t began, bool *squeezed);
    bool evict_one(uint64_t before);
    bool free_device_memory() { return (reclaim_ && reclaim_()) || evict_one(UINT64_MAX); }
    RelationRef drop(std::map<RelationFile, RelationRef>::iterator found, size_t *bytes);
    size_t dictionary_bytes_of(const std::vector<RelationRef> &dropped) const;
    void count(const CachedRelation &relation, const ChunkVersion *version, const ChunkVersion *but, int sign);
    void forget_old_expressions(CachedRelation &relation, size_t key_size, std::vector<ChunkRef> &old,
                                std::vector<ColumnRef> &gone);
    ChunkRef exchange(const CachedRelation &relation, Chunk &chunk, ChunkRef version);
    std::shared_ptr<Dictionary> shared_dictionary(const std::string &name);
    void erase_column(const CachedRelation &relation, Chunk &chunk, uint32_t column);
    Chunk &chunk_of(const RelationRef &relation, uint32_t number);
    void note_reference(const Reference &reference);

    Device &device_;
    std::atomic<size_t> budget_;
    std::atomic<size_t> dictionary_bytes_;
    std::atomic<bool> dictionaries_counted_{false};
    std::function<bool()> reclaim_;
    std::shared_ptr<std::atomic<size_t>> used_ = std::make_shared<std::atomic<size_t>>(0);
    std::atomic<uint64_t> clock_{1};
    std::atomic<uint64_t> evictions_{0};

    std::mutex lock_; // all below, and everything in relations and chunks
    std::map<RelationFile, RelationRef> relations_;
    CacheStatistics *cache_statistics_ = nullptr;
    uint64_t told_ = QuietPages::never; // WAL, up to here
    // By name, as long as a column has it: two columns that name it alike at the same time have the same one.
    std::map<std::string, std::weak_ptr<Dictionary>> dictionaries_;
};

} // namespace gpuscan
