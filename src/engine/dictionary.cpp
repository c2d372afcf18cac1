// The dictionary of one text column: an open-addressing hash table over entries in chunks that never move.
//
// Readers take no lock. A slot is one 64-bit word, (upper hash bits, code + 1), stored with release after the entry it
// names is complete; a reader that misses a slot being written takes the lock and looks again. When the table grows, the
// old one stays until the dictionary goes, because a reader may still walk it (together at most as large as the new).
// Entries lie in segments of doubling size, so that an entry's address follows from its code; texts lie in blocks.
#include "engine/dictionary.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "engine/text_hash.hpp"

namespace gpuscan {
namespace {

constexpr uint32_t first_segment_bits = 8; // segment k holds 256 << k entries
constexpr uint32_t max_segments = 24;
constexpr size_t block_bytes = 64 * 1024;

struct Entry {
    const char *data;
    uint32_t length;
};

struct Table {
    explicit Table(uint32_t bits) : mask((1u << bits) - 1), slots(new std::atomic<uint64_t>[size_t(1) << bits]) {
        for (size_t i = 0; i <= mask; ++i)
            slots[i].store(0, std::memory_order_relaxed);
    }
    const uint32_t mask;
    std::unique_ptr<std::atomic<uint64_t>[]> slots;
};

uint64_t slot_word(uint64_t hash, uint32_t code) { return (hash & 0xffffffff00000000u) | (code + 1); }

// Segment and place of a code: code + 256 has its top bit at 8 + segment.
struct Position {
    uint32_t segment, index;
    explicit Position(uint32_t code) {
        uint64_t shifted = uint64_t(code) + (1u << first_segment_bits);
        uint32_t top = 63 - static_cast<uint32_t>(__builtin_clzll(shifted));
        segment = top - first_segment_bits;
        index = static_cast<uint32_t>(shifted - (uint64_t(1) << top));
    }
};

std::atomic<uint64_t> next_id{1};

} // namespace

struct Dictionary::Impl {
    Impl(uint32_t entries, size_t bytes)
        : max_entries(entries), max_bytes(bytes), id(next_id.fetch_add(1, std::memory_order_relaxed)) {
        tables.push_back(std::make_unique<Table>(9));
        table.store(tables.back().get(), std::memory_order_release);
        held = sizeof(*this) + tables.back()->mask * sizeof(uint64_t);
    }

    ~Impl() {
        for (auto &segment : segments)
            delete[] segment.load(std::memory_order_relaxed);
    }

    const Entry &entry(uint32_t code) const {
        Position at(code);
        return segments[at.segment].load(std::memory_order_acquire)[at.index];
    }

    uint32_t find(std::string_view text, uint64_t hash) const {
        const Table *t = table.load(std::memory_order_acquire);
        for (uint32_t i = static_cast<uint32_t>(hash) & t->mask;; i = (i + 1) & t->mask) {
            uint64_t word = t->slots[i].load(std::memory_order_acquire);
            if (word == 0)
                return full;
            if ((word ^ hash) >> 32)
                continue;
            uint32_t code = static_cast<uint32_t>(word) - 1;
            const Entry &e = entry(code);
            if (e.length == text.size() && memcmp(e.data, text.data(), text.size()) == 0)
                return code;
        }
    }

    // Called under the lock, `text` is not there.
    uint32_t add(std::string_view text, uint64_t hash) {
        uint32_t code = size.load(std::memory_order_relaxed);
        if (code >= max_entries || code >= 0x7fffff00u || text.size() > max_bytes - text_bytes)
            return full;
        Position at(code);
        if (at.segment >= max_segments)
            return full;
        if (segments[at.segment].load(std::memory_order_relaxed) == nullptr) {
            size_t count = size_t(1) << (first_segment_bits + at.segment);
            segments[at.segment].store(new Entry[count], std::memory_order_release);
            held.fetch_add(count * sizeof(Entry), std::memory_order_relaxed);
        }
        if ((code + 1) * uint64_t(2) > tables.back()->mask)
            grow();
        Entry &e = segments[at.segment].load(std::memory_order_relaxed)[at.index];
        e = {store_text(text), static_cast<uint32_t>(text.size())};
        text_bytes += text.size();
        place(*tables.back(), hash, code);
        size.store(code + 1, std::memory_order_release);
        return code;
    }

    static void place(Table &t, uint64_t hash, uint32_t code) {
        uint32_t i = static_cast<uint32_t>(hash) & t.mask;
        while (t.slots[i].load(std::memory_order_relaxed) != 0)
            i = (i + 1) & t.mask;
        t.slots[i].store(slot_word(hash, code), std::memory_order_release);
    }

    void grow() {
        uint32_t bits = 64 - static_cast<uint32_t>(__builtin_clzll(tables.back()->mask));
        auto bigger = std::make_unique<Table>(bits + 1);
        for (uint32_t code = 0, n = size.load(std::memory_order_relaxed); code < n; ++code) {
            const Entry &e = entry(code);
            place(*bigger, text_hash(e.data, e.length), code);
        }
        held.fetch_add((size_t(bigger->mask) + 1) * sizeof(uint64_t), std::memory_order_relaxed);
        tables.push_back(std::move(bigger));
        table.store(tables.back().get(), std::memory_order_release);
    }

    const char *store_text(std::string_view text) {
        if (text.empty())
            return "";
        if (text.size() > block_left) {
            size_t bytes = text.size() > block_bytes / 4 ? text.size() : block_bytes;
            blocks.emplace_back(new char[bytes]);
            held.fetch_add(bytes, std::memory_order_relaxed);
            if (bytes != block_bytes) { // a block of its own; the current one stays open
                memcpy(blocks.back().get(), text.data(), text.size());
                return blocks.back().get();
            }
            block_at = blocks.back().get();
            block_left = bytes;
        }
        char *to = block_at;
        memcpy(to, text.data(), text.size());
        block_at += text.size();
        block_left -= text.size();
        return to;
    }

    const uint32_t max_entries;
    const size_t max_bytes;
    const uint64_t id;
    std::atomic<const Table *> table{nullptr};
    std::atomic<Entry *> segments[max_segments] = {};
    std::atomic<uint32_t> size{0};
    std::atomic<size_t> held{0};

    std::mutex lock; // everything below, and every change above
    std::vector<std::unique_ptr<Table>> tables;
    std::vector<std::unique_ptr<char[]>> blocks;
    char *block_at = nullptr;
    size_t block_left = 0;
    size_t text_bytes = 0;
    std::shared_ptr<DeviceMirror> mirror;
};

DictionaryLimits dictionary_limits(size_t cache_bytes) {
    constexpr size_t entry_bytes = 64; // of a text that is not long
    const size_t bytes = std::clamp(cache_bytes / 16, size_t(64) << 20, size_t(1) << 30);
    return {std::max(1000000u, static_cast<uint32_t>(bytes / entry_bytes)), bytes};
}

Dictionary::Dictionary(uint32_t max_entries, size_t max_bytes) : impl_(new Impl(max_entries, max_bytes)) {}
Dictionary::~Dictionary() = default;

uint32_t Dictionary::intern(std::string_view text) {
    uint64_t hash = text_hash(text.data(), text.size());
    uint32_t code = impl_->find(text, hash);
    if (code != full)
        return code;
    std::lock_guard<std::mutex> guard(impl_->lock);
    code = impl_->find(text, hash);
    return code != full ? code : impl_->add(text, hash);
}

uint32_t Dictionary::find(std::string_view text) const {
    return impl_->find(text, text_hash(text.data(), text.size()));
}

uint32_t Dictionary::size() const { return impl_->size.load(std::memory_order_acquire); }

size_t Dictionary::bytes() const { return impl_->held.load(std::memory_order_relaxed); }

bool Dictionary::is_full() const { return size() >= impl_->max_entries || bytes() >= impl_->max_bytes; }

std::string_view Dictionary::entry(uint32_t code) const {
    const Entry &e = impl_->entry(code);
    return {e.data, e.length};
}

uint64_t Dictionary::id() const { return impl_->id; }

std::shared_ptr<Dictionary::DeviceMirror> Dictionary::mirror() const {
    std::lock_guard<std::mutex> guard(impl_->lock);
    return impl_->mirror;
}

void Dictionary::set_mirror(std::shared_ptr<DeviceMirror> mirror) {
    std::lock_guard<std::mutex> guard(impl_->lock);
    impl_->mirror = std::move(mirror);
}

} // namespace gpuscan
