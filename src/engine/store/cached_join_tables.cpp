// Join tables that outlive their execution; see cached_join_tables.hpp.
#include "engine/store/cached_join_tables.hpp"

namespace gpuscan {

// The bytes hold the addresses of buffers and of masks. The caller has both; the entry's buffers are alive, or it is dead, and its masks are
// its own: same address, same buffer or mask.
CachedJoinTables::Found CachedJoinTables::find(const BuildIdentity &identity, uint64_t fingerprint) {
    Entries out;
    Found found;
    std::lock_guard<std::mutex> guard(lock_);
    if (CachedJoinTable *const entry = look_up(identity.bytes, out)) {
        give(fingerprint, *entry, true);
        found.table = entry->table;
        found.id = entry->id;
        return found;
    }
    found.had_other_rows = take_away(fingerprint);
    const auto latest = latest_.find(identity.bytes.substr(0, identity.computed));
    if (latest == latest_.end() || latest->second->is_dead())
        return found;
    found.had_other_rows = true;
    found.id = latest->second->id;
    found.former = latest->second->identity;
    found.other = latest->second->table;
    return found;
}

CachedJoinTables::Found CachedJoinTables::find_described(const BuildIdentity &identity) {
    Found found;
    std::lock_guard<std::mutex> guard(lock_);
    const auto same = described_.find(identity.bytes.substr(0, identity.described));
    if (identity.described == 0 || same == described_.end())
        return found;
    found.id = same->second->id;
    found.former = same->second->identity;
    found.other = same->second->table;
    return found;
}

uint64_t CachedJoinTables::keep(BuildIdentity identity, BuiltTableRef table, uint64_t fingerprint, bool tell_at_once,
                                uint64_t id) {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    if (!has_room(table->bytes()))
        return 0;
    CachedJoinTable *entry = look_up(identity.bytes, out); // somebody else may have built it meanwhile
    if (entry == nullptr)
        entry = &add(std::move(identity), std::move(table), id != 0 ? id : next_id_++, out);
    give(fingerprint, *entry, tell_at_once);
    return entry->id;
}

uint64_t CachedJoinTables::keep_instead(BuildIdentity identity, BuiltTableRef table, const Found &found,
                                        uint64_t fingerprint) {
    {
        Entries out;
        std::lock_guard<std::mutex> guard(lock_);
        forget_former(found, out);
    }
    return keep(std::move(identity), std::move(table), fingerprint);
}

uint64_t CachedJoinTables::keep_described(BuildIdentity identity, BuiltTableRef table) {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    return has_room(table->bytes()) ? add(std::move(identity), std::move(table), next_id_++, out).id : 0;
}

uint64_t CachedJoinTables::keep_as(BuildIdentity identity, const Found &found, uint64_t fingerprint) {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    forget_former(found, out);
    CachedJoinTable *entry = look_up(identity.bytes, out);
    if (entry == nullptr && has_room(found.other->bytes()))
        entry = &add(std::move(identity), found.other, found.id, out);
    if (entry != nullptr)
        give(fingerprint, *entry, true);
    return found.id;
}

void CachedJoinTables::forget(uint64_t fingerprint) {
    std::lock_guard<std::mutex> guard(lock_);
    take_away(fingerprint);
}

void CachedJoinTables::drop_of(const RelationFile &relation) {
    drop_if([&relation](const CachedJoinTable &table) {
        const std::vector<RelationFile> &its = table.identity->relations;
        return std::find(its.begin(), its.end(), relation) != its.end();
    });
}

void CachedJoinTables::tell(CachedBuilds *builds) {
    std::lock_guard<std::mutex> guard(lock_);
    builds_ = builds;
    if (builds_ != nullptr)
        for (const auto &known : by_fingerprint_)
            builds_->add(known.first);
}

// ---- under the lock ----

void CachedJoinTables::forget_former(const Found &found, Entries &out) {
    const CachedJoinTable *const former = look_up(found.former->bytes, out);
    if (former != nullptr && former->id == found.id)
        remove(former->key(), out);
}

CachedJoinTable &CachedJoinTables::add(BuildIdentity identity, BuiltTableRef table, uint64_t id, Entries &out) {
    const size_t bytes = table->bytes();
    std::string computed = identity.bytes.substr(0, identity.computed);
    std::string described = identity.bytes.substr(0, identity.described);
    CachedJoinTable &entry =
        put_in({std::make_shared<BuildIdentity>(std::move(identity)), std::move(table), id, bytes, {}}, out);
    latest_[std::move(computed)] = &entry;
    if (!described.empty())
        described_[std::move(described)] = &entry;
    return entry;
}

void CachedJoinTables::leave(CachedJoinTable &entry) {
    for (const uint64_t fingerprint : entry.fingerprints)
        untell(fingerprint);
    entry.fingerprints.clear();
    const auto latest = latest_.find(entry.key().substr(0, entry.identity->computed));
    if (latest != latest_.end() && latest->second == &entry)
        latest_.erase(latest);
    const auto described = described_.find(entry.key().substr(0, entry.identity->described));
    if (described != described_.end() && described->second == &entry)
        described_.erase(described);
}

void CachedJoinTables::give(uint64_t fingerprint, CachedJoinTable &entry, bool tell) {
    if (fingerprint == 0)
        return;
    const auto known = by_fingerprint_.find(fingerprint);
    if (known == by_fingerprint_.end() || known->second != &entry) {
        take_away(fingerprint);
        if (entry.fingerprints.size() == max_fingerprints)
            take_away(entry.fingerprints.front());
        by_fingerprint_.emplace(fingerprint, &entry);
        entry.fingerprints.push_back(fingerprint);
    }
    if (builds_ != nullptr && tell)
        builds_->add(fingerprint);
}

// False: no table had it.
bool CachedJoinTables::take_away(uint64_t fingerprint) {
    const auto known = by_fingerprint_.find(fingerprint);
    if (known == by_fingerprint_.end())
        return false;
    std::vector<uint64_t> &its = known->second->fingerprints;
    its.erase(std::remove(its.begin(), its.end(), fingerprint), its.end());
    untell(fingerprint);
    return true;
}

void CachedJoinTables::untell(uint64_t fingerprint) {
    by_fingerprint_.erase(fingerprint);
    if (builds_ != nullptr)
        builds_->remove(fingerprint);
}

} // namespace gpuscan
