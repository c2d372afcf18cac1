// What outlives the execution that made it, for the next one that looks for the same: found by a key of bytes, counted
// against a limit, the least recently used goes first. The base of cached_join_tables.hpp and cached_lookups.hpp, which say
// what a key stands for.
//
// What goes is moved into a list that its holder destroys behind the lock: freeing device memory may wait.
#pragma once

#include <cstring>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gpuscan {

// An Entry has key() (compared in full), is_dead() (it can never be found again), bytes (fixed from when it is put in), and
// table, a shared pointer of which executions have others.
template <typename Entry> class LruCache {
  public:
    // Lets the least recently used entry go that no execution uses; false: there is none.
    bool drop_one() {
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

    void drop_dead() {
        drop_if([](const Entry &entry) { return entry.is_dead(); });
    }

    void drop_all() {
        drop_if([](const Entry &) { return true; });
    }

    void set_limit(size_t bytes) {
        Entries out;
        std::lock_guard<std::mutex> guard(lock_);
        limit_ = bytes;
        shrink(limit_, out);
    }

    size_t bytes() const {
        std::lock_guard<std::mutex> guard(lock_);
        return bytes_;
    }

  protected:
    using Entries = std::list<Entry>; // the most recently used first

    ~LruCache() = default;

    template <typename Condition> void drop_if(Condition condition) {
        Entries out;
        std::lock_guard<std::mutex> guard(lock_);
        for (auto entry = entries_.begin(); entry != entries_.end();) {
            const auto next = std::next(entry);
            if (condition(*entry))
                take_out(entry, out);
            entry = next;
        }
    }

    // These are called under the lock. An entry will not be found any longer.
    virtual void leave(Entry &) {}

    // The entry of this key, which is now the most recently used; nullptr: there is none.
    Entry *look_up(const std::string &key, Entries &out) {
        const auto found = found_.find(key);
        if (found == found_.end())
            return nullptr;
        const auto entry = found->second;
        if (entry->is_dead()) {
            take_out(entry, out);
            return nullptr;
        }
        entries_.splice(entries_.begin(), entries_, entry);
        return &*entry;
    }

    bool has_room(size_t bytes) const { return bytes <= limit_; }

    // Takes an entry that there is room for, in place of one with the same key.
    Entry &put_in(Entry &&entry, Entries &out) {
        remove(entry.key(), out);
        shrink(limit_ - entry.bytes, out);
        entries_.push_front(std::move(entry));
        found_.emplace(entries_.front().key(), entries_.begin());
        bytes_ += entries_.front().bytes;
        return entries_.front();
    }

    void remove(const std::string &key, Entries &out) {
        const auto found = found_.find(key);
        if (found != found_.end())
            take_out(found->second, out);
    }

    mutable std::mutex lock_;

  private:
    static constexpr size_t max_entry_count = 1000; // a search for dead ones looks at all

    // A key may have 100 kB, and is looked for several times by a query that changes a table. So of a long one only pieces count,
    // and keys may well have the same hash: they are compared in full, and there are no more than max_entry_count.
    struct KeyHash {
        static constexpr size_t pieces = 32, piece_bytes = 64;
        size_t operator()(std::string_view key) const {
            if (key.size() <= pieces * piece_bytes)
                return std::hash<std::string_view>()(key);
            char sample[pieces * piece_bytes];
            for (size_t piece = 0; piece < pieces; ++piece)
                memcpy(sample + piece * piece_bytes, key.data() + (key.size() - piece_bytes) * piece / (pieces - 1),
                       piece_bytes);
            return std::hash<std::string_view>()({sample, sizeof sample}) + key.size();
        }
    };

    void take_out(typename Entries::iterator entry, Entries &out) {
        leave(*entry);
        found_.erase(entry->key());
        bytes_ -= entry->bytes;
        out.splice(out.begin(), entries_, entry);
    }

    void shrink(size_t limit, Entries &out) {
        while (!entries_.empty() && (bytes_ > limit || entries_.size() > max_entry_count))
            take_out(std::prev(entries_.end()), out);
    }

    Entries entries_;
    std::unordered_map<std::string_view, typename Entries::iterator, KeyHash> found_; // by the entry's own key
    size_t bytes_ = 0, limit_ = size_t(256) << 20;
};

} // namespace gpuscan
