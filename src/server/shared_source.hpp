// What a source has staged, and how other sessions help to stage it.
//
// The backend's parallel workers each have a session of their own, which joins the source of the leader's session by a
// ticket: it stages, decodes and publishes chunks as the leader does, and what the leader would hold it delivers here. The
// leader collects what has been delivered before it runs its pipeline; chunks that arrive later wait for the next pass, so
// that no code of a dictionary is run that the leader's lookups do not know. Held and delivered chunks count together: a
// pass is full for everybody at once, and helpers stop taking chunks until the leader has run over them.
//
// The chunk that the leader itself builds is offered, too: what a helper decodes without staging a chunk of its own goes into it.
//
// A source whose session has ended is closed: what is delivered then is dropped (the cache may still have it).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/store/cache.hpp"
#include "engine/store/chunk_build.hpp"

namespace gpuscan {

struct ServedDevice;

// A chunk that is being built. It outlives the session that began it while another one decodes into it.
struct ChunkInWork {
    uint32_t chunk = 0;
    bool is_private = false;
    ChunkQuestion question;
    std::shared_ptr<PagePlaces> places;
    std::vector<ColumnRef> columns; // the source's, then companions
    ChunkRef base;                  // of a private build: what the cache had
    PageBits covered;               // of the base
    std::vector<uint32_t> in_work;  // ChunkAnswer's
    bool squeezed = false;
    Cache::Token token;
    std::mutex lock;   // of the builder, and of: ...
    bool over = false; // it was published, or decoding has failed
    std::unique_ptr<ChunkBuilder> builder;
};

// What is staged of one chunk.
struct HeldChunk {
    uint32_t number = UINT32_MAX; // of the chunk; rows in no cache have none
    std::vector<ColumnValues> columns;
    RowsRef rows;
    BufferRef mask;             // theirs in device memory, if it is there ...
    bool mask_is_whole = false; // ... without all ranges
    size_t bytes = 0;
    bool is_private = false; // nobody else can have it
};

// What the feeds of one source have for the next pass.
struct PassLoad {
    std::atomic<size_t> bytes{0}, private_bytes{0}; // of chunks, held and delivered
    std::atomic<size_t> transient{0};               // bytes of rows in no cache
    std::atomic<bool> said_full{false};             // since the last pass

    // The chunks are enough for one pass.
    bool full(size_t cache_budget) const;
};

class SharedSource {
  public:
    SharedSource(RelationRef relation, bool hashed, std::vector<ColumnRef> columns, uint64_t began,
                 std::shared_ptr<PassLoad> load)
        : relation(std::move(relation)), hashed(hashed), columns(std::move(columns)), began(began),
          load(std::move(load)) {}

    const RelationRef relation;
    const bool hashed; // DefineSourceRequest
    const std::vector<ColumnRef> columns;
    const uint64_t began; // the cache's clock at the leader's start
    const std::shared_ptr<PassLoad> load;
    std::atomic<bool> uncounted{false}; // ir::Source

    // A chunk is staged once per scan, whoever does it.
    bool is_staged(uint32_t chunk) const;
    bool note_staged(uint32_t chunk); // false: it was already
    bool forget_staged();             // false: something that was delivered has not been collected

    void count(const HeldChunk &chunk); // the leader holds it
    void discount(size_t bytes, size_t private_bytes);
    void deliver(HeldChunk chunk);
    std::vector<HeldChunk> collect();
    void close();
    bool is_closed() const;
    // What the leader builds; nullptr: nothing.
    void offer(std::shared_ptr<ChunkInWork> build);
    std::shared_ptr<ChunkInWork> offered() const;

  private:
    void add(const HeldChunk &chunk);

    mutable std::mutex lock_; // all below
    bool closed_ = false;
    std::vector<bool> staged_; // by chunk
    std::vector<HeldChunk> delivered_;
    std::shared_ptr<ChunkInWork> build_;
};

// The sources that can be joined. A ticket is a number that nobody guesses by mistake.
class Shares {
  public:
    struct Share {
        std::shared_ptr<ServedDevice> device;
        std::shared_ptr<SharedSource> source;
        explicit operator bool() const { return source != nullptr; }
    };
    uint64_t offer(const std::shared_ptr<ServedDevice> &device, const std::shared_ptr<SharedSource> &source);
    Share find(uint64_t ticket);

  private:
    struct Offer {
        std::weak_ptr<ServedDevice> device;
        std::weak_ptr<SharedSource> source;
    };
    std::mutex lock_;
    std::map<uint64_t, Offer> offers_;
};

} // namespace gpuscan
