// Which values have the arguments of DISTINCT aggregates had in each group of the result?
//
// Where a group has a number and the values' bounds are known, the kernel that groups by the keys of the result notes the values as well,
// and a second one counts and adds what has been noted of each group (tables.cuh). What is noted is a bit for each group and value, or,
// where that would take more memory, a set of pairs of both: one number of less than 63 bits, in a hash table with two slots for each row.
// Else the rows are grouped by the arguments too, nearly a group for each row, which the link to the host and the second grouping there
// (engine/result/second_aggregation.hpp) take far longer for than the GPU does to clear and to read either.
#include <algorithm>

#include "cuda/execution_state.hpp"
#include "engine/util/in_parallel.hpp"

namespace gpuscan::cuda {

using codegen::AggregateWords;
using codegen::GroupingKind;
using codegen::ValuesBy;

namespace {

constexpr uint64_t word_bits = 64;
constexpr uint64_t warp_words = 1024; // of a group, by one warp
constexpr double max_number = 0x1p62; // of a set's numbers
constexpr double max_slots = 0xffffffff;

} // namespace

// Of groups with numbers below `extent`. `rows`: HUGE_VAL where joins may make more of the source's. False: the bounds are not known, or
// there is no way to note the values.
bool CudaExecution::plan_argument(const Distinct &distinct, ValueRanges &ranges, uint64_t extent, double rows,
                                  NotedValues &noted) const {
    const Index expr = program_.lists[program_.main().keys.first + distinct.key];
    const ValueRange &range = ranges.of(expr);
    noted.distinct = distinct;
    noted.type = program_.exprs[expr].type;
    if (!range.known || range.min < INT64_MIN || range.max > INT64_MAX || is_float(noted.type))
        return false;
    noted.min = static_cast<int64_t>(range.min);
    const int128 span = std::max<int128>(range.max - range.min + 1, 0);
    const double numbers = static_cast<double>(span) * static_cast<double>(extent);
    if (numbers >= max_number)
        return false;
    noted.values = static_cast<uint64_t>(span);
    noted.words = std::max<uint64_t>((noted.values + word_bits - 1) / word_bits, 1);
    noted.bytes = noted.words * extent * sizeof(uint64_t);
    const double pairs = std::min(rows, numbers), slots = 2 * pairs + 64;
    if (static_cast<double>(noted.bytes) <= state_->groups.bits.most(pairs))
        return true;
    if (slots > max_slots)
        return false;
    noted.by = ValuesBy::Set;
    noted.slots = static_cast<uint64_t>(slots);
    noted.bytes = noted.slots * sizeof(uint64_t);
    return true;
}

// None: this is no way for them.
std::vector<NotedValues> CudaExecution::plan_values(ValueRanges &ranges, uint64_t extent, double rows) const {
    const size_t most = std::min(state_->groups.noted_bytes, table_room() / 2);
    std::vector<NotedValues> all;
    uint64_t bytes = 0;
    const Range distincts = program_.main().distincts;
    for (Index d = 0; d < distincts.count; ++d) {
        NotedValues noted;
        if (!plan_argument(program_.distincts[distincts.first + d], ranges, extent, rows, noted) || noted.bytes > most)
            return {};
        bytes += noted.bytes + extent * tables::counted_words * sizeof(uint64_t);
        if (bytes > most)
            return {};
        all.push_back(noted);
    }
    return all;
}

bool CudaExecution::aggregate_with_values(const std::vector<ChunkView> &chunks, GroupTable &groups) {
    const Index index = static_cast<Index>(program_.pipelines.size() - 1);
    const Input seen = survey(program_.main(), chunks);
    codegen::Request wanted = request(index, seen);
    wanted.group.values.resize(program_.main().distincts.count);
    GroupPlan plan = plan_groups(std::move(wanted), seen);
    if (plan.noted.empty())
        return false;
    groups_dropped_ = 0;
    use_speculative(index, seen, plan);
    const Input input = describe(program_.main(), chunks);
    const size_t ndistincts = plan.noted.size();
    const bool has_sets = std::any_of(plan.noted.begin(), plan.noted.end(),
                                      [](const NotedValues &noted) { return noted.by == ValuesBy::Set; });
    stats_.grouping = std::string(plan.request.group.grouping == GroupingKind::None ? "none" : "dense") +
                      (has_sets ? distinct_by_sets : distinct_by_bits);
    const ModuleRef module = get_module(plan.kernel.source);
    std::vector<uint64_t> words = argument(plan.kernel, index, input);
    words[plan.kernel.sink + AggregateWords::extent] = plan.extent;
    put_keys(plan.kernel, plan.request.group, plan.keys, words);
    uint64_t bytes = 0; // of all that is noted, then come the counts
    for (const NotedValues &noted : plan.noted)
        bytes += noted.bytes;
    const size_t counts_bytes = ndistincts * plan.extent * tables::counted_words * sizeof(uint64_t);
    const BufferRef memory = streams_->memory().allocate(bytes + counts_bytes);
    const WorkCharge charge(state_->work_memory, counts_bytes); // (page-locked, and results as others are)
    const std::unique_ptr<PinnedMemory::Piece> copy = state_->pinned->allocate(counts_bytes);
    const Drain drain(*streams_); // before these two are given back
    streams_->fill(address_of(*memory), 0, memory->size);
    const CUdeviceptr counts = address_of(*memory) + bytes;
    CUdeviceptr next = address_of(*memory);
    for (size_t d = 0; d < ndistincts; ++d) {
        const NotedValues &noted = plan.noted[d];
        uint64_t *const own = &words[plan.kernel.sink + AggregateWords::values(plan.keys.size(), d)];
        own[0] = next;
        own[1] = static_cast<uint64_t>(noted.min);
        own[2] = noted.values;
        own[3] = noted.by == ValuesBy::Bits ? noted.words * word_bits : noted.slots;
        next += noted.bytes;
    }
    table_full_ = false;
    groups = aggregate_by_number(plan, module, words, input);
    if (table_full_) { // (numbers that were chosen to collide)
        stats_.rows_out = 0;
        return false;
    }
    streams_->reset_control();
    streams_->start_clock();
    count_values(plan, words, counts);
    streams_->copy_out(copy->data, counts, counts_bytes);
    streams_->fetch_control();
    stats_.kernel_us += streams_->wait(cancel_);
    stats_.link_bytes += counts_bytes;
    groups = with_values(std::move(groups), plan, static_cast<const uint64_t *>(copy->data));
    catch_up();
    return true;
}

// `words`: the argument of the kernel that has noted them.
void CudaExecution::count_values(const GroupPlan &plan, const std::vector<uint64_t> &words, CUdeviceptr counts) {
    for (size_t d = 0; d < plan.noted.size(); ++d) {
        const NotedValues &noted = plan.noted[d];
        const uint64_t *const own = &words[plan.kernel.sink + AggregateWords::values(plan.keys.size(), d)];
        uint64_t *const out = reinterpret_cast<uint64_t *>(counts) + d * plan.extent * tables::counted_words;
        const auto launch = [&](const char *name, uint64_t threads, void *a) {
            const uint64_t blocks = (threads + tables_threads - 1) / tables_threads;
            streams_->launch(tables_function(name),
                             static_cast<unsigned>(std::min<uint64_t>(blocks, state_->multiprocessors * 8)),
                             tables_threads, 0, a);
        };
        if (noted.by == ValuesBy::Set) {
            tables::CountSetArgument a{};
            a.set = reinterpret_cast<const uint64_t *>(own[0]);
            a.slots = noted.slots;
            a.values = std::max<uint64_t>(noted.values, 1);
            a.out = out;
            a.adds = noted.adds();
            launch("count_set", a.slots, &a);
            continue;
        }
        tables::CountBitsArgument a{};
        a.bits = reinterpret_cast<const uint64_t *>(own[0]);
        a.groups = plan.extent;
        a.words = noted.words;
        a.parts = (noted.words + warp_words - 1) / warp_words;
        a.out = out;
        a.adds = noted.adds();
        launch("count_bits", a.groups * a.parts * 32, &a);
    }
}

// The states of DISTINCT aggregates behind the others. `counted`: of each argument some words a group number (tables.cuh).
GroupTable CudaExecution::with_values(GroupTable &&groups, const GroupPlan &plan, const uint64_t *counted) const {
    const size_t nkeys = plan.keys.size(), nplain = plan.kernel.components.size(), nstates = nplain + plan.noted.size();
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
            for (size_t d = 0; d < plan.noted.size(); ++d) {
                const NotedValues &noted = plan.noted[d];
                const uint64_t *const own = counted + tables::counted_words * (d * plan.extent + number);
                AggregateState &state = states[g * nstates + nplain + d];
                state = AggregateState();
                state.count = static_cast<int64_t>(own[0]);
                if (!noted.adds())
                    continue;
                const int128 sum = static_cast<int128>(own[0]) * noted.min + static_cast<int128>(own[1]) +
                                   (static_cast<int128>(own[2]) << 32);
                state.low = static_cast<uint64_t>(sum);
                state.high = static_cast<int64_t>(sum >> 64);
            }
        }
    });
    groups.states = std::move(states);
    return std::move(groups);
}

} // namespace gpuscan::cuda
