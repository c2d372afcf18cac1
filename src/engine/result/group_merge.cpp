// Merging the groups of several passes. Most fragments run in one pass: its table is the result, and no key is looked up.
//
// A sum of floats that becomes infinite although no part was is PostgreSQL's overflow error (float8_combine).
#include "engine/result/group_merge.hpp"

#include <cstring>

#include "device/semantics.cuh"

namespace gpuscan {
namespace {

using namespace ir;

int128 wide(const AggregateState &s) {
    return static_cast<int128>(static_cast<uint128>(static_cast<uint64_t>(s.high)) << 64 | s.low);
}

double real(const AggregateState &s) {
    double v;
    memcpy(&v, &s.low, sizeof(v));
    return v;
}

double rest(const AggregateState &s) {
    double v;
    memcpy(&v, &s.high, sizeof(v));
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

void add_distinct_values(AggregateState &into, const AggregateState &from) {
    into.count += from.count;
    int error = 0;
    const int128 sum = sem::add(wide(into), wide(from), error);
    if (error)
        throw RowError("a sum overflows");
    into.low = static_cast<uint64_t>(sum);
    into.high = static_cast<int64_t>(sum >> 64);
}

StateCombiner::StateCombiner(const Program &program) {
    const Pipeline &main = program.main();
    for (Index a = 0; a < main.aggregates.count; ++a) {
        const ir::Aggregate &aggregate = program.aggregates[main.aggregates.first + a];
        aggregates_.push_back({aggregate.kind, aggregate.arg == none ? Type::I64 : program.exprs[aggregate.arg].type});
    }
}

GroupMerger::GroupMerger(const Program &program, const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel)
    : GroupMerger(program, program.main().keys.count, memory, cancel) {}

GroupMerger::GroupMerger(const Program &program, size_t nkeys, const WorkMemoryRef &memory,
                         const std::atomic<uint32_t> *cancel)
    : combiner_(program), groups_(nkeys, combiner_.size(), memory, cancel) {}

void GroupMerger::add(const GroupTable &table) {
    const size_t nkeys = groups_.nkeys(), naggregates = combiner_.size();
    for (size_t g = 0; g < table.ngroups; ++g) {
        groups_.check_cancel(g);
        const size_t to = groups_.find(table.keys.data() + g * nkeys, table.key_nulls.data() + g * nkeys);
        combiner_.combine(groups_.states(to), table.states.data() + g * naggregates);
    }
}

void GroupMerger::add(GroupTable &&table) {
    if (groups_.size() != 0)
        return add(table);
    groups_.take(std::move(table));
}

GroupTable GroupMerger::finish() {
    if (groups_.nkeys() == 0 && groups_.size() == 0)
        groups_.find(nullptr, nullptr);
    return groups_.finish();
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
    if (is_bitwise(kind)) { // signs are extended, so the halves need not know each other
        auto bits = [kind](uint64_t a, uint64_t b) {
            return kind == AggregateKind::BitAnd ? a & b : kind == AggregateKind::BitOr ? a | b : a ^ b;
        };
        into.low = bits(into.low, from.low);
        into.high = static_cast<int64_t>(bits(static_cast<uint64_t>(into.high), static_cast<uint64_t>(from.high)));
        return;
    }
    int error = 0;
    if (kind == AggregateKind::LongSum) {
        const double sum = sem::add(real(into), real(from), error);
        const double lacks = rest(into) + rest(from) + sem::sum_error(real(into), real(from), sum);
        memcpy(&into.low, &sum, sizeof(sum));
        memcpy(&into.high, &lacks, sizeof(lacks));
        if (error)
            throw RowError("a sum overflows");
        return;
    }
    if (kind != AggregateKind::Sum) {
        if (kind == AggregateKind::Min ? less(type, from, into) : less(type, into, from)) {
            into.low = from.low;
            into.high = from.high;
        }
        return;
    }
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
