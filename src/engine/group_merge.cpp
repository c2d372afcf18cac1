// Merging the groups of several passes: an open-addressing table over key tuples, load at most 1/2.
//
// Most fragments run in one pass: its table is the result, and no key is ever looked up.
//
// Keys are equal where NULL flags and bits are equal: devices canonicalise floats (one NaN, no -0.0) before they group.
// A sum of floats that becomes infinite although no part was is PostgreSQL's overflow error (float8_combine).
#include "engine/group_merge.hpp"

#include <cstring>

#include "cuda/semantics.cuh"

namespace gpuscan {
namespace {

using namespace ir;

constexpr uint64_t hash_half = 0xffffffff00000000u;
constexpr size_t groups_between_checks = 16384; // for cancel; a group may cost a few cache misses

int128 wide(const AggregateState &s) {
    return static_cast<int128>(static_cast<uint128>(static_cast<uint64_t>(s.high)) << 64 | s.low);
}

double real(const AggregateState &s) {
    double v;
    memcpy(&v, &s.low, sizeof(v));
    return v;
}

float real32(const AggregateState &s) {
    float v;
    memcpy(&v, &s.low, sizeof(v));
    return v;
}

bool less(Type type, const AggregateState &a, const AggregateState &b) {
    if (type == Type::F64)
        return sem::lt(real(a), real(b));
    if (type == Type::F32)
        return sem::lt(real32(a), real32(b));
    return wide(a) < wide(b);
}

} // namespace

StateCombiner::StateCombiner(const Program &program) {
    const Pipeline &main = program.main();
    for (Index a = 0; a < main.aggregates.count; ++a) {
        const ir::Aggregate &aggregate = program.aggregates[main.aggregates.first + a];
        aggregates_.push_back({aggregate.kind, aggregate.arg == none ? Type::I64 : program.exprs[aggregate.arg].type});
    }
}

GroupMerger::GroupMerger(const Program &program, WorkMemoryRef memory, const std::atomic<uint32_t> *cancel)
    : nkeys_(program.main().keys.count), combiner_(program), memory_(std::move(memory)), cancel_(cancel),
      groups_(memory_), slots_(memory_) {}

void GroupMerger::add(const GroupTable &table) {
    const size_t naggregates = combiner_.size();
    for (size_t g = 0; g < table.ngroups; ++g) {
        if (g % groups_between_checks == 0)
            check_cancel();
        const size_t to = find(table.keys.data() + g * nkeys_, table.key_nulls.data() + g * nkeys_);
        combiner_.combine(groups_.states.data() + to * naggregates, table.states.data() + g * naggregates);
    }
}

void GroupMerger::add(GroupTable &&table) {
    if (groups_.ngroups != 0)
        return add(table);
    table.keys.charge_to(memory_);
    table.key_nulls.charge_to(memory_);
    table.states.charge_to(memory_);
    groups_ = std::move(table);
}

GroupTable GroupMerger::finish() {
    if (nkeys_ == 0 && groups_.ngroups == 0)
        find(nullptr, nullptr);
    GroupTable out = std::move(groups_);
    groups_ = GroupTable(memory_);
    slots_.release();
    return out;
}

void GroupMerger::check_cancel() const {
    if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed) != 0)
        throw Cancelled();
}

// The group with these keys, added if new.
size_t GroupMerger::find(const Value *keys, const uint8_t *nulls) {
    if (nkeys_ == 0) {
        if (groups_.ngroups == 0) {
            groups_.ngroups = 1;
            groups_.states.resize(combiner_.size(), AggregateState());
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
    groups_.states.resize(groups_.states.size() + combiner_.size(), AggregateState());
    return g;
}

void GroupMerger::grow() {
    size_t size = slots_.empty() ? 64 : slots_.size() * 2;
    while (size < (groups_.ngroups + 1) * 2)
        size *= 2;
    slots_.release();
    slots_.resize(size, 0);
    for (size_t g = 0; g < groups_.ngroups; ++g) {
        if (g % groups_between_checks == 0)
            check_cancel();
        uint64_t h = hash(&groups_.keys[g * nkeys_], &groups_.key_nulls[g * nkeys_]);
        size_t at = h & (size - 1);
        while (slots_[at] != 0)
            at = (at + 1) & (size - 1);
        slots_[at] = (h & hash_half) | (g + 1);
    }
}

uint64_t GroupMerger::hash(const Value *keys, const uint8_t *nulls) const {
    uint64_t h = 0;
    for (size_t k = 0; k < nkeys_; ++k) {
        h = sem::hash_combine(h, nulls[k] ? 0x5bd1e995 : keys[k].low);
        h = sem::hash_combine(h, nulls[k] ? 1 : static_cast<uint64_t>(keys[k].high));
    }
    return h;
}

namespace {

void combine_one(AggregateKind kind, Type type, AggregateState &into, const AggregateState &from) {
    if (kind == AggregateKind::CountRows || kind == AggregateKind::Count) {
        into.count += from.count;
        return;
    }
    if (from.count == 0)
        return;
    if (into.count == 0) {
        into = from;
        return;
    }
    into.count += from.count;
    if (kind != AggregateKind::Sum) {
        if (kind == AggregateKind::Min ? less(type, from, into) : less(type, into, from)) {
            into.low = from.low;
            into.high = from.high;
        }
        return;
    }
    int error = 0;
    if (type == Type::F64) {
        double sum = sem::add(real(into), real(from), error);
        memcpy(&into.low, &sum, sizeof(sum));
    } else {
        int128 sum = sem::add(wide(into), wide(from), error);
        into.low = static_cast<uint64_t>(sum);
        into.high = static_cast<int64_t>(sum >> 64);
    }
    if (error)
        throw RowError("a sum overflows");
}

} // namespace

void StateCombiner::combine(AggregateState *into, const AggregateState *from) const {
    for (size_t a = 0; a < aggregates_.size(); ++a)
        combine_one(aggregates_[a].kind, aggregates_[a].type, into[a], from[a]);
}

} // namespace gpuscan
