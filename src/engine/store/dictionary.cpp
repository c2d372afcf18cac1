// The dictionary of one text column: a hash table in shards over entries that never move.
//
// Columns of unique texts are numbered by many threads at once, a window of pages each, so the table is divided by the hash
// into shards with a lock each, and a window's texts are sorted by shard first: a lock is taken once for some dozens of texts.
// What such a column costs is cache misses, so the texts of a group are gone through in steps: first the slots of all are
// asked for, then the entries that they name, then their bytes (Chen et al., "Improving hash join performance through
// prefetching", ICDE 2004: group prefetching). Only then new texts are added: their bytes are copied to the shard's block in one
// go, and they get consecutive codes, for which alone there is a lock that all shards share.
//
// A slot is one 64-bit word: the upper half of the hash and code + 1. The lower half chooses the shard and the upper one the
// place in it, so that a table grows without looking at texts. Entries are pointers to a text's length and bytes; they lie in
// segments of doubling size, so that an entry's address follows from its code and readers need no lock.
//
// Of a large dictionary all this lies on huge pages, since page faults would take as long as the rest of the work: shards cut their
// blocks from slabs that they share, and their tables of one size lie side by side.
//
// Nothing is left behind by an allocation that fails: codes are given when everything else is there.
#include "engine/store/dictionary.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "engine/util/huge_pages.hpp"
#include "engine/util/text_hash.hpp"

namespace gpuscan {
namespace {

std::atomic<size_t> all_held{0}; // by every dictionary of the process

constexpr uint32_t first_segment_bits = 8; // segment k holds 256 << k entries
constexpr uint32_t max_segments = 24;
constexpr uint32_t shard_count = 64;
constexpr size_t group_size = 64; // texts that are asked for at once
constexpr size_t first_slots = 16, first_block = 256;
constexpr size_t last_block = size_t(64) << 10; // of which the slabs consist
constexpr size_t slab_bytes = 2 * huge_page;
constexpr uint32_t new_text = 1u << 31; // a code of a text that has none yet: its number among the group's new ones

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

std::string_view text_at(const char *stored) {
    uint32_t length;
    memcpy(&length, stored, sizeof length);
    return {stored + sizeof length, length};
}

bool equal(std::string_view stored, const Dictionary::Text &text) {
    return stored.size() == text.length && memcmp(stored.data(), text.data, text.length) == 0;
}

struct Free {
    void operator()(void *memory) const { free(memory); }
};
template <class T> using Memory = std::unique_ptr<T[], Free>;

template <class T> Memory<T> zeroed(size_t count) {
    void *memory = calloc(count, sizeof(T));
    if (memory == nullptr)
        throw std::bad_alloc();
    return Memory<T>(static_cast<T *>(memory));
}

// What has a memory of its own if it is small, else a part of a larger one.
template <class T> struct Part {
    T *at = nullptr;
    Memory<T> own;
    std::shared_ptr<HugeMemory> whole;
};

struct alignas(64) Shard {
    std::mutex lock; // all below
    Part<uint64_t> slots;
    size_t mask = 0, used = 0;        // used: slots that are not 0
    std::vector<Memory<char>> blocks; // those that are no part of a slab
    size_t nblocks = 0;
    char *block_at = nullptr;
    size_t block_left = 0;

    size_t place_of(uint64_t hash) const { return (hash >> 32) & mask; }
};

std::atomic<uint64_t> next_id{1};

} // namespace

struct Dictionary::Impl {
    Impl(uint32_t entries, size_t bytes, Account counted)
        : max_entries(std::min(entries, max_entry_count)), id(next_id.fetch_add(1, std::memory_order_relaxed)),
          account(std::move(counted)), max_bytes(bytes) {
        hold(sizeof(*this));
    }

    ~Impl() {
        for (uint32_t k = 0; k < max_segments; ++k)
            if (large_segments[k].data() == nullptr)
                free(segments[k].load(std::memory_order_relaxed));
        give_back(held.load(std::memory_order_relaxed));
    }

    void hold(size_t bytes) {
        held.fetch_add(bytes, std::memory_order_relaxed);
        all_held.fetch_add(bytes, std::memory_order_relaxed);
        if (account)
            account->fetch_add(bytes, std::memory_order_relaxed);
    }

    void give_back(size_t bytes) {
        held.fetch_sub(bytes, std::memory_order_relaxed);
        all_held.fetch_sub(bytes, std::memory_order_relaxed);
        if (account)
            account->fetch_sub(bytes, std::memory_order_relaxed);
    }

    const char *const *entry_place(uint32_t code) const {
        Position at(code);
        return segments[at.segment].load(std::memory_order_acquire) + at.index;
    }

    std::string_view entry(uint32_t code) const { return text_at(*entry_place(code)); }

    Shard &shard_of(uint64_t hash) { return shards[hash % shard_count]; }

    // ---- a group: texts of one shard, under its lock ----

    struct Group {
        Group(Shard &s, Text **of, size_t n) : shard(s), texts(of), count(n) {}
        Shard &shard;
        Text **texts;
        size_t count;
        size_t nfresh = 0;
        uint32_t fresh[group_size]; // new texts: which ...
        size_t places[group_size];  // ... and their slots
    };

    void grow(Shard &s, size_t count) {
        size_t size = s.slots.at != nullptr ? s.mask + 1 : first_slots;
        while ((s.used + count) * 3 > size * 2)
            size *= 2;
        if (s.slots.at != nullptr && size == s.mask + 1)
            return;
        Part<uint64_t> bigger = make_slots(s, size);
        const size_t old = s.slots.at != nullptr ? s.mask + 1 : 0, mask = size - 1;
        for (size_t i = 0; i < old; ++i) {
            if (s.slots.at[i] == 0)
                continue;
            size_t at = (s.slots.at[i] >> 32) & mask;
            while (bigger.at[at] != 0)
                at = (at + 1) & mask;
            bigger.at[at] = s.slots.at[i];
        }
        hold(size * sizeof(uint64_t));
        give_back(old * sizeof(uint64_t));
        s.slots = std::move(bigger);
        s.mask = mask;
    }

    // Empty slots. Hashes are spread evenly, so if one shard needs so many, the others do or will soon.
    Part<uint64_t> make_slots(const Shard &s, size_t size) {
        Part<uint64_t> slots;
        if (size * sizeof(uint64_t) * shard_count < huge_page) {
            slots.own = zeroed<uint64_t>(size);
            slots.at = slots.own.get();
            return slots;
        }
        std::lock_guard<std::mutex> guard(memory_lock);
        std::weak_ptr<HugeMemory> &of_size = tables[__builtin_ctzll(size)];
        slots.whole = of_size.lock();
        if (!slots.whole) {
            slots.whole = std::make_shared<HugeMemory>(size * sizeof(uint64_t) * shard_count);
            if (slots.whole->data() == nullptr)
                throw std::bad_alloc();
            of_size = slots.whole;
        }
        slots.at = reinterpret_cast<uint64_t *>(slots.whole->data()) + static_cast<size_t>(&s - shards) * size;
        // A huge page that is read first is the kernel's page of zeros, which a write then has to copy.
        for (size_t i = 0; i < size; i += huge_page / sizeof(uint64_t))
            slots.at[i] = 0;
        return slots;
    }

    // The slot of the text, or the free one where the search ends. `texts`: the group's, new ones among them.
    size_t search(const Shard &s, const Text &text, Text *const *texts, const uint32_t *fresh) const {
        for (size_t at = s.place_of(text.hash);; at = (at + 1) & s.mask) {
            const uint64_t word = s.slots.at[at];
            if (word == 0)
                return at;
            if ((word ^ text.hash) >> 32)
                continue;
            const uint32_t code = static_cast<uint32_t>(word) - 1;
            if (code & new_text) {
                const Text &other = *texts[fresh[code & ~new_text]];
                if (equal({other.data, other.length}, text))
                    return at;
            } else if (equal(entry(code), text)) {
                return at;
            }
        }
    }

    // Codes of the texts that are there already, full for the others.
    void find_known(const Group &g) const {
        const Shard &s = g.shard;
        const char *const *entries[group_size];
        for (size_t i = 0; i < g.count; ++i)
            __builtin_prefetch(&s.slots.at[s.place_of(g.texts[i]->hash)]);
        for (size_t i = 0; i < g.count; ++i) {
            Text &text = *g.texts[i];
            text.code = full;
            entries[i] = nullptr;
            for (size_t at = s.place_of(text.hash); s.slots.at[at] != 0; at = (at + 1) & s.mask)
                if ((s.slots.at[at] ^ text.hash) >> 32 == 0) {
                    text.code = static_cast<uint32_t>(s.slots.at[at]) - 1;
                    entries[i] = entry_place(text.code);
                    __builtin_prefetch(entries[i]);
                    break;
                }
        }
        for (size_t i = 0; i < g.count; ++i)
            if (entries[i] != nullptr)
                __builtin_prefetch(*entries[i]);
        for (size_t i = 0; i < g.count; ++i)
            if (entries[i] != nullptr && !equal(text_at(*entries[i]), *g.texts[i])) {
                const uint64_t word = s.slots.at[search(s, *g.texts[i], nullptr, nullptr)];
                g.texts[i]->code = word != 0 ? static_cast<uint32_t>(word) - 1 : full;
            }
    }

    // Gives the texts without a code slots, equal ones the same.
    void place_fresh(Group &g) const {
        for (size_t i = 0; i < g.count; ++i) {
            Text &text = *g.texts[i];
            if (text.code != full)
                continue;
            const size_t at = search(g.shard, text, g.texts, g.fresh);
            if (g.shard.slots.at[at] == 0) {
                g.shard.slots.at[at] = slot_word(text.hash, new_text | static_cast<uint32_t>(g.nfresh));
                g.places[g.nfresh] = at;
                g.fresh[g.nfresh++] = static_cast<uint32_t>(i);
            }
            text.code = static_cast<uint32_t>(g.shard.slots.at[at]) - 1;
        }
    }

    char *block_room(Shard &s, size_t bytes) {
        if (bytes > s.block_left) {
            const size_t next = std::min(last_block, first_block << std::min<size_t>(s.nblocks, 20));
            const size_t size = std::max(bytes, next);
            if (size == last_block) {
                s.block_at = part_of_slab();
            } else {
                s.blocks.reserve(s.blocks.size() + 1);
                Memory<char> block(static_cast<char *>(malloc(size)));
                if (!block)
                    throw std::bad_alloc();
                hold(size);
                s.block_at = block.get();
                s.blocks.push_back(std::move(block));
            }
            s.block_left = size;
            ++s.nblocks;
        }
        return s.block_at; // cppcheck-suppress returnDanglingLifetime // the block lives on in s.blocks
    }

    char *part_of_slab() {
        std::lock_guard<std::mutex> guard(memory_lock);
        if (slab_left == 0) {
            slabs.reserve(slabs.size() + 1);
            HugeMemory slab(slab_bytes);
            if (slab.data() == nullptr)
                throw std::bad_alloc();
            slabs.push_back(std::move(slab));
            slab_left = slab_bytes;
            hold(slab_bytes);
        }
        char *const part = slabs.back().data() + (slab_bytes - slab_left);
        slab_left -= last_block;
        return part;
    }

    const char **make_segment(uint32_t number, size_t entries) {
        const size_t bytes = entries * sizeof(const char *);
        if (bytes < huge_page)
            return zeroed<const char *>(entries).release();
        large_segments[number] = HugeMemory(bytes);
        if (large_segments[number].data() == nullptr)
            throw std::bad_alloc();
        return reinterpret_cast<const char **>(large_segments[number].data());
    }

    // Gives consecutive codes to the stored texts, as many as there is room for; answers how many and the first.
    size_t number(const Group &g, const char *const *stored, uint32_t *first) {
        std::lock_guard<std::mutex> guard(codes_lock);
        const uint32_t begin = size.load(std::memory_order_relaxed);
        size_t granted = 0;
        while (granted < g.nfresh && begin + granted < max_entries) {
            const size_t bytes = g.texts[g.fresh[granted]]->length + entry_bytes;
            if (counted + bytes > max_bytes)
                break;
            counted += bytes;
            ++granted;
        }
        for (size_t i = 0; i < granted; ++i) {
            const Position at(begin + static_cast<uint32_t>(i));
            const char **segment = segments[at.segment].load(std::memory_order_relaxed);
            if (segment == nullptr) {
                const size_t entries = size_t(1) << (first_segment_bits + at.segment);
                segment = make_segment(at.segment, entries);
                segments[at.segment].store(segment, std::memory_order_release);
                hold(entries * sizeof(*segment));
            }
            segment[at.index] = stored[i];
        }
        size.store(begin + static_cast<uint32_t>(granted), std::memory_order_release);
        if (granted < g.nfresh)
            refused.store(true, std::memory_order_relaxed);
        *first = begin;
        return granted;
    }

    // Takes slots back that have no code. Nothing was placed after them, so no search leads across them.
    static void forget_fresh(Group &g, size_t first) {
        for (size_t i = first; i < g.nfresh; ++i)
            g.shard.slots.at[g.places[i]] = 0;
    }

    void add_fresh(Group &g) {
        Shard &s = g.shard;
        const char *stored[group_size];
        uint32_t first = 0;
        size_t granted = 0;
        try {
            size_t bytes = 0;
            for (size_t i = 0; i < g.nfresh; ++i)
                bytes += sizeof(uint32_t) + g.texts[g.fresh[i]]->length;
            char *to = block_room(s, bytes);
            for (size_t i = 0; i < g.nfresh; ++i) {
                const Text &text = *g.texts[g.fresh[i]];
                stored[i] = to;
                memcpy(to, &text.length, sizeof text.length);
                memcpy(to + sizeof text.length, text.data, text.length);
                to += sizeof text.length + text.length;
            }
            granted = number(g, stored, &first);
            s.block_left -= bytes;
            s.block_at += bytes;
        } catch (...) {
            forget_fresh(g, 0);
            throw;
        }
        for (size_t i = 0; i < granted; ++i)
            s.slots.at[g.places[i]] = slot_word(s.slots.at[g.places[i]], first + static_cast<uint32_t>(i));
        forget_fresh(g, granted);
        s.used += granted;
        for (size_t i = 0; i < g.count; ++i) {
            uint32_t &code = g.texts[i]->code;
            if (code & new_text)
                code = (code & ~new_text) < granted ? first + (code & ~new_text) : full;
        }
    }

    void intern_group(Shard &s, Text **texts, size_t count) {
        Group g(s, texts, count);
        std::lock_guard<std::mutex> guard(s.lock);
        grow(s, count);
        find_known(g);
        place_fresh(g);
        if (g.nfresh > 0)
            add_fresh(g);
    }

    const uint32_t max_entries;
    const uint64_t id;
    const Account account;
    std::atomic<size_t> held{0};
    std::atomic<uint32_t> size{0};
    std::atomic<bool> refused{false};
    std::atomic<const char **> segments[max_segments] = {};
    HugeMemory large_segments[max_segments]; // under codes_lock: the memory of those that are large

    Shard shards[shard_count];
    std::mutex memory_lock;               // taken after a shard's: what follows
    std::weak_ptr<HugeMemory> tables[64]; // slots of all shards that have so many (binary logarithm)
    std::vector<HugeMemory> slabs;
    size_t slab_left = 0; // bytes of the last one

    std::mutex codes_lock; // taken after a shard's: `size` and what follows
    size_t max_bytes;
    size_t counted = 0; // of these

    mutable std::mutex mirror_lock;
    std::shared_ptr<DeviceMirror> mirror;
};

size_t dictionary_limit(size_t cache_size, bool is_gpu) {
    return std::max(is_gpu ? size_t(1) << 30 : size_t(64) << 20, cache_size / 2);
}

Dictionary::Dictionary(uint32_t max_entries, size_t max_bytes, Account account)
    : impl_(new Impl(max_entries, max_bytes, std::move(account))) {}
Dictionary::~Dictionary() = default;

uint32_t Dictionary::intern(std::string_view text) {
    Text one = {text.data(), static_cast<uint32_t>(text.size()), full, text_hash(text.data(), text.size())};
    Text *texts[1] = {&one};
    impl_->intern_group(impl_->shard_of(one.hash), texts, 1);
    return one.code;
}

void Dictionary::intern_many(Text *texts, size_t count) {
    uint32_t ends[shard_count] = {};
    for (size_t i = 0; i < count; ++i)
        ++ends[texts[i].hash % shard_count];
    uint32_t end = 0;
    for (uint32_t &shard_end : ends) // (starts for now)
        shard_end = std::exchange(end, end + shard_end);
    std::vector<Text *> sorted(count);
    for (size_t i = 0; i < count; ++i)
        sorted[ends[texts[i].hash % shard_count]++] = &texts[i];
    // Threads begin at different shards, so that they do not queue up one behind the other.
    const uint32_t start = count > 0 ? static_cast<uint32_t>(texts[0].hash >> 32) % shard_count : 0;
    for (uint32_t k = 0; k < shard_count; ++k) {
        const uint32_t shard = (start + k) % shard_count;
        for (size_t at = shard == 0 ? 0 : ends[shard - 1]; at < ends[shard]; at += group_size)
            impl_->intern_group(impl_->shards[shard], &sorted[at], std::min<size_t>(group_size, ends[shard] - at));
    }
}

uint32_t Dictionary::find(std::string_view text) const {
    Text one = {text.data(), static_cast<uint32_t>(text.size()), full, text_hash(text.data(), text.size())};
    Shard &s = impl_->shard_of(one.hash);
    std::lock_guard<std::mutex> guard(s.lock);
    if (s.slots.at == nullptr)
        return full;
    const uint64_t word = s.slots.at[impl_->search(s, one, nullptr, nullptr)];
    return word != 0 ? static_cast<uint32_t>(word) - 1 : full;
}

uint32_t Dictionary::size() const { return impl_->size.load(std::memory_order_acquire); }

size_t Dictionary::bytes_of_all() { return all_held.load(std::memory_order_relaxed); }

size_t Dictionary::bytes() const { return impl_->held.load(std::memory_order_relaxed); }

void Dictionary::set_limit(size_t max_bytes) {
    const std::lock_guard<std::mutex> guard(impl_->codes_lock);
    if (max_bytes > impl_->max_bytes)
        impl_->refused.store(false, std::memory_order_relaxed);
    impl_->max_bytes = max_bytes;
}

bool Dictionary::is_full() const { return impl_->refused.load(std::memory_order_relaxed); }

std::string_view Dictionary::entry(uint32_t code) const { return impl_->entry(code); }

void Dictionary::prefetch(uint32_t code) const { __builtin_prefetch(*impl_->entry_place(code)); }

uint64_t Dictionary::id() const { return impl_->id; }

std::shared_ptr<Dictionary::DeviceMirror> Dictionary::mirror() const {
    std::lock_guard<std::mutex> guard(impl_->mirror_lock);
    return impl_->mirror;
}

void Dictionary::set_mirror(std::shared_ptr<DeviceMirror> mirror) {
    std::lock_guard<std::mutex> guard(impl_->mirror_lock);
    impl_->mirror = std::move(mirror);
}

} // namespace gpuscan
