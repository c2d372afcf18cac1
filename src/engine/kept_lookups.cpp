// Lookup tables that outlive their execution; see kept_lookups.hpp. Tables are let go outside of the lock: freeing device memory
// may wait.
#include "engine/kept_lookups.hpp"

namespace gpuscan {
namespace {

constexpr size_t most_tables = 1000;
constexpr size_t constants_room = 10000; // texts of constants that a space may have beside those of tables

std::string full_key(const Dictionary &dictionary, const std::string &key) {
    return std::to_string(dictionary.id()) + ' ' + key;
}

} // namespace

void KeptLookups::take_out(Entries::iterator entry, Entries &out) {
    found_.erase(entry->key);
    bytes_ -= entry->bytes;
    out.splice(out.begin(), entries_, entry);
}

void KeptLookups::shrink(size_t limit, Entries &out) {
    while (!entries_.empty() && (bytes_ > limit || entries_.size() > most_tables))
        take_out(std::prev(entries_.end()), out);
}

LookupRef KeptLookups::find(const Dictionary &dictionary, const std::string &key) {
    std::lock_guard<std::mutex> guard(lock_);
    const auto found = found_.find(full_key(dictionary, key));
    if (found == found_.end())
        return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->table;
}

void KeptLookups::keep(Dictionary &dictionary, const std::string &key, const std::shared_ptr<LookupTable> &table,
                       std::shared_ptr<Dictionary> texts) {
    Entries out;
    const std::weak_ptr<Dictionary> owner = dictionary.weak_from_this();
    if (owner.expired())
        return;
    const size_t bytes = table->bytes() * 2 + (texts ? texts->bytes() : 0); // (a device's copy is as large)
    std::lock_guard<std::mutex> guard(lock_);
    table->id = next_id_++;
    if (bytes > limit_)
        return;
    const std::string full = full_key(dictionary, key);
    const auto found = found_.find(full);
    if (found != found_.end()) {
        if (found->second->table->entries >= table->entries)
            return;
        take_out(found->second, out);
    }
    shrink(limit_ - bytes, out);
    for (auto &space : spaces_)
        if (texts && space.second.texts.lock() == texts)
            space.second.evaluated = texts->size();
    entries_.push_front({full, owner, table, std::move(texts), bytes});
    found_.emplace(full, entries_.begin());
    bytes_ += bytes;
}

std::shared_ptr<Dictionary> KeptLookups::space(const std::string &key,
                                               const std::function<std::shared_ptr<Dictionary>()> &make) {
    std::lock_guard<std::mutex> guard(lock_);
    for (auto space = spaces_.begin(); space != spaces_.end();)
        space = space->second.texts.expired() ? spaces_.erase(space) : std::next(space);
    Space &space = spaces_[key];
    std::shared_ptr<Dictionary> texts = space.texts.lock();
    if (!texts || texts->size() > 2 * space.evaluated + constants_room) {
        texts = make();
        space = {texts, 0};
    }
    return texts;
}

bool KeptLookups::drop_one() {
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

void KeptLookups::drop_dead() {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const auto next = std::next(entry);
        if (entry->dictionary.expired())
            take_out(entry, out);
        entry = next;
    }
}

void KeptLookups::set_limit(size_t bytes) {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    limit_ = bytes;
    shrink(limit_, out);
}

size_t KeptLookups::bytes() const {
    std::lock_guard<std::mutex> guard(lock_);
    return bytes_;
}

} // namespace gpuscan
