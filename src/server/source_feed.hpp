// The rows that a session has staged of one source: chunks of the cache, chunks of its own, and transient rows.
//
// Per map page of a relation: stage() says what the cache has, decode() and publish() bring the rest, decode_rows() and
// batch() bring what no cache may hold. add_to() hands everything to a pipeline; release() lets go of it.
//
// A source of several relations has a feed for each of them. Their text columns share dictionaries, and they fill one pass.
//
// The session of a parallel worker joins the source of another session (shared_source.hpp): it stages the same chunks, and
// delivers them instead of holding them.
//
// A session holds column buffers, never a whole version, so that columns which it does not use can be evicted meanwhile.
#pragma once

#include <utility>

#include "server/column_message.hpp"
#include "server/devices.hpp"
#include "server/page_identity.hpp"
#include "server/uncached_rows.hpp"

namespace gpuscan {

// The LSNs that the backend has read of some pages of a chunk, and where they lie.
struct GivenLsns {
    PageBits pages;
    std::vector<uint64_t> lsns;    // in the order of the pages
    std::vector<uint32_t> buffers; // the same
};

class SourceFeed {
  public:
    // Rows of a CPU plan.
    SourceFeed(ServedDevice &device, protocol::Counters &counters, uint64_t began, const std::vector<Type> &types);
    // Columns of a relation (hashed: its pages have no LSNs but hashes); throws DeviceError when one of them is refused.
    SourceFeed(ServedDevice &device, protocol::Counters &counters, const BufferPool &pool, uint64_t began,
               const RelationFile &file, const std::string &path, bool hashed,
               const std::vector<ColumnDefinition> &columns,
               std::shared_ptr<PassLoad> load = std::make_shared<PassLoad>());
    // Joins the source of another session.
    SourceFeed(ServedDevice &device, protocol::Counters &counters, const BufferPool &pool,
               std::shared_ptr<SharedSource> source);
    ~SourceFeed();
    SourceFeed(const SourceFeed &) = delete;
    SourceFeed &operator=(const SourceFeed &) = delete;

    struct Staged {
        protocol::StageState state = protocol::StageState::Ready;
        PageBits pages;           // covered, missing, or those whose LSNs are wanted
        uint64_t expressions = 0; // as in StageReply
    };
    // `given` nullptr: the first question.
    Staged stage(const protocol::StageRequest &request, const PageBits &visible, const GivenLsns *given,
                 const std::atomic<uint32_t> *cancel);

    struct StagedAhead {
        protocol::StageManyState state = protocol::StageManyState::NotHeld;
        bool holds() const {
            return state != protocol::StageManyState::NotHeld && state != protocol::StageManyState::Missing;
        }
        std::shared_ptr<const PageBits> covered; // HeldInPart
        uint32_t skipped = 0;                    // rows that were passed over
        bool to_be_repaired = false;             // Missing: it could have been held, but for some pages
    };
    // So many pages are compared rather than to look at the map, which takes 1.3 us and another request.
    static constexpr uint32_t compared_for_map = 64;
    struct Examined {
        Cache::Snapshot now;
        bool answered = false;                   // what is missing is known, and no map would help
        RowsRef rows;                            // of the covered pages; nullptr: the chunk cannot be held like this
        std::shared_ptr<const PageBits> covered; // nullptr: all are, or nothing is known
        std::unique_ptr<PageBits> right; // all wanted pages, if the version knows them and they are right; else nullptr
        bool may_be_borne = false;       // what is missing: the query may read it row by row
        uint32_t ncovered = 0;
        uint32_t missing = 0;   // pages to bring
        uint32_t undecided = 0; // of them, that have changed so lately that a new version would mostly lack them, too

        uint32_t burden() const; // of the query that does without a new version: 16 for a page that one would have
    };
    // What the cache has of a chunk; several threads may ask at the same time. `visible` nullptr: all pages are. `decided`: all that WAL
    // says before has been decided for every snapshot (decided_wal.hpp).
    Examined examine(const protocol::StageManyRequest &request, const protocol::StageManyEntry &entry,
                     const PageBits *visible, uint64_t decided, Cache::Snapshot now,
                     const std::atomic<uint32_t> *cancel) const;
    // Holds the chunk if the cache has all or nearly all of it. Where columns are missing, those that are there may let
    // `is_prunable` say of their bounds that no row is wanted (if `may_prune`): then the chunk is staged, and nothing of it is held.
    // The caller touches what is held. `may_repair`: if nobody writes any more, that is a reason to repair the chunk.
    StagedAhead stage_ahead(const protocol::StageManyEntry &entry, Examined &&examined,
                            const std::function<bool(const ChunkView &)> &is_prunable, bool may_prune, bool may_repair);
    // Pages of the chunk that this session builds, or that the session builds which it has joined.
    std::vector<PageStatus> decode(uint32_t chunk, const std::vector<WindowPage> &window,
                                   const std::atomic<uint32_t> *cancel);
    Staged publish(const std::vector<uint16_t> &bad);

    // Each page has a mask.
    std::vector<PageStatus> decode_rows(const std::vector<WindowPage> &window, const std::atomic<uint32_t> *cancel);
    // Of a source that has been joined: what was decoded is the other session's from here on.
    void deliver_rows();
    void batch(MessageReader &message, uint32_t nrows);
    // Of a source that is no relation: its rows are those of an earlier stage. Each call takes as many as a pass may have, and returns how many
    // are left; another stage's rows may not follow.
    size_t use_stage(const std::shared_ptr<const StageRows> &rows);

    // For those who want to join; nullptr: rows of a CPU plan, or joined itself.
    std::shared_ptr<SharedSource> share() const { return joined_ ? nullptr : shared_; }
    // What this source's feeds hold together.
    const std::shared_ptr<PassLoad> &load() const { return load_; }
    // Would a code mean the same text in both?
    bool shares_dictionaries(const SourceFeed &other) const;
    // How many chunks of so many rows may be built at the same time without crowding the cache.
    uint32_t builders(uint64_t rows_per_chunk) const;
    // Takes what others have delivered; returns how many chunks.
    uint32_t collect();

    // Rows of cached and delivered chunks that have come since the last call; those of a joined source are the other session's.
    uint64_t take_new_rows() { return std::exchange(new_rows_, 0); }

    bool pass_full() const;
    void add_to(PassInput &input);
    // Does the query look at the relation for the first time?
    bool is_first_look() { return !std::exchange(has_looked_, true); }
    // Adds of which relation's columns they are; false: of none.
    bool describe(BuildIdentity &identity) const;
    // Adds whose rows these are; false: they cannot be recognised later.
    bool identify(BuildIdentity &identity) const;
    // Adds which rows these are, if that takes at most `max_bytes`, and those in no cache are at most `max_uncached`.
    bool identify_rows(size_t max_bytes, size_t max_uncached, BuildIdentity &identity) const;
    // The chunks that are held, in the order in which they are identified, and the columns of one of them.
    size_t held_chunks() const { return held_.size(); }
    const std::vector<ColumnValues> &held_columns(size_t chunk) const { return held_.at(chunk).columns; }
    // Adds rows of the source that are values only, as read_rows() writes them.
    void add_values(const std::string &rows, PassInput &input);
    void release(bool last); // last: the pipeline has read all; chunks may be staged again
    // Adds what the cache has of the source, as it may be handed over later; `held` keeps it alive.
    void add_speculative_chunks(std::vector<ChunkView> &chunks, std::vector<ChunkRef> &held) const;
    bool is_relation() const { return relation_ != nullptr; }
    std::vector<Type> column_types() const;
    const RelationRef &relation() const { return relation_; }
    const std::vector<ColumnRef> &cached_columns() const { return shared_->columns; }

    Dictionary *dictionary(uint32_t column) const {
        return column < columns_.size() ? columns_[column].dictionary : nullptr;
    }
    // What keeps it alive; nullptr: it has none.
    std::shared_ptr<Dictionary> shared_dictionary(uint32_t column) const;
    int64_t max_code(uint32_t column) const; // largest code staged so far, -1: none

  private:
    struct SourceColumn : TransientColumn {
        uint32_t id = 0;       // in its relation
        int64_t max_code = -1; // largest code staged so far
    };

    void use_columns();
    std::vector<TransientColumn> transient_columns() const { return {columns_.begin(), columns_.end()}; }
    std::vector<uint32_t> ids() const;
    ChunkBuilder::Allocate cache_allocator(bool *squeezed);
    ChunkBuilder::Allocate work_allocator();
    ChunkQuestion question(uint32_t chunk, uint32_t npages, uint64_t map_lsn, uint64_t followed, bool lsns_prove,
                           const PageBits &visible, const GivenLsns *given, const std::atomic<uint32_t> *cancel) const;
    enum class PageLook { Same, InWork, Changed, NotFound };
    PageLook look_at(uint32_t chunk, uint32_t page, uint64_t lsn, const PagePlaces &places, uint32_t next) const;
    void compare_identities(uint32_t chunk, const ChunkVersion &version, const PageBits &pages, ChunkAnswer &answer,
                            const std::atomic<uint32_t> *cancel) const;
    bool is_whole(const Cache::Snapshot &now, const protocol::StageManyRequest &request,
                  const protocol::StageManyEntry &entry) const;
    bool has_whole_columns(const ChunkVersion &version) const;
    bool examine_nearly_whole(const protocol::StageManyEntry &entry, uint64_t decided, Examined *examined) const;
    std::shared_ptr<const ChunkLook> look_at_named(const protocol::StageManyEntry &entry,
                                                   const Cache::Snapshot &now) const;
    void note_missing(const protocol::StageManyEntry &entry, const std::vector<uint32_t> &missing, uint64_t decided,
                      Examined *examined) const;
    uint32_t rows_pruned(const ChunkVersion &version, const PageBits &pages,
                         const std::function<bool(const ChunkView &)> &is_prunable) const;
    Staged ready(uint32_t chunk, const ChunkRef &version, const PageBits &covered);
    Staged start_build(const protocol::StageRequest &request, const ChunkRef &base, const ChunkAnswer &answer,
                       ChunkQuestion question, Cache::Token token);
    uint64_t lacking_expressions(const ChunkVersion *base, const ChunkAnswer &answer) const;
    std::shared_ptr<ChunkInWork> take_build();
    void hold(uint32_t number, const ChunkVersion &version, RowsRef rows, bool is_private);
    void keep(HeldChunk chunk);
    void count_hits(uint32_t pages);
    void note_codes(size_t column, int64_t code);
    void note_transient();
    [[noreturn]] void give_up(const Undecodable &reason);

    ServedDevice &device_;
    const BufferPool pool_;
    Cache &cache_;
    protocol::Counters &counters_;
    const uint64_t began_; // the cache's clock at the session's start
    const bool joined_ = false, hashed_ = false;
    const std::shared_ptr<PassLoad> load_;
    size_t transient_ = 0; // bytes that the load has of this feed's transient rows
    RelationRef relation_;
    std::shared_ptr<SharedSource> shared_; // relation
    std::vector<std::shared_ptr<Dictionary>>
        own_dictionaries_; // of all text columns, in their order, where it is no relation
    std::vector<SourceColumn> columns_;

    std::shared_ptr<ChunkInWork> build_;
    std::vector<HeldChunk> held_; // in the order of the relation
    bool has_looked_ = false;
    uint64_t new_rows_ = 0;
    std::unique_ptr<DecodedRows> decoded_; // nullptr: there were none
    std::unique_ptr<BatchRows> batched_;   // the same
    std::unique_ptr<StagedRows> staged_;   // the same
};

} // namespace gpuscan
