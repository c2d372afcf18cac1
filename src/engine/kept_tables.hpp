// Join tables that outlive the execution that built them: the next one with the same build uses them again.
//
// A table is a pure function of what its build reads, so it is kept under exactly that (BuildIdentity): the pipeline with
// its constants and the contents of its lookups, the tables that it probes itself, and the rows: which buffers of the
// column cache, and which of their rows. Rows of a published chunk are never written again (chunk.hpp), and a buffer is
// known by its owner, not by its address alone; so equal identities are equal rows, whatever happened to the relation.
// Visibility plays no part here: it has been decided when the session's chunks were staged, for every query anew.
//
// A build that read anything else (rows decoded by the backend, chunks of the session's own, several passes) has no
// identity and is not kept.
//
// The tables count against the memory of their device like those in use, and go before cached columns when somebody needs
// that memory: the least recently used goes first, and none that an execution uses, because that would give no memory back.
// A table whose columns are gone can never be found again and goes too, when it is next looked for or at drop_dead().
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/device.hpp"
#include "engine/kept.hpp"

namespace gpuscan {

struct BuildIdentity {
    std::string bytes; // compared in full
    std::vector<std::weak_ptr<Buffer>> read;
};

struct KeptTable {
    BuildIdentity identity;
    BuiltTableRef table;
    uint64_t id;
    size_t bytes;

    const std::string &key() const { return identity.bytes; }
    bool is_dead() const { // one of its columns is gone
        return std::any_of(identity.read.begin(), identity.read.end(),
                           [](const auto &buffer) { return buffer.expired(); });
    }
};

class KeptTables : public Kept<KeptTable> {
  public:
    struct Found {
        BuiltTableRef table; // nullptr: not here
        uint64_t id = 0;     // never given twice
    };
    Found find(const BuildIdentity &identity);
    // Takes a table; answers its id, 0 when it is too large to be kept.
    uint64_t keep(BuildIdentity identity, BuiltTableRef table);

  private:
    uint64_t next_id_ = 1;
};

} // namespace gpuscan
