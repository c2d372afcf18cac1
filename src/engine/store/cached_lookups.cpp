// Lookup tables that outlive their execution; see cached_lookups.hpp.
#include "engine/store/cached_lookups.hpp"

#include <algorithm>

namespace gpuscan {
namespace {

constexpr size_t constants_room = 10000; // texts of constants that a unified dictionary may have beside those of tables

std::string full_key(const Dictionary &dictionary, const std::string &key) {
    return std::to_string(dictionary.id()) + ' ' + key;
}

size_t count_known(const LookupTable &table, const KnownEntries &known) {
    if (!table.rough.empty()) {
        size_t count = table.entries + 1;
        for (const RoughRanks &rough : table.rough)
            count -= rough.last - rough.first;
        return count;
    }
    return known ? static_cast<size_t>(std::count(known->begin(), known->end(), 1)) : table.entries + 1;
}

} // namespace

PartOfLookup CachedLookups::find_part(const Dictionary &dictionary, const std::string &key) {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    const CachedLookup *const found = look_up(full_key(dictionary, key), out);
    return found == nullptr ? PartOfLookup() : PartOfLookup{found->table, found->known};
}

void CachedLookups::keep(Dictionary &dictionary, const std::string &key, const std::shared_ptr<LookupTable> &table,
                         std::shared_ptr<Dictionary> texts, KnownEntries known) {
    Entries out;
    const std::weak_ptr<Dictionary> owner = dictionary.weak_from_this();
    if (owner.expired())
        return;
    const size_t count = count_known(*table, known);
    const size_t bytes = table->bytes() * 2 + (texts ? texts->bytes() : 0) + // (a GPU's copy is as large)
                         (known ? known->capacity() : 0);
    std::lock_guard<std::mutex> guard(lock_);
    table->id = next_id_++;
    if (!has_room(bytes))
        return;
    const std::string full = full_key(dictionary, key);
    const CachedLookup *const found = look_up(full, out);
    if (found != nullptr && count_known(*found->table, found->known) >= count)
        return;
    for (auto &unified : unified_dictionaries_)
        if (texts && unified.second.texts.lock() == texts)
            unified.second.evaluated = texts->size();
    put_in({full, owner, table, std::move(known), std::move(texts), bytes}, out);
}

std::shared_ptr<Dictionary>
CachedLookups::unified_dictionary(const std::string &key, const std::function<std::shared_ptr<Dictionary>()> &make) {
    std::lock_guard<std::mutex> guard(lock_);
    for (auto unified = unified_dictionaries_.begin(); unified != unified_dictionaries_.end();)
        unified = unified->second.texts.expired() ? unified_dictionaries_.erase(unified) : std::next(unified);
    Unified &unified = unified_dictionaries_[key];
    std::shared_ptr<Dictionary> texts = unified.texts.lock();
    if (!texts || texts->size() > 2 * unified.evaluated + constants_room) {
        texts = make();
        unified = {texts, 0};
    }
    return texts;
}

} // namespace gpuscan
