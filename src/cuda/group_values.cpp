// How do the words of a group table become keys and states of aggregates? The inverse of what the generated kernel did
// (engine/codegen_aggregate.cpp): keys come back from a group's number or its key's words, sums from their parts, Min
// and Max from their order-preserving codes.
#include <algorithm>
#include <cstring>

#include "cuda/execution_state.hpp"

namespace gpuscan::cuda {

using codegen::Grouping;
using codegen::SumKind;

// Groups with rows, gathered on the GPU and copied together.
GroupTable CudaExecution::read_entries(const Kernel &kernel, const codegen::GroupShape &group, const Buffer &table,
                                       const Buffer *keys, uint64_t entries, const std::vector<KeyPlan> &plan) {
    const CUfunction function = tables_function("gather_groups");
    tables::GatherArgument a{};
    a.table = static_cast<const uint64_t *>(table.data);
    a.keys = keys ? static_cast<const uint64_t *>(keys->data) : nullptr;
    a.entries = entries;
    a.counter = reinterpret_cast<uint64_t *>(lane_->counter_word());
    a.entry_words = kernel.entry_words;
    a.key_words = !keys ? 0 : group.grouping == Grouping::Wide ? kernel.key_words : 1;
    uint64_t count = lane_->fetched().groups;
    const unsigned grid = static_cast<unsigned>(
        std::min<uint64_t>((entries + 255) / 256, static_cast<uint64_t>(state_->multiprocessors) * 8));
    if (!keys) {
        lane_->reset_control();
        lane_->start_clock();
        lane_->launch(function, grid, 256, 0, &a);
        lane_->fetch_control();
        lane_->wait(cancel_);
        count = lane_->fetched().counter;
    }
    const size_t record = a.entry_words + a.key_words + 1;
    GroupTable groups;
    if (count == 0)
        return groups;
    const BufferRef out = lane_->allocate(count * record * sizeof(uint64_t));
    std::unique_ptr<PinnedMemory::Piece> copy = state_->pinned->allocate(count * record * sizeof(uint64_t));
    a.out = static_cast<uint64_t *>(out->data);
    a.room = count;
    lane_->reset_control();
    lane_->start_clock();
    lane_->launch(function, grid, 256, 0, &a);
    lane_->copy_out(copy->data, address_of(*out), count * record * sizeof(uint64_t));
    lane_->fetch_control();
    stats_.kernel_us += lane_->wait(cancel_);
    stats_.link_bytes += count * record * sizeof(uint64_t);
    if (lane_->fetched().counter != count)
        throw DeviceError("the number of groups changed while they were read");
    const uint64_t *const records = static_cast<const uint64_t *>(copy->data);
    groups.keys.reserve(count * plan.size());
    groups.key_nulls.reserve(count * plan.size());
    groups.states.reserve(count * kernel.components.size());
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t *const r = records + i * record;
        add_group(groups, kernel, group, r, keys ? r + a.entry_words : nullptr, r[record - 1], plan);
    }
    return groups;
}

void CudaExecution::add_group(GroupTable &groups, const Kernel &kernel, const codegen::GroupShape &group,
                              const uint64_t *entry, const uint64_t *key, uint64_t number,
                              const std::vector<KeyPlan> &plan) {
    const Pipeline &pipeline = program_.main();
    const uint64_t rows = entry[0];
    stats_.rows_out += rows;
    ++groups.ngroups;
    size_t wide_at = 0;
    for (size_t i = 0; i < plan.size(); ++i) {
        const KeyPlan &k = plan[i];
        Value value;
        bool null = false;
        if (group.grouping == Grouping::Wide) {
            value.low = key[wide_at++];
            if (k.type == Type::I128)
                value.high = static_cast<int64_t>(key[wide_at++]);
            else if (is_integer(k.type))
                value.high = static_cast<int64_t>(value.low) < 0 ? -1 : 0;
        } else {
            const uint64_t code = group.grouping == Grouping::Hash ? key[0] & ~(1ULL << 63) : number;
            const uint64_t field = code / k.factor % k.modulus;
            null = k.nullable && field == 0;
            const int128 v = null ? 0 : k.min + static_cast<int128>(field) - (k.nullable ? 1 : 0);
            value.low = static_cast<uint64_t>(v);
            value.high = static_cast<int64_t>(v >> 64);
        }
        groups.keys.push_back(value);
        groups.key_nulls.push_back(null);
    }
    if (group.grouping == Grouping::Wide) {
        size_t words = 0;
        bool any = false;
        for (const KeyPlan &k : plan) {
            words += k.type == Type::I128 ? 2 : 1;
            any = any || k.nullable;
        }
        for (size_t i = 0; any && i < plan.size(); ++i)
            groups.key_nulls[groups.key_nulls.size() - plan.size() + i] = key[words] >> i & 1;
    }
    for (size_t i = 0; i < kernel.components.size(); ++i) {
        const Aggregate &aggregate = program_.aggregates[pipeline.aggregates.first + i];
        const codegen::Components &parts = kernel.components[i];
        AggregateState state;
        state.count = static_cast<int64_t>(entry[parts.count]); // word 0: all rows
        const uint64_t *const v = entry + parts.value;
        if (aggregate.kind == AggregateKind::Sum) {
            int128 sum = 0;
            const SumKind kind = group.sums[i];
            if (rows > UINT32_MAX && kind != SumKind::Double) // parts of sums have 32 bits in 64-bit counters
                throw DeviceError("a group has more than four billion rows");
            const bool digits =
                kind == SumKind::Digits || (kind == SumKind::Halves && group.grouping == Grouping::None);
            if (kind == SumKind::Double) {
                state.low = v[0];
                double total;
                memcpy(&total, v, sizeof(total));
                if (total - total != 0 && v[1] == 0)
                    throw RowError("a sum of floats overflowed");
                state.high = total == 0; // it began with 0.0, so a sum of nothing but -0.0 has lost its sign
            } else {
                if (kind == SumKind::Narrow) {
                    sum = static_cast<int64_t>(v[0]);
                } else if (digits) {
                    const uint64_t middle = v[1] + (v[0] >> 32);
                    const uint64_t upper = v[2] + (middle >> 32);
                    const int128 top = static_cast<int128>(static_cast<int64_t>(v[3])) + (upper >> 32);
                    if (top != static_cast<int32_t>(top))
                        throw RowError("a sum has more than 128 bits");
                    sum = static_cast<int128>((static_cast<uint128>(top) << 96) |
                                              (static_cast<uint128>(static_cast<uint32_t>(upper)) << 64) |
                                              (static_cast<uint64_t>(middle) << 32) | static_cast<uint32_t>(v[0]));
                } else {
                    sum = static_cast<int128>(v[0]) + static_cast<int128>(static_cast<int64_t>(v[1])) * (1LL << 32);
                }
                state.low = static_cast<uint64_t>(sum);
                state.high = static_cast<int64_t>(sum >> 64);
            }
        } else if (parts.value != 0 && state.count > 0) {
            const bool is_min = aggregate.kind == AggregateKind::Min;
            const uint64_t code = is_min ? ~v[0] : v[0];
            const Type type = program_.exprs[aggregate.arg].type;
            if (type == Type::I128) { // behind the lock word
                state.low = is_min ? ~v[2] : v[2];
                state.high = static_cast<int64_t>((is_min ? ~v[1] : v[1]) ^ (1ULL << 63));
            } else if (is_float(type)) {
                state.low = code >> 63 ? code & ~(1ULL << 63) : ~code;
                if (type == Type::F32) {
                    double wide;
                    memcpy(&wide, &state.low, sizeof(wide));
                    const float narrow = static_cast<float>(wide);
                    uint32_t bits;
                    memcpy(&bits, &narrow, sizeof(bits));
                    state.low = bits;
                }
            } else if (type == Type::Bool || type == Type::Code) {
                state.low = code;
            } else {
                state.low = code ^ (1ULL << 63);
                state.high = static_cast<int64_t>(state.low) < 0 ? -1 : 0;
            }
        }
        groups.states.push_back(state);
    }
}

} // namespace gpuscan::cuda
