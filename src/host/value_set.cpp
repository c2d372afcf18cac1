// Which values has each group had, where they lie too far apart for bits? See value_set.hpp.
#include "host/value_set.hpp"

#include "device/semantics.cuh"

namespace gpuscan::host {
namespace {

constexpr size_t slots = 4096; // 96 kB
constexpr size_t max_used = slots / 2;
constexpr size_t first_size = 4096; // pairs of a part
constexpr unsigned part_shift = 24; // of 32 bits of hash, for 256 parts
static_assert(ValueSet::parts == size_t(1) << (32 - part_shift), "parts by the upper bits of the hash");

bool is_same(const ValuePair &a, const ValuePair &b) {
    return a.hash == b.hash && a.low == b.low && a.high == b.high && a.group == b.group;
}

} // namespace

ValueSet::ValueSet(const WorkContext &work, uint64_t secret)
    : work_(work), secret_(secret), cancel_(work.cancel), slots_(work.memory), scratch_(work.memory) {
    slots_.resize(slots, ValuePair());
    for (size_t i = 0; i < parts; ++i) {
        parts_.emplace_back(work.memory);
        parts_.back().most = first_size;
    }
}

void ValueSet::add(uint32_t group, uint64_t low, uint64_t high) {
    const uint64_t hash = sem::hash_combine(sem::hash_combine(secret_ + group, low), high);
    const ValuePair pair = {low, high, group + 1, static_cast<uint32_t>(hash >> 32)};
    size_t at = pair.hash & (slots - 1);
    for (; slots_[at].group != 0; at = (at + 1) & (slots - 1))
        if (is_same(slots_[at], pair))
            return;
    slots_[at] = pair;
    if (++used_ == max_used)
        flush();
}

void ValueSet::flush() {
    work_.check_cancel();
    used_ = 0;
    for (ValuePair &pair : slots_) {
        if (pair.group == 0)
            continue;
        Part &part = parts_[pair.hash >> part_shift];
        if (part.pairs.size() >= part.most) {
            remove_repetitions(part.pairs, scratch_, cancel_);
            if (part.pairs.size() * 2 > part.most)
                part.most *= 2;
        }
        part.pairs.push_back(pair);
        pair.group = 0;
    }
}

void ValueSet::end() {
    flush();
    slots_.release();
    scratch_.release();
}

void remove_repetitions(WorkArray<ValuePair> &pairs, WorkArray<uint32_t> &places, CancelPoint &cancel) {
    size_t size = 64;
    while (size < pairs.size() * 2)
        size *= 2;
    places.resize(0);
    places.resize(size, 0); // of a pair + 1
    size_t kept = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
        const ValuePair pair = pairs[i];
        // (All pairs of a part have the same upper bits.)
        size_t at = pair.hash & (size - 1);
        while (places[at] != 0 && !is_same(pairs[places[at] - 1], pair))
            at = (at + 1) & (size - 1);
        if (places[at] != 0)
            continue;
        pairs[kept++] = pair;
        places[at] = static_cast<uint32_t>(kept);
        cancel.worked(sizeof pair);
    }
    pairs.resize(kept);
}

} // namespace gpuscan::host
