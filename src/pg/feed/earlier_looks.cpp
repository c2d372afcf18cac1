// What this session has seen of relations and map pages before, and may take for true still.
//
// A later size of a relation, and a map page with fewer bits, show nothing to a snapshot unless a commit record was written since.
// So while WAL ends where it ended before the look, a new look would say nothing new: of many partitions these looks take
// longer than all else (a relation's size is a file that is opened, where there are more of them than files may be open).
// Whoever has written himself sees his changes without a commit, and asks with wal_end 0. Of tables that WAL does not describe nothing is
// noted.
#include "pg/feed/feed.h"

namespace gpuscan {
namespace {

struct Key {
    RelFileLocator locator;
    uint32 part, npages;
};
struct Look {
    Key key;
    XLogRecPtr wal_end;
    uint64 seen;
};

constexpr long max_looks = 65536; // then all are forgotten
HTAB *looks = nullptr;

void make_table() {
    HASHCTL control{};
    control.keysize = sizeof(Key);
    control.entrysize = sizeof(Look);
    looks = hash_create("gpuscan looks", 1024, &control, HASH_ELEM | HASH_BLOBS);
}

Look *find(Relation relation, uint32 part, uint32 npages, HASHACTION action) {
    Key key;
    memset(&key, 0, sizeof key);
    key.locator = relation->rd_locator;
    key.part = part;
    key.npages = npages;
    return static_cast<Look *>(hash_search(looks, &key, action, nullptr));
}

} // namespace

bool recall_look(Relation relation, uint32 part, uint32 npages, XLogRecPtr wal_end, uint64 *seen) {
    if (looks == nullptr || wal_end == InvalidXLogRecPtr || !RelationNeedsWAL(relation))
        return false;
    const Look *look = find(relation, part, npages, HASH_FIND);
    if (look == nullptr || look->wal_end != wal_end)
        return false;
    *seen = look->seen;
    return true;
}

void note_look(Relation relation, uint32 part, uint32 npages, XLogRecPtr wal_end, uint64 seen) {
    if (wal_end == InvalidXLogRecPtr || !RelationNeedsWAL(relation))
        return;
    if (looks != nullptr && hash_get_num_entries(looks) >= max_looks) {
        hash_destroy(looks);
        looks = nullptr;
    }
    if (looks == nullptr)
        make_table();
    Look *look = find(relation, part, npages, HASH_ENTER);
    look->wal_end = wal_end;
    look->seen = seen;
}

} // namespace gpuscan
