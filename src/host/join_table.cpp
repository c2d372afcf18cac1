// The table of one join, as it is asked (see join_table.hpp; join_build.cpp makes it).
#include "host/join_table.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "device/semantics.cuh"
#include "engine/device.hpp"

namespace gpuscan::host {

// Rows are asked for one by one where the semi-join filter leaves no more than so many of them; else putting the keys of all together is cheaper.
constexpr uint32_t filtered_fraction = 8;

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
    const size_t width = type_width(column.type);
    const size_t before = column.values.size() / width;
    column.values.append(static_cast<const uint8_t *>(vec.values), count * width);
    if (vec.nulls == nullptr && column.nulls.empty())
        return;
    if (column.nulls.empty())
        column.nulls.resize(before, 0);
    if (vec.nulls == nullptr)
        column.nulls.resize(before + count, 0);
    else
        column.nulls.append(vec.nulls, count);
}

bool JoinTable::equal_words(const uint64_t *words, size_t stride, uint32_t row, uint32_t entry) const {
    for (size_t w = 0; w < words_; ++w)
        if (words[w * stride + row] != entry_words_[entry * words_ + w])
            return false;
    return true;
}

const JoinTable::Slot *JoinTable::find(uint64_t number, uint64_t at) const {
    for (; slots_[at].count != 0; at = (at + 1) & slot_mask_)
        if (slots_[at].key == number)
            return &slots_[at];
    return nullptr;
}

template <class Equal> const JoinTable::Slot *JoinTable::find_words(uint64_t hash, Equal equal) const {
    for (uint64_t at = hash & slot_mask_; slots_[at].count != 0; at = (at + 1) & slot_mask_)
        if (slots_[at].key == hash && equal(slots_[at].first))
            return &slots_[at];
    return nullptr;
}

// Of one row, whose keys are put together by themselves.
const JoinTable::Slot *JoinTable::find_row(const Vec *keys, uint32_t row) const {
    uint64_t words[2 * ir::max_join_keys], number = 0, hash = 0;
    size_t w = 0;
    for (size_t i = 0; i < keys_.size(); ++i) {
        const Key &key = keys_[i];
        if (keys[i].nulls != nullptr && keys[i].nulls[row])
            return nullptr;
        const uint8_t *value = static_cast<const uint8_t *>(keys[i].values) + row * type_width(key.type);
        uint64_t *low = &words[w];
        key_words(key.type, 1, value, low, low + 1);
        w += words_of(key.type);
        if (form_ == Form::Wide)
            continue;
        const auto narrow = static_cast<int64_t>(*low);
        if (narrow < key.min || narrow > key.max ||
            (key.type == Type::I128 && static_cast<int64_t>(low[1]) != (narrow < 0 ? -1 : 0)))
            return nullptr;
        number += (*low - static_cast<uint64_t>(key.min)) * key.stride;
    }
    if (form_ == Form::Hash)
        return find(number, sem::hash64(number) & slot_mask_);
    for (size_t i = 0; i < w; ++i)
        hash = sem::hash_combine(hash, words[i]);
    return find_words(hash, [&](uint32_t entry) { return equal_words(words, 1, 0, entry); });
}

// `positions` are those that the semi-join filter has left.
uint32_t JoinTable::probe_filtered(const Vec *keys, uint32_t n, uint32_t *positions, uint32_t *entries,
                                   uint32_t *counts) const {
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; ++i)
        if (const Slot *slot = find_row(keys, positions[i])) {
            positions[k] = positions[i];
            entries[k] = slot->first;
            counts[k++] = slot->count;
        }
    return k;
}

uint32_t JoinTable::probe(const Vec *keys, uint32_t n, ProbeScratch &scratch, uint32_t *positions, uint32_t *entries,
                          uint32_t *counts) const {
    if (form_ == Form::Empty)
        return 0;
    if (form_ == Form::Bitmap && keys_.size() == 1)
        return kernels().probe_bitmap(keys_[0].type, n, keys[0].values, keys[0].nulls, keys_[0].min, domain_,
                                      bitmap_.data(), positions, entries);
    if (!filter_.empty()) {
        const uint32_t left =
            kernels().probe_bitmap(keys_[filter_key_].type, n, keys[filter_key_].values, keys[filter_key_].nulls,
                                   filter_min_, filter_domain_, filter_.data(), positions, entries);
        if (left <= n / filtered_fraction)
            return probe_filtered(keys, left, positions, entries, counts);
    }
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
            const Slot *slot =
                find_words(hash, [&](uint32_t entry) { return equal_words(words, batch_rows, i, entry); });
            if (slot == nullptr)
                continue;
            positions[k] = i;
            entries[k] = slot->first;
            counts[k++] = slot->count;
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
        const Slot *slot = find(packed[i], ring[i % ahead]);
        if (slot == nullptr)
            continue;
        positions[k] = i;
        entries[k] = slot->first;
        counts[k++] = slot->count;
    }
    return k;
}

size_t JoinTable::bytes() const {
    size_t bytes = bitmap_.bytes() + offsets_.bytes() + slots_.bytes() + entry_words_.bytes() + filter_.bytes() +
                   low_.bytes() + reach_.bytes();
    for (const PayloadColumn &column : payload_)
        bytes += column.values.bytes() + column.nulls.bytes();
    return bytes;
}

ColumnStats JoinTable::key_bounds(ir::Index key) const {
    ColumnStats bounds;
    bounds.any_value = rows_ > 0;
    bounds.any_wide = form_ == Form::Wide; // by hash alone
    bounds.min = keys_.at(key).min;
    bounds.max = keys_.at(key).max;
    return bounds;
}

std::string JoinTable::describe() const {
    size_t bytes = bitmap_.size() * 4 + offsets_.size() * 4 + slots_.size() * sizeof(Slot) + entry_words_.size() * 8 +
                   filter_.size() * 4 + (low_.size() + reach_.size()) * 8;
    for (const PayloadColumn &column : payload_)
        bytes += column.values.size() + column.nulls.size();
    const char *form = form_ == Form::Bitmap || form_ == Form::Dense ? "dense"
                       : form_ == Form::Empty                        ? "empty"
                                                                     : "hash";
    char text[80];
    snprintf(text, sizeof(text), "%s %zu entries, %zu kB%s%s", form, rows_, (bytes + 1023) / 1024,
             filter_.empty() ? "" : ", semi-join filter", has_intervals() ? ", by interval" : "");
    return text;
}

} // namespace gpuscan::host
