// Join tables that outlive their execution; see cached_join_tables.hpp.
#include "engine/store/cached_join_tables.hpp"

namespace gpuscan {

// The bytes hold the addresses of buffers. The caller has those buffers, and the entry's are alive: same address, same buffer.
CachedJoinTables::Found CachedJoinTables::find(const BuildIdentity &identity, uint64_t fingerprint) {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    CachedJoinTable *const found = look_up(identity.bytes, out);
    if (found == nullptr) {
        take_away(fingerprint);
        return Found();
    }
    give(fingerprint, *found);
    return Found{found->table, found->id};
}

uint64_t CachedJoinTables::keep(BuildIdentity identity, BuiltTableRef table, uint64_t fingerprint) {
    Entries out;
    const size_t bytes = table->bytes();
    std::lock_guard<std::mutex> guard(lock_);
    if (!has_room(bytes))
        return 0;
    CachedJoinTable *entry = look_up(identity.bytes, out); // somebody else may have built it meanwhile
    if (entry == nullptr)
        entry = &put_in({std::move(identity), std::move(table), next_id_++, bytes, {}}, out);
    give(fingerprint, *entry);
    return entry->id;
}

void CachedJoinTables::forget(uint64_t fingerprint) {
    std::lock_guard<std::mutex> guard(lock_);
    take_away(fingerprint);
}

void CachedJoinTables::tell(CachedBuilds *builds) {
    std::lock_guard<std::mutex> guard(lock_);
    builds_ = builds;
    if (builds_ != nullptr)
        for (const auto &known : by_fingerprint_)
            builds_->add(known.first);
}

// ---- under the lock ----

void CachedJoinTables::leave(CachedJoinTable &entry) {
    for (const uint64_t fingerprint : entry.fingerprints)
        untell(fingerprint);
    entry.fingerprints.clear();
}

void CachedJoinTables::give(uint64_t fingerprint, CachedJoinTable &entry) {
    const auto known = by_fingerprint_.find(fingerprint);
    if (fingerprint == 0 || (known != by_fingerprint_.end() && known->second == &entry))
        return;
    take_away(fingerprint);
    if (entry.fingerprints.size() == max_fingerprints)
        take_away(entry.fingerprints.front());
    by_fingerprint_.emplace(fingerprint, &entry);
    entry.fingerprints.push_back(fingerprint);
    if (builds_ != nullptr)
        builds_->add(fingerprint);
}

void CachedJoinTables::take_away(uint64_t fingerprint) {
    const auto known = by_fingerprint_.find(fingerprint);
    if (known == by_fingerprint_.end())
        return;
    std::vector<uint64_t> &its = known->second->fingerprints;
    its.erase(std::remove(its.begin(), its.end(), fingerprint), its.end());
    untell(fingerprint);
}

void CachedJoinTables::untell(uint64_t fingerprint) {
    by_fingerprint_.erase(fingerprint);
    if (builds_ != nullptr)
        builds_->remove(fingerprint);
}

} // namespace gpuscan
