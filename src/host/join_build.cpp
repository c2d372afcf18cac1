// Making the table of one join, by all threads at once (see join_table.hpp).
//
// The collected rows stay where their threads have put them and are visited in pieces. What several threads write to is
// written atomically: bits of the bitmap, counts of keys, slots of a hash table (taken by compare and swap, never moved).
// A table with duplicates needs two visits: one counts the entries of every key, one gives each row its place, from the
// end of its key's range downwards. Where every key is unique, a row's entry is its own number (or its key's), and
// payload is written in order. The order of entries with one key is whatever the threads made it.
#include <algorithm>
#include <cstring>

#include "device/semantics.cuh"
#include "host/build_values.hpp"
#include "host/join_table.hpp"

namespace gpuscan::host {

namespace {

// A domain of key numbers is small enough for an array of offsets: 256 MB, and not too thin.
constexpr uint64_t max_dense_domain = 64u << 20;
constexpr uint64_t offsets_per_row = 16, free_offsets = 65536;
// A bitmap with payload by key number may be thinner: a probe that misses reads one bit (a domain of a million is
// 128 kB, in the second-level cache), and only hits read payload. SSB Q2.1, SF 1: 7,891 parts of 200,000 as a hash table
// 253 ms, as a bitmap 60 ms (two busy cores).
constexpr uint64_t places_per_row = 8, free_places = 1u << 20;
// Where only bits are kept: 256 MB of them, and no more memory than a hash table of the same keys.
constexpr uint64_t max_bits = uint64_t(1) << 31, bits_per_key = 256;
// A semi-join filter that lets more than a fourth of the values through is not worth asking; 8 MB of bits, as they are asked at random.
constexpr uint64_t places_per_value = 4, max_filter_bits = 64u << 20;
constexpr size_t filter_room = 8; // of the memory that is left it takes one part in so many, at most
constexpr uint32_t no_row = 0xffffffffu;
constexpr uint64_t no_number = ~uint64_t(0); // numbers have 62 bits
constexpr size_t max_rows = (size_t(1) << 31) - 2;
constexpr size_t prefetch_ahead = 16;

template <class T> T load(const T &from) { return __atomic_load_n(&from, __ATOMIC_RELAXED); }
template <class T> T add(T &to, T n) { return __atomic_fetch_add(&to, n, __ATOMIC_RELAXED); }
template <class T> bool swap(T &to, T &expected, T value) {
    return __atomic_compare_exchange_n(&to, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

} // namespace

class JoinTable::Builder {
  public:
    Builder(JoinTable &table, const WorkContext &work, std::vector<BuildRows> &parts, Use use);
    void build();

  private:
    using Columns = std::vector<BuildRows::Column> BuildRows::*;

    // Some rows of one part.
    struct Piece {
        BuildRows *part;
        size_t begin, n; // in the part
        size_t first;    // number of the first row among all

        const uint8_t *values(const BuildRows::Column &column) const {
            return column.values.data() + begin * type_width(column.type);
        }
        const uint8_t *nulls(const BuildRows::Column &column) const {
            return column.nulls.empty() ? nullptr : column.nulls.data() + begin;
        }
    };

    template <class Task> void each_piece(Task task) {
        work_.pool.run(pieces_.size(), [&](size_t index, unsigned worker) {
            work_.check_cancel();
            task(pieces_[index], worker);
        });
    }
    Bounds bounds(Columns columns, size_t column);
    void give_back(Columns columns, size_t column);

    bool combine_keys(uint64_t &domain);
    void pack_keys();
    void build_by_number(uint64_t domain);
    bool build_bitmap(uint64_t domain);
    void build_dense(uint64_t domain);
    void build_hash();
    void build_wide();
    template <class Value> void build_semi_join_filter(Value value);
    void make_slots(Slot empty);
    template <class Count, class End> void give_ranges(size_t keys, Count count, End end);
    void order_slots();
    void store_payload();
    void store_column(size_t column);

    JoinTable &t_;
    const WorkContext &work_;
    std::vector<BuildRows> &parts_;
    const bool keys_only_, rows_wanted_;
    std::vector<Piece> pieces_;
    size_t n_ = 0;
    WorkArray<uint64_t> numbers_; // of each row's key; Wide: its words, word by word
    WorkArray<uint32_t> place_;   // of each row among the entries; empty: rows are entries. Before that, its slot
};

void JoinTable::build(const WorkContext &work, std::vector<BuildRows> &parts, Use use) {
    *this = JoinTable();
    Builder(*this, work, parts, use).build();
}

JoinTable::Builder::Builder(JoinTable &table, const WorkContext &work, std::vector<BuildRows> &parts, Use use)
    : t_(table), work_(work), parts_(parts), keys_only_(use == Use::KeysOnly), rows_wanted_(use == Use::Rows),
      numbers_(work.memory), place_(work.memory) {
    for (BuildRows &part : parts) {
        for (size_t begin = 0; begin < part.n; begin += piece_rows)
            pieces_.push_back({&part, begin, std::min(piece_rows, part.n - begin), n_ + begin});
        n_ += part.n;
    }
    t_.bitmap_ = WorkArray<uint32_t>(work.memory);
    t_.offsets_ = WorkArray<uint32_t>(work.memory);
    t_.slots_ = WorkArray<Slot>(work.memory);
    t_.entry_words_ = WorkArray<uint64_t>(work.memory);
    t_.filter_ = WorkArray<uint32_t>(work.memory);
}

void JoinTable::Builder::build() {
    if (n_ >= max_rows)
        throw OutOfWorkMemory("more than 2^31 rows on the build side of a join");
    t_.rows_ = t_.entries_ = n_;
    for (const BuildRows::Column &key : parts_.at(0).keys)
        t_.keys_.push_back({key.type});
    uint64_t domain;
    if (n_ == 0)
        t_.form_ = Form::Empty;
    else if (combine_keys(domain))
        build_by_number(domain);
    else
        build_wide();
    if (t_.form_ == Form::Hash)
        build_semi_join_filter([this](const Key &key, size_t row) {
            const uint64_t values = static_cast<uint64_t>(key.max - key.min) + 1;
            return numbers_[row] / key.stride % values + static_cast<uint64_t>(key.min);
        });
    if (t_.form_ == Form::Wide)
        build_semi_join_filter([this](const Key &key, size_t row) { return numbers_[key.word * n_ + row]; });
    numbers_.release();
    store_payload();
}

Bounds JoinTable::Builder::bounds(Columns columns, size_t column) {
    std::vector<Bounds> found(work_.pool.workers());
    each_piece([&](const Piece &piece, unsigned worker) {
        const BuildRows::Column &from = (piece.part->*columns)[column];
        found[worker].add(bounds_of(from.type, piece.values(from), piece.nulls(from), piece.n));
    });
    for (const Bounds &part : found)
        found[0].add(part);
    return found[0];
}

void JoinTable::Builder::give_back(Columns columns, size_t column) {
    for (BuildRows &part : parts_) {
        (part.*columns)[column].values.release();
        (part.*columns)[column].nulls.release();
    }
}

// Ranges and strides of the keys; false when the combinations cannot be numbered in 62 bits.
bool JoinTable::Builder::combine_keys(uint64_t &domain) {
    uint128 product = 1;
    for (size_t i = t_.keys_.size(); i-- > 0;) {
        const Bounds range = bounds(&BuildRows::keys, i);
        if (range.min < INT64_MIN || range.max > INT64_MAX)
            return false;
        t_.keys_[i].min = static_cast<int64_t>(range.min);
        t_.keys_[i].max = static_cast<int64_t>(range.max);
        t_.keys_[i].stride = static_cast<uint64_t>(product);
        product *= static_cast<uint128>(range.max - range.min + 1);
        if (product >> 62)
            return false;
    }
    domain = static_cast<uint64_t>(product);
    return true;
}

void JoinTable::Builder::pack_keys() {
    numbers_.resize(n_);
    each_piece([&](const Piece &piece, unsigned) {
        uint64_t *numbers = numbers_.data() + piece.first;
        std::fill_n(numbers, piece.n, 0);
        std::vector<uint8_t> invalid(piece.n, 0);
        for (size_t i = 0; i < t_.keys_.size(); ++i) {
            const Key &key = t_.keys_[i];
            kernels().pack_key(key.type, piece.n, piece.values(piece.part->keys[i]), nullptr, key.min, key.max,
                               key.stride, numbers, invalid.data());
        }
    });
    for (size_t i = 0; i < t_.keys_.size(); ++i)
        give_back(&BuildRows::keys, i);
}

void JoinTable::Builder::build_by_number(uint64_t domain) {
    pack_keys();
    t_.domain_ = domain;
    const bool small = domain <= max_dense_domain;
    if (keys_only_ && domain <= max_bits && domain <= bits_per_key * n_ + free_places && build_bitmap(domain))
        return;
    if (small && !rows_wanted_ && domain <= places_per_row * n_ + free_places && build_bitmap(domain))
        return;
    if (small && domain <= offsets_per_row * n_ + free_offsets)
        build_dense(domain);
    else
        build_hash();
}

// False: a key comes twice, and its rows are wanted.
bool JoinTable::Builder::build_bitmap(uint64_t domain) {
    work_.fill(t_.bitmap_, domain / 32 + 1, uint32_t(0));
    std::atomic<bool> unique{true};
    each_piece([&](const Piece &piece, unsigned) {
        if (!unique.load(std::memory_order_relaxed) && !keys_only_)
            return;
        bool twice = false;
        for (size_t i = piece.first; i < piece.first + piece.n; ++i) {
            const uint32_t bit = 1u << (numbers_[i] & 31);
            twice |= (__atomic_fetch_or(&t_.bitmap_[numbers_[i] >> 5], bit, __ATOMIC_RELAXED) & bit) != 0;
        }
        if (twice)
            unique = false;
    });
    if (!unique && !keys_only_) {
        t_.bitmap_.release();
        return false;
    }
    t_.form_ = Form::Bitmap;
    t_.entries_ = domain;
    if (keys_only_)
        return true;
    place_.resize(n_);
    each_piece([&](const Piece &piece, unsigned) {
        for (size_t i = piece.first; i < piece.first + piece.n; ++i)
            place_[i] = static_cast<uint32_t>(numbers_[i]);
    });
    return true;
}

// Ends of the keys' ranges of entries, from their counts: end(key, sum of the counts up to and with this key's).
template <class Count, class End> void JoinTable::Builder::give_ranges(size_t keys, Count count, End end) {
    std::vector<uint32_t> sums((keys + piece_rows - 1) / piece_rows);
    std::atomic<bool> unique{true};
    work_.pieces(keys, piece_rows, [&](size_t begin, size_t stop) {
        uint32_t sum = 0, most = 0;
        for (size_t key = begin; key < stop; ++key) {
            sum += count(key);
            most = std::max(most, count(key));
        }
        sums[begin / piece_rows] = sum;
        if (most > 1)
            unique = false;
    });
    t_.unique_ = unique;
    uint32_t before = 0;
    for (uint32_t &sum : sums)
        before += std::exchange(sum, before);
    work_.pieces(keys, piece_rows, [&](size_t begin, size_t stop) {
        uint32_t sum = sums[begin / piece_rows];
        for (size_t key = begin; key < stop; ++key)
            end(key, sum += count(key));
    });
}

void JoinTable::Builder::build_dense(uint64_t domain) {
    t_.form_ = Form::Dense;
    WorkArray<uint32_t> &offsets = t_.offsets_;
    work_.fill(offsets, domain + 1, uint32_t(0));
    each_piece([&](const Piece &piece, unsigned) {
        for (size_t i = piece.first; i < piece.first + piece.n; ++i)
            add(offsets[numbers_[i]], 1u);
    });
    give_ranges(
        domain, [&](size_t key) { return offsets[key]; }, [&](size_t key, uint32_t end) { offsets[key] = end; });
    offsets[domain] = static_cast<uint32_t>(n_);
    place_.resize(n_);
    each_piece([&](const Piece &piece, unsigned) { // each end moves down to the start of its range
        for (size_t i = piece.first; i < piece.first + piece.n; ++i)
            place_[i] = add(offsets[numbers_[i]], ~0u) - 1;
    });
}

// Of several keys the one with the most values that could be, if its rows are few of these. value(key, row): that key of that row.
template <class Value> void JoinTable::Builder::build_semi_join_filter(Value value) {
    const uint64_t most = std::min(max_filter_bits, bits_per_key * n_ + free_places);
    if (t_.keys_.size() < 2 || most < places_per_value * n_)
        return;
    for (size_t i = 0; i < t_.keys_.size(); ++i) {
        const Key &key = t_.keys_[i];
        if (t_.form_ == Form::Wide && key.type == Type::I128)
            continue;
        int64_t min = key.min, max = key.max;
        if (t_.form_ == Form::Wide) { // (whose keys are no longer there)
            std::vector<Bounds> found(work_.pool.workers());
            each_piece([&](const Piece &piece, unsigned worker) {
                Bounds own;
                for (size_t row = piece.first; row < piece.first + piece.n; ++row) {
                    const int64_t v = static_cast<int64_t>(value(key, row));
                    own.add({v, v});
                }
                found[worker].add(own);
            });
            for (const Bounds &part : found)
                found[0].add(part);
            min = static_cast<int64_t>(found[0].min);
            max = static_cast<int64_t>(found[0].max);
        }
        const uint64_t domain = static_cast<uint64_t>(max) - static_cast<uint64_t>(min) + 1;
        if (domain == 0 || domain > most || domain < places_per_value * n_ || domain <= t_.filter_domain_)
            continue;
        t_.filter_key_ = i;
        t_.filter_min_ = min;
        t_.filter_domain_ = domain;
    }
    if (t_.filter_domain_ == 0)
        return;
    const size_t words = t_.filter_domain_ / 32 + 1;
    const size_t room = sizeof(uint32_t) * words * filter_room; // (more is charged after it)
    if (!work_.if_there_is_room(room, [&] { work_.fill(t_.filter_, words, uint32_t(0)); }))
        return;
    const Key &key = t_.keys_[t_.filter_key_];
    each_piece([&](const Piece &piece, unsigned) {
        for (size_t row = piece.first; row < piece.first + piece.n; ++row) {
            const uint64_t at = value(key, row) - static_cast<uint64_t>(t_.filter_min_);
            __atomic_fetch_or(&t_.filter_[at >> 5], 1u << (at & 31), __ATOMIC_RELAXED);
        }
    });
}

// An open-addressing table of load at most 1/2.
void JoinTable::Builder::make_slots(Slot empty) {
    size_t size = 16;
    while (size < 2 * n_)
        size *= 2;
    t_.slot_mask_ = size - 1;
    work_.fill(t_.slots_, size, empty);
    place_.resize(n_);
}

void JoinTable::Builder::build_hash() {
    t_.form_ = Form::Hash;
    make_slots({no_number, 0, 0});
    std::atomic<bool> unique{true};
    const uint64_t mask = t_.slot_mask_;
    each_piece([&](const Piece &piece, unsigned) {
        bool twice = false;
        uint64_t ring[prefetch_ahead];
        size_t hashed = piece.first, last = piece.first + piece.n;
        for (size_t i = piece.first; i < last; ++i) {
            for (; hashed < last && hashed < i + prefetch_ahead; ++hashed) {
                ring[hashed % prefetch_ahead] = sem::hash64(numbers_[hashed]) & mask;
                __builtin_prefetch(&t_.slots_[ring[hashed % prefetch_ahead]], 1);
            }
            const uint64_t number = numbers_[i];
            uint64_t at = ring[i % prefetch_ahead];
            for (;; at = (at + 1) & mask) {
                uint64_t found = load(t_.slots_[at].key);
                if (found == number ||
                    (found == no_number && (swap(t_.slots_[at].key, found, number) || found == number)))
                    break;
            }
            if (add(t_.slots_[at].count, 1u) == 0)
                t_.slots_[at].first = static_cast<uint32_t>(i);
            else
                twice = true;
            place_[i] = static_cast<uint32_t>(at);
        }
        if (twice)
            unique = false;
    });
    t_.unique_ = unique;
    order_slots();
}

// Gives each slot its range of entries, and each row its place in it.
void JoinTable::Builder::order_slots() {
    if (t_.unique_) {
        place_.release();
        return;
    }
    WorkArray<Slot> &slots = t_.slots_;
    give_ranges(
        slots.size(), [&](size_t at) { return slots[at].count; },
        [&](size_t at, uint32_t end) { slots[at].first = end; });
    each_piece([&](const Piece &piece, unsigned) {
        for (size_t i = piece.first; i < piece.first + piece.n; ++i)
            place_[i] = add(slots[place_[i]].first, ~0u) - 1;
    });
}

void JoinTable::Builder::build_wide() {
    t_.form_ = Form::Wide;
    size_t &words = t_.words_;
    for (Key &key : t_.keys_) {
        key.word = words;
        words += words_of(key.type);
    }
    numbers_.resize(words * n_);
    each_piece([&](const Piece &piece, unsigned) {
        for (size_t i = 0; i < t_.keys_.size(); ++i) {
            uint64_t *low = numbers_.data() + t_.keys_[i].word * n_ + piece.first;
            key_words(t_.keys_[i].type, piece.n, piece.values(piece.part->keys[i]), low, low + n_);
        }
    });
    for (size_t i = 0; i < t_.keys_.size(); ++i)
        give_back(&BuildRows::keys, i);

    make_slots({0, no_row, 0}); // until order_slots, `first` is the row that took the slot
    auto same_words = [&](size_t row, size_t other) {
        bool same = true;
        for (size_t w = 0; same && w < words; ++w)
            same = numbers_[w * n_ + row] == numbers_[w * n_ + other];
        return same;
    };
    std::atomic<bool> unique{true};
    const uint64_t mask = t_.slot_mask_;
    each_piece([&](const Piece &piece, unsigned) {
        bool twice = false;
        for (size_t i = piece.first; i < piece.first + piece.n; ++i) {
            uint64_t hash = 0;
            for (size_t w = 0; w < words; ++w)
                hash = sem::hash_combine(hash, numbers_[w * n_ + i]);
            uint64_t at = hash & mask;
            for (;; at = (at + 1) & mask) {
                uint32_t row = load(t_.slots_[at].first);
                if (row == no_row && swap(t_.slots_[at].first, row, static_cast<uint32_t>(i))) {
                    t_.slots_[at].key = hash;
                    break;
                }
                if (same_words(i, row))
                    break;
            }
            twice |= add(t_.slots_[at].count, 1u) != 0;
            place_[i] = static_cast<uint32_t>(at);
        }
        if (twice)
            unique = false;
    });
    t_.unique_ = unique;
    order_slots();
    t_.entry_words_.resize(words * n_);
    each_piece([&](const Piece &piece, unsigned) {
        for (size_t i = piece.first; i < piece.first + piece.n; ++i) {
            const size_t entry = place_.empty() ? i : place_[i];
            for (size_t w = 0; w < words; ++w)
                t_.entry_words_[entry * words + w] = numbers_[w * n_ + i];
        }
    });
}

void JoinTable::Builder::store_payload() {
    for (size_t c = 0; c < parts_.at(0).payload.size(); ++c) {
        store_column(c);
        give_back(&BuildRows::payload, c);
    }
}

void JoinTable::Builder::store_column(size_t c) {
    PayloadColumn to;
    to.type = parts_[0].payload[c].type;
    to.stored = type_width(to.type);
    to.values = WorkArray<uint8_t>(work_.memory);
    to.nulls = WorkArray<uint8_t>(work_.memory);
    if (!is_float(to.type)) {
        Bounds range = bounds(&BuildRows::payload, c);
        if (range.min > range.max)
            range = {0, -1};
        to.has_range = range.min >= INT64_MIN && range.max <= INT64_MAX;
        if (to.has_range) {
            to.min = static_cast<int64_t>(range.min);
            to.max = static_cast<int64_t>(range.max);
            to.low = to.min;
            const int128 span = range.max - range.min;
            const size_t narrow = span <= UINT8_MAX ? 1 : span <= UINT16_MAX ? 2 : span <= UINT32_MAX ? 4 : 8;
            to.stored = std::min(to.stored, narrow);
        }
    }
    std::atomic<bool> any_null{false};
    each_piece([&](const Piece &piece, unsigned) {
        const uint8_t *nulls = piece.nulls(piece.part->payload[c]);
        if (nulls != nullptr && memchr(nulls, 1, piece.n) != nullptr)
            any_null = true;
    });
    // Entries that no row has exist in a bitmap's table only.
    if (t_.entries_ != n_)
        work_.fill(to.values, t_.entries_ * to.stored, uint8_t(0));
    else
        to.values.resize(t_.entries_ * to.stored);
    if (any_null)
        work_.fill(to.nulls, t_.entries_, uint8_t(0));
    each_piece([&](const Piece &piece, unsigned) {
        const BuildRows::Column &from = piece.part->payload[c];
        const uint8_t *nulls = piece.nulls(from);
        const uint32_t *place = place_.empty() ? nullptr : place_.data() + piece.first;
        const size_t start = place == nullptr ? piece.first : 0;
        store_values(type_width(to.type), to.stored, piece.values(from), piece.n, to.low, place,
                     to.values.data() + start * to.stored);
        if (nulls == nullptr || !any_null)
            return;
        for (size_t i = 0; i < piece.n; ++i)
            to.nulls[place == nullptr ? start + i : place[i]] = nulls[i];
    });
    t_.payload_.push_back(std::move(to));
}

} // namespace gpuscan::host
