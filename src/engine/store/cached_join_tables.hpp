// Join tables that outlive the execution that built them: the next one with the same build uses them again.
//
// A table is a pure function of what its build reads, so it is cached under exactly that (BuildIdentity): the pipeline with
// its constants and the contents of its lookups, the tables that it probes itself, and the rows: which buffers of the
// column cache, and which of their rows. Rows of a published chunk are never written again (chunk.hpp), and a buffer is
// known by its owner, not by its address alone; so equal identities are equal rows, whatever happened to the relation.
// Visibility plays no part here: it has been decided when the session's chunks were staged, for every query anew.
//
// A build that read anything else (rows decoded by the backend, chunks of the session's own, several passes) has no
// identity and is not cached.
//
// The tables count against the memory of their device like those in use, and go before cached columns when somebody needs
// that memory: the least recently used goes first, and none that an execution uses, because that would give no memory back.
// A table whose columns are gone can never be found again and goes too, when it is next looked for or at drop_dead().
//
// Planners cannot make an identity, but a fingerprint of what a build computes (build_fingerprint.hpp), and are told which of those have
// a table here (cached_builds.hpp). A fingerprint says nothing of the rows, so it is that of at most one table: the one that was
// last found or cached under it. Whoever looks for a table of it and finds none takes it from the one that had it, which
// was made of rows that are not the relation's any more.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/device.hpp"
#include "engine/store/cached_builds.hpp"
#include "engine/store/lru_cache.hpp"

namespace gpuscan {

struct BuildIdentity {
    std::string bytes; // compared in full
    std::vector<std::weak_ptr<Buffer>> read;
};

struct CachedJoinTable {
    BuildIdentity identity;
    BuiltTableRef table;
    uint64_t id;
    size_t bytes;
    std::vector<uint64_t> fingerprints; // the latest ones

    const std::string &key() const { return identity.bytes; }
    bool is_dead() const { // one of its columns is gone
        return std::any_of(identity.read.begin(), identity.read.end(),
                           [](const auto &buffer) { return buffer.expired(); });
    }
};

class CachedJoinTables final : public LruCache<CachedJoinTable> {
  public:
    struct Found {
        BuiltTableRef table; // nullptr: not here
        uint64_t id = 0;     // never given twice
    };
    // (Fingerprints are 0 where nobody knows one.)
    Found find(const BuildIdentity &identity, uint64_t fingerprint);
    // Takes a table; answers its id, 0 when it is too large to be cached.
    uint64_t keep(BuildIdentity identity, BuiltTableRef table, uint64_t fingerprint);
    // Somebody has such a build of which no table can be found.
    void forget(uint64_t fingerprint);

    // From now on these planners are told (nullptr: none). `builds` lives as long as they are.
    void tell(CachedBuilds *builds);

  private:
    static constexpr size_t max_fingerprints = 4; // of a table: builds that are written differently and are the same

    void leave(CachedJoinTable &entry) override;
    void give(uint64_t fingerprint, CachedJoinTable &entry);
    void take_away(uint64_t fingerprint);
    void untell(uint64_t fingerprint);

    uint64_t next_id_ = 1;
    std::unordered_map<uint64_t, CachedJoinTable *> by_fingerprint_; // as told to planners
    CachedBuilds *builds_ = nullptr;
};

} // namespace gpuscan
