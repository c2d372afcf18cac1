// Which values have the arguments of DISTINCT aggregates had in each group of the result?
//
// Where a group has a number and the values' bounds are near, the kernel that groups by the keys of the result sets a bit for each group
// and value as well, and a second one counts and adds a group's bits (tables.cuh). Else the rows are grouped by the arguments too, nearly a
// group for each row, which the link to the host and the second grouping there (engine/result/second_aggregation.hpp) take far longer for
// than the GPU does to clear and to read many bits.
#include <algorithm>

#include "cuda/execution_state.hpp"
#include "engine/util/in_parallel.hpp"

namespace gpuscan::cuda {

using codegen::AggregateWords;
using codegen::GroupingKind;

namespace {

constexpr uint64_t word_bits = 64;
constexpr uint64_t counted_words = 1024; // of a group, by one warp

} // namespace

// False: the bounds are not known, or too far apart.
bool CudaExecution::plan_argument(const Distinct &distinct, ValueRanges &ranges, ValueBits &bits) const {
    const Index expr = program_.lists[program_.main().keys.first + distinct.key];
    const ValueRange &range = ranges.of(expr);
    if (!range.known || range.min < INT64_MIN || range.max > INT64_MAX || range.max - range.min >= INT32_MAX)
        return false;
    bits.distinct = distinct;
    bits.type = program_.exprs[expr].type;
    bits.min = static_cast<int64_t>(range.min);
    bits.values = range.min <= range.max ? static_cast<uint64_t>(range.max - range.min) + 1 : 0;
    bits.words = std::max<uint64_t>((bits.values + word_bits - 1) / word_bits, 1);
    return !is_float(bits.type);
}

// Of groups with numbers below `extent`; none: this is no way for them.
std::vector<ValueBits> CudaExecution::plan_bits(const Input &input, ValueRanges &ranges, uint64_t extent) const {
    const double most =
        std::min(state_->groups.bits.most(static_cast<double>(input.rows)), static_cast<double>(table_room() / 2));
    std::vector<ValueBits> all;
    uint64_t bytes = 0;
    const Range distincts = program_.main().distincts;
    for (Index d = 0; d < distincts.count; ++d) {
        ValueBits bits;
        if (!plan_argument(program_.distincts[distincts.first + d], ranges, bits))
            return {};
        bytes += extent * (bits.words + 2) * sizeof(uint64_t);
        if (static_cast<double>(bytes) > most)
            return {};
        all.push_back(bits);
    }
    return all;
}

bool CudaExecution::aggregate_by_bits(const std::vector<ChunkView> &chunks, GroupTable &groups) {
    const Index index = static_cast<Index>(program_.pipelines.size() - 1);
    const Input seen = survey(program_.main(), chunks);
    codegen::Request wanted = request(index, seen);
    wanted.group.values = true;
    GroupPlan plan = plan_groups(std::move(wanted), seen);
    if (plan.bits.empty())
        return false;
    groups_dropped_ = 0;
    use_speculative(index, seen, plan);
    const Input input = describe(program_.main(), chunks);
    stats_.grouping =
        std::string(plan.request.group.grouping == GroupingKind::None ? "none" : "dense") + distinct_by_bits;
    const ModuleRef module = get_module(plan.kernel.source);
    std::vector<uint64_t> words = argument(plan.kernel, index, input);
    words[plan.kernel.sink + AggregateWords::extent] = plan.extent;
    put_keys(plan.kernel, plan.request.group, plan.keys, words);
    uint64_t all_words = 0; // bits of all arguments, then their counts
    for (const ValueBits &bits : plan.bits)
        all_words += plan.extent * bits.words;
    const size_t counts_bytes = plan.bits.size() * plan.extent * 2 * sizeof(uint64_t);
    const BufferRef memory = streams_->memory().allocate(all_words * sizeof(uint64_t) + counts_bytes);
    const std::unique_ptr<PinnedMemory::Piece> copy = state_->pinned->allocate(counts_bytes);
    const Drain drain(*streams_); // before these two are given back
    streams_->fill(address_of(*memory), 0, memory->size);
    const CUdeviceptr counts = address_of(*memory) + all_words * sizeof(uint64_t);
    CUdeviceptr next = address_of(*memory);
    for (size_t d = 0; d < plan.bits.size(); ++d) {
        const ValueBits &bits = plan.bits[d];
        uint64_t *const own = &words[plan.kernel.sink + AggregateWords::bits(plan.keys.size(), d)];
        own[0] = next;
        own[1] = static_cast<uint64_t>(bits.min);
        own[2] = bits.values;
        own[3] = bits.words * word_bits;
        next += plan.extent * bits.words * sizeof(uint64_t);
    }
    groups = aggregate_by_number(plan, module, words, input);
    streams_->reset_control();
    streams_->start_clock();
    for (size_t d = 0; d < plan.bits.size(); ++d) {
        const ValueBits &bits = plan.bits[d];
        tables::CountBitsArgument a{};
        a.bits =
            reinterpret_cast<const uint64_t *>(words[plan.kernel.sink + AggregateWords::bits(plan.keys.size(), d)]);
        a.groups = plan.extent;
        a.words = bits.words;
        a.parts = (bits.words + counted_words - 1) / counted_words;
        a.out = reinterpret_cast<uint64_t *>(counts) + d * plan.extent * 2;
        a.adds = !bits.distinct.counts_only && is_integer(bits.type);
        const uint64_t warps = a.groups * a.parts, blocks = (warps * 32 + tables_threads - 1) / tables_threads;
        streams_->launch(tables_function("count_bits"),
                         static_cast<unsigned>(std::min<uint64_t>(blocks, state_->multiprocessors * 8)), tables_threads,
                         0, &a);
    }
    streams_->copy_out(copy->data, counts, counts_bytes);
    streams_->fetch_control();
    stats_.kernel_us += streams_->wait(cancel_);
    stats_.link_bytes += counts_bytes;
    groups = with_values(std::move(groups), plan, static_cast<const uint64_t *>(copy->data));
    catch_up();
    return true;
}

// The states of DISTINCT aggregates behind the others. `counted`: of each argument two words a group number.
GroupTable CudaExecution::with_values(GroupTable &&groups, const GroupPlan &plan, const uint64_t *counted) const {
    const size_t nkeys = plan.keys.size(), nplain = plan.kernel.components.size(), nstates = nplain + plan.bits.size();
    WorkArray<AggregateState> states(state_->work_memory);
    states.resize(groups.ngroups * nstates);
    in_slices(threads_worth(groups.ngroups), groups.ngroups, [&](unsigned, uint64_t first, uint64_t end) {
        for (uint64_t g = first; g < end; ++g) {
            uint64_t number = 0;
            for (size_t k = 0; k < nkeys; ++k) {
                const KeyPlan &key = plan.keys[k];
                const uint64_t field =
                    groups.keys[g * nkeys + k].low - static_cast<uint64_t>(key.min) + (key.nullable ? 1 : 0);
                number += groups.key_nulls[g * nkeys + k] ? 0 : field * key.factor;
            }
            std::copy_n(groups.states.data() + g * nplain, nplain, states.data() + g * nstates);
            for (size_t d = 0; d < plan.bits.size(); ++d) {
                const ValueBits &bits = plan.bits[d];
                const uint64_t *const own = counted + 2 * (d * plan.extent + number);
                AggregateState &state = states[g * nstates + nplain + d];
                state = AggregateState();
                state.count = static_cast<int64_t>(own[0]);
                if (bits.distinct.counts_only || !is_integer(bits.type))
                    continue;
                const int128 sum = static_cast<int128>(own[0]) * bits.min + static_cast<int128>(own[1]);
                state.low = static_cast<uint64_t>(sum);
                state.high = static_cast<int64_t>(sum >> 64);
            }
        }
    });
    groups.states = std::move(states);
    return std::move(groups);
}

} // namespace gpuscan::cuda
