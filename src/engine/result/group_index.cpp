// Which group has these keys? See group_index.hpp.
#include "engine/result/group_index.hpp"

#include <cstring>

#include "device/semantics.cuh"

namespace gpuscan {
namespace {

using namespace ir;

constexpr uint64_t hash_half = 0xffffffff00000000u;
constexpr size_t groups_between_checks = 16384; // for cancel; a group may cost a few cache misses

} // namespace

GroupIndex::GroupIndex(size_t nkeys, size_t nstates, const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel)
    : nkeys_(nkeys), nstates_(nstates), memory_(memory), cancel_(cancel), groups_(memory), slots_(memory) {}

void GroupIndex::check_cancel(size_t done) const {
    if (done % groups_between_checks == 0 && cancel_ != nullptr && cancel_->load(std::memory_order_relaxed) != 0)
        throw Cancelled();
}

void GroupIndex::take(GroupTable &&table) {
    table.keys.charge_to(memory_);
    table.key_nulls.charge_to(memory_);
    table.states.charge_to(memory_);
    groups_ = std::move(table);
    slots_.release();
}

GroupTable GroupIndex::finish() {
    GroupTable out = std::move(groups_);
    groups_ = GroupTable(memory_);
    slots_.release();
    return out;
}

size_t GroupIndex::find(const Value *keys, const uint8_t *nulls) {
    if (nkeys_ == 0) {
        if (groups_.ngroups == 0) {
            groups_.ngroups = 1;
            groups_.states.resize(nstates_, AggregateState());
        }
        return 0;
    }
    if ((groups_.ngroups + 1) * 2 > slots_.size())
        grow();
    uint64_t h = hash(keys, nulls);
    size_t mask = slots_.size() - 1;
    size_t at = h & mask;
    for (; slots_[at] != 0; at = (at + 1) & mask) {
        if ((slots_[at] ^ h) & hash_half)
            continue;
        size_t g = static_cast<uint32_t>(slots_[at]) - 1;
        bool same = memcmp(&groups_.key_nulls[g * nkeys_], nulls, nkeys_) == 0;
        for (size_t k = 0; same && k < nkeys_; ++k) {
            const Value &v = groups_.keys[g * nkeys_ + k];
            same = nulls[k] || (v.low == keys[k].low && v.high == keys[k].high);
        }
        if (same)
            return g;
    }
    if (groups_.ngroups >= UINT32_MAX - 1)
        throw OutOfDeviceMemory("more than 2^32 groups");
    size_t g = groups_.ngroups++;
    slots_[at] = (h & hash_half) | (g + 1);
    groups_.keys.append(keys, nkeys_);
    groups_.key_nulls.append(nulls, nkeys_);
    groups_.states.resize(groups_.states.size() + nstates_, AggregateState());
    return g;
}

void GroupIndex::grow() {
    size_t size = slots_.empty() ? 64 : slots_.size() * 2;
    while (size < (groups_.ngroups + 1) * 2)
        size *= 2;
    slots_.release();
    slots_.resize(size, 0);
    for (size_t g = 0; g < groups_.ngroups; ++g) {
        check_cancel(g);
        uint64_t h = hash(&groups_.keys[g * nkeys_], &groups_.key_nulls[g * nkeys_]);
        size_t at = h & (size - 1);
        while (slots_[at] != 0)
            at = (at + 1) & (size - 1);
        slots_[at] = (h & hash_half) | (g + 1);
    }
}

uint64_t GroupIndex::hash(const Value *keys, const uint8_t *nulls) const {
    uint64_t h = 0;
    for (size_t k = 0; k < nkeys_; ++k) {
        h = sem::hash_combine(h, nulls[k] ? 0x5bd1e995 : keys[k].low);
        h = sem::hash_combine(h, nulls[k] ? 1 : static_cast<uint64_t>(keys[k].high));
    }
    return h;
}

} // namespace gpuscan
