// Lookup tables that outlive their execution; see kept_lookups.hpp.
#include "engine/store/kept_lookups.hpp"

namespace gpuscan {
namespace {

constexpr size_t constants_room = 10000; // texts of constants that a space may have beside those of tables

std::string full_key(const Dictionary &dictionary, const std::string &key) {
    return std::to_string(dictionary.id()) + ' ' + key;
}

} // namespace

LookupRef KeptLookups::find(const Dictionary &dictionary, const std::string &key) {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    const KeptLookup *const found = look_up(full_key(dictionary, key), out);
    return found == nullptr ? nullptr : found->table;
}

void KeptLookups::keep(Dictionary &dictionary, const std::string &key, const std::shared_ptr<LookupTable> &table,
                       std::shared_ptr<Dictionary> texts) {
    Entries out;
    const std::weak_ptr<Dictionary> owner = dictionary.weak_from_this();
    if (owner.expired())
        return;
    const size_t bytes = table->bytes() * 2 + (texts ? texts->bytes() : 0); // (a GPU's copy is as large)
    std::lock_guard<std::mutex> guard(lock_);
    table->id = next_id_++;
    if (!has_room(bytes))
        return;
    const std::string full = full_key(dictionary, key);
    const KeptLookup *const found = look_up(full, out);
    if (found != nullptr && found->table->entries >= table->entries)
        return;
    for (auto &space : spaces_)
        if (texts && space.second.texts.lock() == texts)
            space.second.evaluated = texts->size();
    put_in({full, owner, table, std::move(texts), bytes}, out);
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

} // namespace gpuscan
