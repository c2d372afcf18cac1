// Join tables that outlive the execution that built them: the next one with the same build uses them again.
//
// A table is a pure function of what its build reads, so it is cached under exactly that (BuildIdentity): the pipeline with
// its constants and the contents of its lookups, the tables that it probes itself, and the rows (build_rows.hpp). Visibility
// plays no part here: it has been decided when the session's chunks were staged, for every query anew. So snapshots that see
// different rows have different tables.
//
// Where a table is not found, but one that computes the same of other rows (the former one), the session may compare these
// rows. If they turn out to be the same the table gets the new identity: the next query will mostly have that.
//
// Where rows cannot be compared the table is built, and may turn out to be the former one's equal (find_described()): then it has its
// id, and tables whose builds probe it are found as before.
//
// A build that read anything else (rows of a CPU plan, chunks of the session's own, several passes) has no identity and is
// not cached.
//
// The tables count against the memory of their device like those in use, and go before cached columns when somebody needs
// that memory: the least recently used goes first, and none that an execution uses, because that would give no memory back.
// A table whose columns are gone can never be found again and goes too, when it is next looked for or at drop_dead().
//
// Planners cannot make an identity, but a fingerprint of what a build computes (build_fingerprint.hpp), and are told which of those have
// a table here (cached_builds.hpp). A fingerprint says nothing of the rows, so it is that of at most one table: the one that was
// last found or cached under it. Whoever looks for a table of it and finds none takes it from the one that had it, which
// was made of rows that are not the relation's any more. The table that is made then is told only when it has been found once: while
// somebody keeps changing the rows, the next query will not find it either.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/device.hpp"
#include "engine/store/build_rows.hpp"
#include "engine/store/cached_builds.hpp"
#include "engine/store/lru_cache.hpp"

namespace gpuscan {

struct CachedJoinTable {
    std::shared_ptr<const BuildIdentity> identity;
    BuiltTableRef table;
    uint64_t id;
    size_t bytes;
    std::vector<uint64_t> fingerprints; // the latest ones

    const std::string &key() const { return identity->bytes; }
    bool is_dead() const { // one of its columns is gone
        return std::any_of(identity->read.begin(), identity->read.end(),
                           [](const auto &buffer) { return buffer.expired(); });
    }
};

class CachedJoinTables final : public LruCache<CachedJoinTable> {
  public:
    struct Found {
        BuiltTableRef table; // nullptr: not here
        uint64_t id = 0;     // never given twice
        // Not here: is there one that looks like a table of the same build, of other rows?
        bool had_other_rows = false;
        std::shared_ptr<const BuildIdentity> former; // of which `other` is the table; nullptr: none can be compared
        BuiltTableRef other;
    };
    // (Fingerprints are 0 where nobody knows one.)
    Found find(const BuildIdentity &identity, uint64_t fingerprint);
    // The latest table that computes the same of the same relations, as `other`.
    Found find_described(const BuildIdentity &identity);
    // Takes a table; answers its id, 0 when it is too large to be cached. Planners are told of it at once, or when it is found.
    // `id`: that of a table with the same rows, 0: there is none.
    uint64_t keep(BuildIdentity identity, BuiltTableRef table, uint64_t fingerprint, bool tell_at_once = true,
                  uint64_t id = 0);
    // The same, of a table that was made from the one that was found as another build's, which goes: its rows are the relation's no more.
    uint64_t keep_instead(BuildIdentity identity, BuiltTableRef table, const Found &found, uint64_t fingerprint);
    // The same, of a table of which only the description is known, not the rows (BuildIdentity::forget_rows): its id is new, and the
    // one that was kept so before, of whatever rows, goes.
    uint64_t keep_described(BuildIdentity identity, BuiltTableRef table);
    // The rows of a table that was found as another build's are the same ones: it is the table of this build. Answers its id.
    uint64_t keep_as(BuildIdentity identity, const Found &found, uint64_t fingerprint);
    // Somebody has such a build of which no table can be found.
    void forget(uint64_t fingerprint);
    // Lets the tables go that are made of this relation's rows. (An execution that still runs has its table, and its columns, for itself.)
    void drop_of(const RelationFile &relation);

    // From now on these planners are told (nullptr: none). `builds` lives as long as they are.
    void tell(CachedBuilds *builds);

  private:
    static constexpr size_t max_fingerprints = 4; // of a table: builds that are written differently and are the same

    void leave(CachedJoinTable &entry) override;
    void forget_former(const Found &found, Entries &out);
    CachedJoinTable &add(BuildIdentity identity, BuiltTableRef table, uint64_t id, Entries &out);
    void give(uint64_t fingerprint, CachedJoinTable &entry, bool tell);
    bool take_away(uint64_t fingerprint);
    void untell(uint64_t fingerprint);

    uint64_t next_id_ = 1;
    std::unordered_map<uint64_t, CachedJoinTable *> by_fingerprint_;
    std::unordered_map<std::string, CachedJoinTable *> latest_;    // by what is computed
    std::unordered_map<std::string, CachedJoinTable *> described_; // the same, whatever the buffers are
    CachedBuilds *builds_ = nullptr;
};

} // namespace gpuscan
