// How do the words of a group table become keys and states of aggregates? The inverse of what the generated kernel did
// (engine/codegen/codegen_aggregate.cpp): keys come back from a group's number or its key's words, sums from their parts, Min
// and Max from their order-preserving codes.
#include <algorithm>
#include <cstring>

#include "cuda/execution_state.hpp"
#include "engine/util/in_parallel.hpp"

namespace gpuscan::cuda {

using codegen::GroupingKind;
using codegen::SumKind;

namespace {

constexpr size_t piece_bytes = 32u << 20; // of records, copied while those before are turned into values
constexpr size_t few_bytes = 64u << 10;   // of records that come with the status of their kernel

} // namespace

WideKey wide_key(const std::vector<KeyPlan> &plan, Index index) {
    WideKey place;
    uint32_t at = 1; // behind the state
    for (Index i = 0; i < plan.size(); ++i) {
        if (i == index)
            place.word = at;
        at += plan[i].type == Type::I128 ? 2 : 1;
        place.any_null = place.any_null || plan[i].nullable;
    }
    place.null_word = at;
    return place;
}

void CudaExecution::make_room(GroupTable &groups, uint64_t more, size_t nkeys, const Kernel &kernel) {
    groups.ngroups += more;
    groups.keys.resize(groups.ngroups * nkeys);
    groups.key_nulls.resize(groups.ngroups * nkeys);
    groups.states.resize(groups.ngroups * kernel.components.size());
}

tables::GatherArgument CudaExecution::gather_argument(const Kernel &kernel, const codegen::GroupShape &group,
                                                      const Buffer &table, uint64_t entries) const {
    tables::GatherArgument a{};
    a.table = static_cast<const uint64_t *>(table.data);
    a.entries = entries;
    a.counter = reinterpret_cast<uint64_t *>(streams_->counter_word());
    a.dropped = reinterpret_cast<uint64_t *>(streams_->dropped_word());
    a.stride = kernel.slot_words;
    a.key_words = kernel.key_words;
    a.words = kernel.entry_words + kernel.key_words;
    a.numbered = kernel.key_words == 0;
    if (may_drop_groups(group))
        put_conditions(kernel, group, a);
    return a;
}

void CudaExecution::launch_over_entries(const char *name, tables::GatherArgument argument) {
    const uint64_t blocks = std::min<uint64_t>((argument.entries + tables_threads - 1) / tables_threads,
                                               static_cast<uint64_t>(state_->multiprocessors) * 8);
    streams_->launch(tables_function(name), static_cast<unsigned>(blocks), tables_threads, 0, &argument);
}

// The groups of a table that the kernel just queued fills by number. If they are no more than few_bytes, they come with its
// status.
GroupTable CudaExecution::read_few_entries(const Kernel &kernel, const codegen::GroupShape &group, const Buffer &table,
                                           uint64_t entries, const std::vector<KeyPlan> &plan) {
    const size_t record = kernel.entry_words + 1;
    tables::GatherArgument a = gather_argument(kernel, group, table, entries);
    a.out = reinterpret_cast<uint64_t *>(streams_->results(few_bytes, false));
    a.room = few_bytes / (record * sizeof(uint64_t));
    launch_over_entries("gather_groups", a);
    streams_->fetch_control(few_bytes);
    stats_.kernel_us += streams_->wait(cancel_);
    check_status();
    GroupTable groups(state_->work_memory);
    const uint64_t count = streams_->fetched().counter;
    if (count > a.room) {
        read_entries(kernel, group, table, entries, plan, groups);
        return groups;
    }
    stats_.link_bytes += few_bytes;
    groups_dropped_ = streams_->fetched().dropped;
    make_room(groups, count, plan.size(), kernel);
    const uint64_t *const records = static_cast<const uint64_t *>(streams_->fetched_results());
    for (uint64_t i = 0; i < count; ++i)
        stats_.rows_out +=
            put_group(groups, i, kernel, group, records + i * record, records[i * record + kernel.entry_words], plan);
    return groups;
}

// The groups of a table side by side in device memory.
CudaExecution::Gathered CudaExecution::gather(const Kernel &kernel, const codegen::GroupShape &group,
                                              const Buffer &table, uint64_t entries, const std::vector<KeyPlan> &plan) {
    const bool hashed = kernel.key_words != 0;
    tables::GatherArgument a = gather_argument(kernel, group, table, entries);
    uint64_t count = streams_->fetched().groups;
    BufferRef last;
    const Drain drain(*streams_); // before that is given back
    const bool chooses = put_order(kernel, group, plan, hashed ? count : entries, a);
    if (!hashed || a.nconditions > 0 || chooses) {
        streams_->reset_control();
        streams_->start_clock();
        last = chooses ? find_last_group(a) : nullptr;
        launch_over_entries("gather_groups", a);
        streams_->fetch_control();
        stats_.kernel_us += streams_->wait(cancel_);
        count = streams_->fetched().counter;
        groups_dropped_ += streams_->fetched().dropped;
    }
    Gathered gathered;
    gathered.kernel = kernel;
    gathered.group = group;
    gathered.plan = plan;
    gathered.words = a.words;
    gathered.hashed = hashed;
    gathered.count = count;
    if (count == 0)
        return gathered;
    const size_t record = gathered.record();
    const BufferRef out = state_->memory->allocate(count * record);
    a.out = static_cast<uint64_t *>(out->data);
    a.room = count;
    streams_->reset_control();
    streams_->start_clock();
    launch_over_entries("gather_groups", a);
    streams_->fetch_control();
    stats_.kernel_us += streams_->wait(cancel_);
    if (streams_->fetched().counter != count)
        throw DeviceError("the number of groups changed while they were read");
    gathered.records = out;
    return gathered;
}

// Adds the next groups, at most so many, copied in pieces.
void CudaExecution::take_groups(Gathered &gathered, uint64_t most, GroupTable &groups) {
    const uint64_t begin = gathered.next, end = begin + std::min(most, gathered.count - begin);
    if (begin == end)
        return;
    gathered.next = end;
    const size_t record = gathered.record();
    stats_.link_bytes += (end - begin) * record;
    uint64_t to = groups.ngroups;
    make_room(groups, end - begin, gathered.plan.size(), gathered.kernel);
    const uint64_t per_piece = std::max<uint64_t>(1, piece_bytes / record);
    std::unique_ptr<PinnedMemory::Piece> pieces[2];
    auto fetch = [&](uint64_t first, unsigned turn) {
        const uint64_t n = std::min(per_piece, end - first);
        if (!pieces[turn])
            pieces[turn] = state_->pinned->allocate(std::min(per_piece, end - begin) * record);
        streams_->copy_out(pieces[turn]->data, address_of(*gathered.records) + first * record, n * record);
    };
    std::atomic<uint64_t> rows{0};
    const Drain drain(*streams_);
    fetch(begin, 0);
    for (uint64_t first = begin, turn = 0; first < end; first += per_piece, turn ^= 1) {
        streams_->wait(cancel_);
        if (first + per_piece < end)
            fetch(first + per_piece, static_cast<unsigned>(turn ^ 1));
        const uint64_t *const records = static_cast<const uint64_t *>(pieces[turn]->data);
        const uint64_t count = std::min(per_piece, end - first);
        in_slices(threads_worth(count), count, [&](unsigned, uint64_t from, uint64_t until) {
            uint64_t own = 0;
            for (uint64_t i = from; i < until; ++i) {
                const uint64_t *const r = records + i * (record / sizeof(uint64_t));
                own += put_group(groups, to + (first - begin) + i, gathered.kernel, gathered.group, r,
                                 gathered.hashed ? 0 : r[gathered.words], gathered.plan);
            }
            rows += own;
        });
    }
    stats_.rows_out += rows;
}

// Adds the groups of a table; those that may stay in device memory do.
void CudaExecution::read_entries(const Kernel &kernel, const codegen::GroupShape &group, const Buffer &table,
                                 uint64_t entries, const std::vector<KeyPlan> &plan, GroupTable &groups) {
    Gathered gathered = gather(kernel, group, table, entries, plan);
    const bool stay = keep_groups_ && gathered.count > state_->groups.few_groups;
    take_groups(gathered, stay ? 0 : gathered.count, groups);
    if (gathered.next < gathered.count)
        gathered_ = std::make_unique<Gathered>(std::move(gathered));
}

// One group's values from its record (the key's words, then the entry) or its number; answers its rows.
uint64_t CudaExecution::put_group(GroupTable &groups, uint64_t at, const Kernel &kernel,
                                  const codegen::GroupShape &group, const uint64_t *record, uint64_t number,
                                  const std::vector<KeyPlan> &plan) const {
    const Pipeline &pipeline = program_.main();
    const uint64_t *const key = record + (group.grouping == GroupingKind::Wide ? 1 : 0); // behind the state
    const uint64_t *const entry = record + kernel.key_words;
    const uint64_t rows = entry[0];
    ir::Value *const keys = groups.keys.data() + at * plan.size();
    uint8_t *const key_nulls = groups.key_nulls.data() + at * plan.size();
    AggregateState *const states = groups.states.data() + at * kernel.components.size();
    size_t wide_at = 0;
    for (size_t i = 0; i < plan.size(); ++i) {
        const KeyPlan &k = plan[i];
        Value value;
        bool null = false;
        if (group.grouping == GroupingKind::Wide) {
            value.low = key[wide_at++];
            if (k.type == Type::I128)
                value.high = static_cast<int64_t>(key[wide_at++]);
            else if (is_integer(k.type))
                value.high = static_cast<int64_t>(value.low) < 0 ? -1 : 0;
        } else {
            const uint64_t code = group.grouping == GroupingKind::Hash ? key[0] & ~(1ULL << 63) : number;
            const uint64_t field = code / k.factor % k.modulus;
            null = k.nullable && field == 0;
            const int128 v = null ? 0 : k.min + static_cast<int128>(field) - (k.nullable ? 1 : 0);
            value.low = static_cast<uint64_t>(v);
            value.high = static_cast<int64_t>(v >> 64);
        }
        keys[i] = value;
        key_nulls[i] = null;
    }
    if (group.grouping == GroupingKind::Wide) {
        bool any = false;
        for (const KeyPlan &k : plan)
            any = any || k.nullable;
        for (size_t i = 0; any && i < plan.size(); ++i)
            key_nulls[i] = key[wide_at] >> i & 1;
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
                kind == SumKind::Digits || (kind == SumKind::Halves && group.grouping == GroupingKind::None);
            if (kind == SumKind::Double) {
                state.low = v[0];
                double total;
                memcpy(&total, v, sizeof(total));
                if (total - total != 0 && v[1] >> 44 == 0) // runtime.cuh: odd_value
                    throw RowError("a sum of floats overflowed");
                if (total == 0 && v[1] == static_cast<uint64_t>(state.count) && state.count > 0)
                    state.low = 1ULL << 63; // it began with 0.0, but nothing but -0.0 was added
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
        } else if (aggregate.kind == AggregateKind::LongSum) {
            double total;
            memcpy(&total, v, sizeof(total));
            if (total - total != 0 && v[2] >> 44 == 0) // runtime.cuh: odd_value
                throw RowError("a sum of floats overflowed");
            state.low = v[0];
            state.high = static_cast<int64_t>(v[1]);
        } else if (is_bitwise(aggregate.kind) && state.count > 0) {
            state.low = aggregate.kind == AggregateKind::BitAnd ? ~v[0] : v[0];
            state.high = static_cast<int64_t>(state.low) < 0 ? -1 : 0;
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
        states[i] = state;
    }
    return rows;
}

} // namespace gpuscan::cuda
