// The table of one join (see join_table.hpp).
#include "engine/host/join_table.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cuda/semantics.cuh"
#include "engine/device.hpp"

namespace gpuscan::host {

namespace {

// A domain of key numbers is small enough for an array of offsets: 256 MB, and not too thin.
constexpr uint64_t max_dense_domain = 64u << 20;
constexpr uint64_t offsets_per_row = 16, free_offsets = 65536;
// A bitmap with payload by key number may be thinner: a probe that misses reads one bit (a domain of a million is
// 128 kB, in the second-level cache), and only hits read payload. SSB Q2.1, SF 1: 7,891 parts of 200,000 as a hash table
// 253 ms, as a bitmap 60 ms (two busy cores).
constexpr uint64_t places_per_row = 8, free_places = 1u << 20;
constexpr uint32_t no_slot = 0xffffffffu;

template <class T> void range_of(const uint8_t *values, const uint8_t *nulls, size_t n, int128 &min, int128 &max) {
    const T *x = reinterpret_cast<const T *>(values);
    for (size_t i = 0; i < n; ++i) {
        if (nulls != nullptr && nulls[i])
            continue;
        min = x[i] < min ? static_cast<int128>(x[i]) : min;
        max = x[i] > max ? static_cast<int128>(x[i]) : max;
    }
}

void range_of_type(Type type, const uint8_t *values, const uint8_t *nulls, size_t n, int128 &min, int128 &max) {
    switch (type) {
    case Type::Bool:
        return range_of<uint8_t>(values, nulls, n, min, max);
    case Type::I16:
        return range_of<int16_t>(values, nulls, n, min, max);
    case Type::I32:
        return range_of<int32_t>(values, nulls, n, min, max);
    case Type::I64:
        return range_of<int64_t>(values, nulls, n, min, max);
    case Type::I128:
        return range_of<int128>(values, nulls, n, min, max);
    case Type::Code:
        return range_of<uint32_t>(values, nulls, n, min, max);
    default:
        return;
    }
}

// Narrows one column into its place: out[place[i]] = value - low.
template <class T, class S>
void store(const uint8_t *values, size_t n, int64_t low, const uint32_t *place, uint8_t *out) {
    const T *x = reinterpret_cast<const T *>(values);
    S *to = reinterpret_cast<S *>(out);
    const T minus = static_cast<T>(static_cast<int128>(low));
    for (size_t i = 0; i < n; ++i)
        to[place[i]] = static_cast<S>(static_cast<T>(x[i] - minus));
}

template <class T>
void store_as(size_t stored, const uint8_t *values, size_t n, int64_t low, const uint32_t *place, uint8_t *out) {
    switch (stored) {
    case 1:
        return store<T, uint8_t>(values, n, low, place, out);
    case 2:
        return store<T, uint16_t>(values, n, low, place, out);
    case 4:
        return store<T, uint32_t>(values, n, low, place, out);
    case 8:
        return store<T, uint64_t>(values, n, low, place, out);
    default:
        return store<T, uint128>(values, n, low, place, out);
    }
}

} // namespace

void key_words(Type type, size_t n, const void *values, uint64_t *low, uint64_t *high) {
    switch (type) {
    case Type::Bool:
        std::copy_n(static_cast<const uint8_t *>(values), n, low);
        return;
    case Type::I16:
        for (size_t i = 0; i < n; ++i)
            low[i] = static_cast<uint64_t>(static_cast<const int16_t *>(values)[i]);
        return;
    case Type::I32:
        for (size_t i = 0; i < n; ++i)
            low[i] = static_cast<uint64_t>(static_cast<const int32_t *>(values)[i]);
        return;
    case Type::I64:
        std::copy_n(static_cast<const uint64_t *>(values), n, low);
        return;
    case Type::I128:
        for (size_t i = 0; i < n; ++i) {
            int128 v = static_cast<const int128 *>(values)[i];
            low[i] = static_cast<uint64_t>(v);
            high[i] = static_cast<uint64_t>(static_cast<uint128>(v) >> 64);
        }
        return;
    case Type::F32:
        for (size_t i = 0; i < n; ++i) {
            float v = sem::canonical(static_cast<const float *>(values)[i]);
            uint32_t bits;
            memcpy(&bits, &v, sizeof(bits));
            low[i] = bits;
        }
        return;
    case Type::F64:
        for (size_t i = 0; i < n; ++i) {
            double v = sem::canonical(static_cast<const double *>(values)[i]);
            memcpy(&low[i], &v, sizeof(v));
        }
        return;
    case Type::Code:
        std::copy_n(static_cast<const uint32_t *>(values), n, low);
        return;
    }
}

void BuildRows::append(Column &column, Vec vec, uint32_t count) {
    size_t width = type_width(column.type);
    const uint8_t *from = static_cast<const uint8_t *>(vec.values);
    column.values.insert(column.values.end(), from, from + count * width);
    if (vec.nulls == nullptr && column.nulls.empty())
        return;
    column.nulls.resize(column.values.size() / width - count, 0);
    if (vec.nulls == nullptr)
        column.nulls.resize(column.nulls.size() + count, 0);
    else
        column.nulls.insert(column.nulls.end(), vec.nulls, vec.nulls + count);
}

// All collected rows in one piece per column.
struct JoinTable::Rows {
    size_t n = 0;
    std::vector<BuildRows::Column> keys, payload;

    explicit Rows(std::vector<BuildRows> &parts) {
        for (const BuildRows &part : parts)
            n += part.n;
        join(parts, &BuildRows::keys, keys);
        join(parts, &BuildRows::payload, payload);
    }

  private:
    static void join(std::vector<BuildRows> &parts, std::vector<BuildRows::Column> BuildRows::*columns,
                     std::vector<BuildRows::Column> &out) {
        if (parts.empty())
            return;
        size_t count = (parts[0].*columns).size();
        for (size_t c = 0; c < count; ++c) {
            BuildRows::Column all{(parts[0].*columns)[c].type, {}, {}};
            if (parts.size() == 1) {
                all = std::move((parts[0].*columns)[c]);
            } else {
                size_t rows = 0;
                for (BuildRows &part : parts) {
                    BuildRows::Column &from = (part.*columns)[c];
                    all.values.insert(all.values.end(), from.values.begin(), from.values.end());
                    if (!from.nulls.empty()) {
                        all.nulls.resize(rows, 0);
                        all.nulls.insert(all.nulls.end(), from.nulls.begin(), from.nulls.end());
                    }
                    rows += part.n;
                    if (!all.nulls.empty())
                        all.nulls.resize(rows, 0);
                    std::vector<uint8_t>().swap(from.values);
                }
            }
            out.push_back(std::move(all));
        }
    }
};

void JoinTable::build(std::vector<BuildRows> &parts, const std::atomic<uint32_t> *cancel) {
    Rows rows(parts);
    *this = JoinTable();
    rows_ = rows.n;
    if (rows.n >= (size_t(1) << 31) - 2)
        throw OutOfDeviceMemory("more than 2^31 rows on the build side of a join");
    for (const BuildRows::Column &key : rows.keys)
        keys_.push_back({key.type});
    auto check = [&] {
        if (cancel != nullptr && cancel->load(std::memory_order_relaxed) != 0)
            throw Cancelled();
    };
    std::vector<uint32_t> place; // of each row among the entries
    if (rows.n > 0) {
        uint64_t domain;
        if (combine_keys(rows, domain)) {
            std::vector<uint64_t> numbers(rows.n, 0);
            pack(rows, numbers);
            check();
            build_by_number(numbers, domain, place);
        } else {
            build_wide(rows, place);
        }
        check();
    }
    entries_ = form_ == Form::Bitmap ? domain_ : rows.n;
    store_payload(rows, place, entries_);
}

// Ranges and strides of the keys; false when the combinations cannot be numbered in 62 bits.
bool JoinTable::combine_keys(const Rows &rows, uint64_t &domain) {
    uint128 product = 1;
    for (size_t i = keys_.size(); i-- > 0;) {
        int128 min = sem::Limits<int128>::max, max = sem::Limits<int128>::min;
        range_of_type(keys_[i].type, rows.keys[i].values.data(), nullptr, rows.n, min, max);
        if (min < INT64_MIN || max > INT64_MAX)
            return false;
        keys_[i].min = static_cast<int64_t>(min);
        keys_[i].max = static_cast<int64_t>(max);
        keys_[i].stride = static_cast<uint64_t>(product);
        product *= static_cast<uint128>(max - min + 1);
        if (product >> 62)
            return false;
    }
    domain = static_cast<uint64_t>(product);
    return true;
}

void JoinTable::pack(const Rows &rows, std::vector<uint64_t> &numbers) const {
    std::vector<uint8_t> invalid(rows.n, 0);
    for (size_t i = 0; i < keys_.size(); ++i)
        kernels().pack_key(keys_[i].type, rows.n, rows.keys[i].values.data(), nullptr, keys_[i].min, keys_[i].max,
                           keys_[i].stride, numbers.data(), invalid.data());
}

void JoinTable::build_by_number(const std::vector<uint64_t> &numbers, uint64_t domain, std::vector<uint32_t> &place) {
    size_t n = numbers.size();
    domain_ = domain;
    const bool thin = domain > offsets_per_row * n + free_offsets;
    const bool bitmap_fits = domain <= places_per_row * n + free_places;
    if (domain <= max_dense_domain && (!thin || bitmap_fits)) {
        bitmap_.assign(domain / 32 + 1, 0);
        for (uint64_t number : numbers) {
            uint32_t bit = 1u << (number & 31);
            unique_ &= !(bitmap_[number >> 5] & bit);
            bitmap_[number >> 5] |= bit;
        }
        if (unique_ && bitmap_fits) {
            form_ = Form::Bitmap;
            place.assign(numbers.begin(), numbers.end());
            return;
        }
        bitmap_.clear();
    }
    if (domain <= max_dense_domain && !thin) {
        form_ = Form::Dense;
        offsets_.assign(domain + 1, 0);
        for (uint64_t number : numbers)
            ++offsets_[number + 1];
        for (size_t i = 1; i <= domain; ++i)
            offsets_[i] += offsets_[i - 1];
        std::vector<uint32_t> next(offsets_.begin(), offsets_.end() - 1);
        place.resize(n);
        for (size_t i = 0; i < n; ++i)
            place[i] = next[numbers[i]]++;
        return;
    }
    form_ = Form::Hash;
    size_t size = 16;
    while (size < 2 * n)
        size *= 2;
    slot_mask_ = size - 1;
    slots_.assign(size, Slot{0, 0, 0});
    std::vector<uint32_t> slot_of(n);
    for (size_t i = 0; i < n; ++i) {
        uint64_t at = sem::hash64(numbers[i]) & slot_mask_;
        while (slots_[at].count != 0 && slots_[at].key != numbers[i])
            at = (at + 1) & slot_mask_;
        slots_[at].key = numbers[i];
        ++slots_[at].count;
        slot_of[i] = static_cast<uint32_t>(at);
    }
    order_slots(slot_of, place);
}

// Gives each slot its range of entries, in the order in which slots first appear, and each row its place in it.
void JoinTable::order_slots(const std::vector<uint32_t> &slot_of, std::vector<uint32_t> &place) {
    size_t n = slot_of.size();
    for (Slot &slot : slots_)
        slot.first = no_slot;
    place.resize(n);
    std::vector<uint32_t> next(slots_.size());
    uint32_t end = 0;
    for (size_t i = 0; i < n; ++i) {
        Slot &slot = slots_[slot_of[i]];
        if (slot.first == no_slot) {
            slot.first = next[slot_of[i]] = end;
            end += slot.count;
            unique_ &= slot.count == 1;
        }
        place[i] = next[slot_of[i]]++;
    }
}

void JoinTable::build_wide(const Rows &rows, std::vector<uint32_t> &place) {
    form_ = Form::Wide;
    size_t n = rows.n;
    words_ = 0;
    for (Key &key : keys_) {
        key.word = words_;
        words_ += words_of(key.type);
    }
    std::vector<uint64_t> words(words_ * n);
    for (size_t i = 0; i < keys_.size(); ++i)
        key_words(keys_[i].type, n, rows.keys[i].values.data(), &words[keys_[i].word * n],
                  words.data() + std::min((keys_[i].word + 1) * n, words.size() - 1));
    size_t size = 16;
    while (size < 2 * n)
        size *= 2;
    slot_mask_ = size - 1;
    slots_.assign(size, Slot{0, 0, 0});
    std::vector<uint32_t> slot_of(n), first_row(size, 0);
    for (size_t i = 0; i < n; ++i) {
        uint64_t hash = 0;
        for (size_t w = 0; w < words_; ++w)
            hash = sem::hash_combine(hash, words[w * n + i]);
        uint64_t at = hash & slot_mask_;
        for (;; at = (at + 1) & slot_mask_) {
            Slot &slot = slots_[at];
            if (slot.count == 0)
                break;
            bool same = slot.key == hash;
            for (size_t w = 0; same && w < words_; ++w)
                same = words[w * n + i] == words[w * n + first_row[at]];
            if (same)
                break;
        }
        if (slots_[at].count++ == 0) {
            slots_[at].key = hash;
            first_row[at] = static_cast<uint32_t>(i);
        }
        slot_of[i] = static_cast<uint32_t>(at);
    }
    order_slots(slot_of, place);
    entry_words_.resize(words_ * n);
    for (size_t i = 0; i < n; ++i)
        for (size_t w = 0; w < words_; ++w)
            entry_words_[place[i] * words_ + w] = words[w * n + i];
}

void JoinTable::store_payload(Rows &rows, const std::vector<uint32_t> &place, size_t entries) {
    for (BuildRows::Column &from : rows.payload) {
        PayloadColumn to;
        to.type = from.type;
        to.stored = type_width(from.type);
        if (!is_float(from.type)) {
            int128 min = sem::Limits<int128>::max, max = sem::Limits<int128>::min;
            range_of_type(from.type, from.values.data(), from.nulls.empty() ? nullptr : from.nulls.data(), rows.n, min,
                          max);
            if (min > max)
                min = 0, max = -1;
            to.has_range = min >= INT64_MIN && max <= INT64_MAX;
            if (to.has_range) {
                to.min = static_cast<int64_t>(min);
                to.max = static_cast<int64_t>(max);
                to.low = to.min;
                int128 span = max - min;
                size_t narrow = span <= UINT8_MAX ? 1 : span <= UINT16_MAX ? 2 : span <= UINT32_MAX ? 4 : 8;
                to.stored = std::min(to.stored, narrow);
            }
        }
        to.values.assign(entries * to.stored, 0);
        switch (type_width(from.type)) {
        case 1:
            store_as<uint8_t>(to.stored, from.values.data(), rows.n, to.low, place.data(), to.values.data());
            break;
        case 2:
            store_as<uint16_t>(to.stored, from.values.data(), rows.n, to.low, place.data(), to.values.data());
            break;
        case 4:
            store_as<uint32_t>(to.stored, from.values.data(), rows.n, to.low, place.data(), to.values.data());
            break;
        case 8:
            store_as<uint64_t>(to.stored, from.values.data(), rows.n, to.low, place.data(), to.values.data());
            break;
        default:
            store_as<uint128>(to.stored, from.values.data(), rows.n, to.low, place.data(), to.values.data());
        }
        if (std::find(from.nulls.begin(), from.nulls.end(), 1) != from.nulls.end()) {
            to.nulls.assign(entries, 0);
            for (size_t i = 0; i < rows.n; ++i)
                to.nulls[place[i]] = from.nulls[i];
        }
        std::vector<uint8_t>().swap(from.values);
        payload_.push_back(std::move(to));
    }
}

bool JoinTable::equal_words(const uint64_t *words, size_t stride, uint32_t row, uint32_t entry) const {
    for (size_t w = 0; w < words_; ++w)
        if (words[w * stride + row] != entry_words_[entry * words_ + w])
            return false;
    return true;
}

uint32_t JoinTable::probe(const Vec *keys, uint32_t n, ProbeScratch &scratch, uint32_t *positions, uint32_t *entries,
                          uint32_t *counts) const {
    if (form_ == Form::Empty)
        return 0;
    if (form_ == Form::Bitmap && keys_.size() == 1)
        return kernels().probe_bitmap(keys_[0].type, n, keys[0].values, keys[0].nulls, keys_[0].min, domain_,
                                      bitmap_.data(), positions, entries);
    uint8_t *invalid = scratch.invalid.data();
    memset(invalid, 0, n);
    uint32_t k = 0;
    if (form_ == Form::Wide) {
        scratch.words.resize((words_ + 1) * batch_rows);
        uint64_t *words = scratch.words.data();
        for (size_t i = 0; i < keys_.size(); ++i) {
            uint64_t *low = words + keys_[i].word * batch_rows;
            key_words(keys_[i].type, n, keys[i].values, low, low + batch_rows);
            if (keys[i].nulls != nullptr)
                kernels().either(n, invalid, keys[i].nulls, invalid);
        }
        for (uint32_t i = 0; i < n; ++i) {
            if (invalid[i])
                continue;
            uint64_t hash = 0;
            for (size_t w = 0; w < words_; ++w)
                hash = sem::hash_combine(hash, words[w * batch_rows + i]);
            for (uint64_t at = hash & slot_mask_; slots_[at].count != 0; at = (at + 1) & slot_mask_) {
                const Slot &slot = slots_[at];
                if (slot.key != hash || !equal_words(words, batch_rows, i, slot.first))
                    continue;
                positions[k] = i;
                entries[k] = slot.first;
                counts[k++] = slot.count;
                break;
            }
        }
        return k;
    }
    uint64_t *packed = scratch.packed.data();
    memset(packed, 0, n * sizeof(uint64_t));
    for (size_t i = 0; i < keys_.size(); ++i)
        kernels().pack_key(keys_[i].type, n, keys[i].values, keys[i].nulls, keys_[i].min, keys_[i].max, keys_[i].stride,
                           packed, invalid);
    if (form_ == Form::Bitmap)
        return kernels().probe_bitmap(Type::I64, n, packed, invalid, 0, domain_, bitmap_.data(), positions, entries);
    if (form_ == Form::Dense) {
        for (uint32_t i = 0; i < n; ++i) {
            uint64_t at = invalid[i] ? 0 : packed[i];
            uint32_t first = offsets_[at], count = offsets_[at + 1] - first;
            positions[k] = i;
            entries[k] = first;
            counts[k] = count;
            k += (count != 0) & !invalid[i];
        }
        return k;
    }
    constexpr uint32_t ahead = 16;
    uint32_t hashed = 0;
    uint64_t ring[ahead];
    for (uint32_t i = 0; i < n; ++i) {
        for (; hashed < n && hashed < i + ahead; ++hashed) {
            ring[hashed % ahead] = sem::hash64(packed[hashed]) & slot_mask_;
            __builtin_prefetch(&slots_[ring[hashed % ahead]]);
        }
        if (invalid[i])
            continue;
        for (uint64_t at = ring[i % ahead]; slots_[at].count != 0; at = (at + 1) & slot_mask_) {
            if (slots_[at].key != packed[i])
                continue;
            positions[k] = i;
            entries[k] = slots_[at].first;
            counts[k++] = slots_[at].count;
            break;
        }
    }
    return k;
}

std::string JoinTable::describe() const {
    size_t bytes = bitmap_.size() * 4 + offsets_.size() * 4 + slots_.size() * sizeof(Slot) + entry_words_.size() * 8;
    for (const PayloadColumn &column : payload_)
        bytes += column.values.size() + column.nulls.size();
    const char *form = form_ == Form::Bitmap || form_ == Form::Dense ? "dense"
                       : form_ == Form::Empty                        ? "empty"
                                                                     : "hash";
    char text[80];
    snprintf(text, sizeof(text), "%s %zu entries, %zu kB", form, rows_, (bytes + 1023) / 1024);
    return text;
}

} // namespace gpuscan::host
