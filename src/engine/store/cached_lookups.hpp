// Lookup tables that outlive the execution that made them, and the numberings of texts that some of them lead into.
//
// A table is a function of an expression and of a dictionary's entries, so it is cached under a key that the backend makes of
// the expression (which vouches for it that nothing else plays a part) and under the dictionary itself. Dictionaries only grow:
// a table of fewer entries than there are now is the beginning of the new one, and only the rest is evaluated. All sessions
// share the tables, and executions use them where they lie, so a hot execution neither evaluates nor ships anything.
//
// A *unified dictionary* numbers texts that expressions make of one or more columns (pg/exec/unified_dictionary.cpp): it is a dictionary of
// its own, known by the keys of all lookups that lead into it, and lives as long as a cached table or an execution has it.
//
// Of a *deferred* lookup (deferred_evaluation.hpp) only some entries are known: those that rows have brought to it so far. Which ones
// stands beside its table, and only others are evaluated.
//
// A table whose dictionary is gone can never be found again and goes at drop_dead().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/store/dictionary.hpp"
#include "engine/store/lookup_table.hpp"
#include "engine/store/lru_cache.hpp"

namespace gpuscan {

// Per entry, and at last for NULL: its value is there. nullptr: all are.
using KnownEntries = std::shared_ptr<const std::vector<uint8_t>>;

struct PartOfLookup {
    LookupRef table; // nullptr: nothing is known
    KnownEntries known;
};

struct CachedLookup {
    std::string full_key; // with the dictionary's id
    std::weak_ptr<Dictionary> dictionary;
    LookupRef table;
    KnownEntries known;
    std::shared_ptr<Dictionary> texts;
    size_t bytes;

    const std::string &key() const { return full_key; }
    bool is_dead() const { return dictionary.expired(); }
};

class CachedLookups final : public LruCache<CachedLookup> {
  public:
    // The table of this expression over this dictionary, however long it is; nullptr: there is none.
    LookupRef find(const Dictionary &dictionary, const std::string &key) { return find_part(dictionary, key).table; }
    // The same of a deferred lookup.
    PartOfLookup find_part(const Dictionary &dictionary, const std::string &key);
    // Keeps a finished table, in place of one that says less, and gives it an id. A dictionary that nobody shares is not cached.
    // `texts`: the unified dictionary that the table leads into, or nullptr.
    void keep(Dictionary &dictionary, const std::string &key, const std::shared_ptr<LookupTable> &table,
              std::shared_ptr<Dictionary> texts, KnownEntries known = nullptr);

    // The unified dictionary of this key. One that holds more texts than cached tables lead to, twice over (constants of many queries), is
    // replaced by an empty one.
    std::shared_ptr<Dictionary> unified_dictionary(const std::string &key,
                                                   const std::function<std::shared_ptr<Dictionary>()> &make);

  private:
    struct Unified {
        std::weak_ptr<Dictionary> texts;
        size_t evaluated = 0; // texts that it had when a table into it was cached last
    };
    std::unordered_map<std::string, Unified> unified_dictionaries_;
    uint64_t next_id_ = 1;
};

} // namespace gpuscan
