// Join tables that outlive their execution; see kept_tables.hpp. Tables are let go outside of the lock: freeing device memory
// may wait.
#include "engine/kept_tables.hpp"

#include <algorithm>

namespace gpuscan {
namespace {

constexpr size_t most_tables = 1000; // a search for dead ones looks at all

bool is_dead(const BuildIdentity &identity) {
    return std::any_of(identity.read.begin(), identity.read.end(), [](const auto &buffer) { return buffer.expired(); });
}

} // namespace

void KeptTables::take_out(Entries::iterator entry, Entries &out) {
    found_.erase(entry->identity.bytes);
    bytes_ -= entry->table->bytes();
    out.splice(out.begin(), entries_, entry);
}

void KeptTables::shrink(size_t limit, Entries &out) {
    while (!entries_.empty() && (bytes_ > limit || entries_.size() > most_tables))
        take_out(std::prev(entries_.end()), out);
}

// The bytes hold the addresses of buffers. The caller has those buffers, and the entry's are alive: same address, same buffer.
KeptTables::Found KeptTables::find(const BuildIdentity &identity) {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    const auto found = found_.find(identity.bytes);
    if (found == found_.end())
        return {};
    const Entries::iterator entry = found->second;
    if (is_dead(entry->identity)) {
        take_out(entry, out);
        return {};
    }
    entries_.splice(entries_.begin(), entries_, entry);
    return {entry->table, entry->id};
}

uint64_t KeptTables::keep(BuildIdentity identity, BuiltTableRef table) {
    Entries out;
    const size_t bytes = table->bytes();
    std::lock_guard<std::mutex> guard(lock_);
    if (bytes > limit_)
        return 0;
    const auto found = found_.find(identity.bytes);
    if (found != found_.end()) {
        if (!is_dead(found->second->identity))
            return found->second->id; // somebody else has built it meanwhile
        take_out(found->second, out);
    }
    shrink(limit_ - bytes, out);
    entries_.push_front({std::move(identity), std::move(table), next_id_++});
    found_.emplace(entries_.front().identity.bytes, entries_.begin());
    bytes_ += bytes;
    return entries_.front().id;
}

bool KeptTables::drop_one() {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    for (auto entry = entries_.end(); entry != entries_.begin();) {
        --entry;
        if (entry->table.use_count() > 1)
            continue;
        take_out(entry, out);
        return true;
    }
    return false;
}

void KeptTables::drop_dead() {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const auto next = std::next(entry);
        if (is_dead(entry->identity))
            take_out(entry, out);
        entry = next;
    }
}

void KeptTables::set_limit(size_t bytes) {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    limit_ = bytes;
    shrink(limit_, out);
}

size_t KeptTables::bytes() const {
    std::lock_guard<std::mutex> guard(lock_);
    return bytes_;
}

} // namespace gpuscan
