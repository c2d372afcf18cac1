// Which values have the arguments of DISTINCT aggregates had in each group of the result? See distinct_values.hpp.
#include "host/distinct_values.hpp"

#include <algorithm>
#include <random>

#include "engine/result/group_merge.hpp"
#include "engine/util/value_bits.hpp"

namespace gpuscan::host {

using namespace ir;

namespace {

constexpr uint64_t memory_part = 4; // of the work memory
constexpr size_t counted_words = 16 * 1024;

uint64_t load(const uint64_t &word) { return __atomic_load_n(&word, __ATOMIC_RELAXED); }

} // namespace

// The bounds of an argument; false: they are not known, or too far apart.
bool DistinctValues::plan_argument(const Context &context, const Distinct &distinct, ValueRanges &ranges,
                                   Grouping::Key &key) {
    const Program &p = context.program;
    key.expr = p.lists[p.main().keys.first + distinct.key];
    key.type = p.exprs[key.expr].type;
    const ValueRange &range = ranges.of(key.expr);
    if (!range.known || range.min < INT64_MIN || range.max > INT64_MAX || range.max - range.min >= INT32_MAX)
        return false;
    key.min = static_cast<int64_t>(range.min);
    key.max = range.value ? static_cast<int64_t>(range.max) : key.min - 1;
    const uint64_t places = static_cast<uint64_t>(key.max - key.min) + 2; // values, and NULL
    key.stride = static_cast<uint32_t>((places + word_bits - 1) / word_bits * word_bits);
    return true;
}

static uint64_t draw_secret() {
    static thread_local std::random_device random;
    return uint64_t(random()) << 32 | random();
}

DistinctValues::DistinctValues(const WorkContext &work, const Grouping &grouping, size_t naggregates)
    : work_(work), grouping_(grouping), naggregates_(naggregates), secret_(draw_secret()) {}

std::unique_ptr<DistinctValues> DistinctValues::plan(const WorkContext &work, const Context &context,
                                                     const std::vector<ChunkView> &chunks, const Grouping &grouping) {
    const Program &p = context.program;
    const Pipeline &main = p.main();
    if (grouping.form == Grouping::Form::Hash)
        return nullptr;
    uint64_t rows = 0;
    for (const ChunkView &chunk : chunks)
        rows += chunk.nrows;
    std::unique_ptr<DistinctValues> result(new DistinctValues(work, grouping, main.aggregates.count));
    ValueRanges ranges = ranges_of(context, chunks);
    const double most =
        std::min(host_bits.most(static_cast<double>(rows)), static_cast<double>(work.memory->limit() / memory_part));
    double bytes = 0;
    std::vector<uint8_t> has_bits;
    for (Index d = 0; d < main.distincts.count; ++d) {
        const Distinct &distinct = p.distincts[main.distincts.first + d];
        Grouping::Key key;
        const bool known = plan_argument(context, distinct, ranges, key);
        const uint64_t bits = known ? uint64_t(grouping.domain) * key.stride : 0;
        // (The kernel that numbers groups numbers bits, too.)
        const bool fits = known && bits <= UINT32_MAX && bytes + static_cast<double>(bits / 8) <= most;
        if (!fits && grouping.domain > host_bits.groups) // (each worker has states of all)
            return nullptr;
        bytes += fits ? static_cast<double>(bits / 8) : 0;
        has_bits.push_back(fits);
        result->arguments_.emplace_back(distinct, key, work.memory);
    }
    const bool has_room = work.if_there_is_room(static_cast<size_t>(bytes), [&] {
        for (size_t d = 0; d < has_bits.size(); ++d)
            if (Argument &argument = result->arguments_[d]; has_bits[d])
                argument.bits.assign_zeros(grouping.domain * argument.words());
            else
                argument.sets.resize(work.pool.workers());
    });
    return has_room ? std::move(result) : nullptr;
}

bool DistinctValues::by_bits() const {
    return std::all_of(arguments_.begin(), arguments_.end(), [](const Argument &a) { return a.sets.empty(); });
}

void DistinctValues::add(unsigned worker, const uint32_t *numbers, const Batch &batch, Evaluator &evaluator) {
    for (Argument &argument : arguments_) {
        const Vec v = evaluator.evaluate_full(argument.key.expr, batch);
        if (argument.sets.empty())
            add_to_bits(argument, numbers, v, batch.n);
        else
            add_to_set(argument, worker, numbers, v, batch.n);
    }
}

void DistinctValues::add_to_bits(Argument &argument, const uint32_t *numbers, Vec v, uint32_t n) {
    const Grouping::Key &key = argument.key;
    uint32_t places[batch_rows + batch_slack];
    for (uint32_t i = 0; i < n; ++i)
        places[i] = numbers[i] * key.stride;
    const uint32_t null_place = static_cast<uint32_t>(key.max - key.min + 1);
    if (!kernels().group_index(key.type, n, v.values, v.nulls, key.min, key.max, null_place, 1, places))
        throw DeviceError("argument of a DISTINCT aggregate outside of its bounds");
    uint64_t *const bits = argument.bits.data();
    for (uint32_t i = 0; i < n; ++i)
        __builtin_prefetch(&bits[places[i] / word_bits], 1);
    for (uint32_t i = 0; i < n; ++i) {
        uint64_t &word = bits[places[i] / word_bits];
        const uint64_t bit = uint64_t(1) << (places[i] % word_bits);
        if ((load(word) & bit) == 0)
            __atomic_fetch_or(&word, bit, __ATOMIC_RELAXED);
    }
}

void DistinctValues::add_to_set(Argument &argument, unsigned worker, const uint32_t *numbers, Vec v, uint32_t n) {
    std::unique_ptr<ValueSet> &set = argument.sets[worker];
    if (!set)
        set = std::make_unique<ValueSet>(work_, secret_);
    uint64_t low[batch_rows + batch_slack], high[batch_rows + batch_slack];
    key_words(argument.key.type, n, v.values, low, high);
    const bool two = words_of(argument.key.type) == 2;
    for (uint32_t i = 0; i < n; ++i)
        if (v.nulls == nullptr || !v.nulls[i])
            set->add(numbers[i], low[i], two ? high[i] : 0);
}

// Each part of all threads becomes one set, and each of its pairs counts in its group.
void DistinctValues::end_sets(Argument &argument) {
    std::vector<std::unique_ptr<ValueSet>> sets = std::move(argument.sets);
    sets.erase(std::remove(sets.begin(), sets.end(), nullptr), sets.end());
    work_.pool.run(sets.size(), [&](size_t i, unsigned) { sets[i]->end(); });
    struct Worker {
        explicit Worker(const WorkMemoryRef &memory) : pairs(memory), slots(memory), states(memory) {}
        WorkArray<ValuePair> pairs;
        WorkArray<uint32_t> slots;
        WorkArray<AggregateState> states; // by number
    };
    std::vector<Worker> workers;
    for (unsigned i = 0; i < work_.pool.workers(); ++i)
        workers.emplace_back(work_.memory);
    const bool adds = argument.adds(), two = words_of(argument.key.type) == 2;
    work_.pool.run(ValueSet::parts, [&](size_t part, unsigned worker) {
        work_.check_cancel();
        Worker &own = workers[worker];
        if (own.states.empty())
            own.states.resize(grouping_.domain, AggregateState());
        own.pairs.resize(0);
        for (const std::unique_ptr<ValueSet> &set : sets) {
            own.pairs.append(set->part(part).data(), set->part(part).size());
            set->release(part);
        }
        CancelPoint cancel(work_.cancel);
        remove_repetitions(own.pairs, own.slots, cancel);
        for (const ValuePair &pair : own.pairs) {
            AggregateState one;
            one.count = 1;
            if (adds) {
                one.low = pair.low;
                one.high = two ? static_cast<int64_t>(pair.high) : static_cast<int64_t>(pair.low) < 0 ? -1 : 0;
            }
            add_distinct_values(own.states[pair.group - 1], one);
        }
    });
    argument.states.resize(grouping_.domain, AggregateState());
    for (const Worker &worker : workers)
        for (size_t number = 0; number < worker.states.size(); ++number)
            add_distinct_values(argument.states[number], worker.states[number]);
}

uint32_t DistinctValues::number_of(const GroupTable &groups, size_t group) const {
    const size_t nkeys = grouping_.keys.size();
    uint32_t number = 0;
    for (size_t k = 0; k < nkeys; ++k) {
        const Grouping::Key &key = grouping_.keys[k];
        const uint64_t index = groups.key_nulls[group * nkeys + k]
                                   ? static_cast<uint64_t>(key.max - key.min + 1)
                                   : groups.keys[group * nkeys + k].low - static_cast<uint64_t>(key.min);
        number += static_cast<uint32_t>(index) * key.stride;
    }
    return number;
}

// Of a group's words first .. last - 1.
AggregateState DistinctValues::state_of(const Argument &argument, uint32_t number, size_t first, size_t last) {
    const Grouping::Key &key = argument.key;
    const uint64_t *const words = &argument.bits[number * argument.words()];
    const uint32_t null_place = static_cast<uint32_t>(key.max - key.min + 1);
    const bool adds = argument.adds();
    AggregateState state;
    uint64_t places = 0; // their sum
    for (size_t w = first; w < last; ++w) {
        uint64_t word = words[w];
        if (w == null_place / word_bits)
            word &= ~(uint64_t(1) << (null_place % word_bits));
        state.count += __builtin_popcountll(word);
        for (; adds && word != 0; word &= word - 1)
            places += w * word_bits + static_cast<unsigned>(__builtin_ctzll(word));
    }
    if (adds) {
        const int128 sum = static_cast<int128>(state.count) * key.min + static_cast<int128>(places);
        state.low = static_cast<uint64_t>(sum);
        state.high = static_cast<int64_t>(sum >> 64);
    }
    return state;
}

GroupTable DistinctValues::with_states(GroupTable &&groups) {
    const size_t nplain = naggregates_, ndistincts = arguments_.size(), nstates = nplain + ndistincts;
    WorkArray<AggregateState> states(work_.memory);
    states.resize(groups.ngroups * nstates);
    work_.pieces(groups.ngroups, piece_rows, [&](size_t begin, size_t end) {
        for (size_t g = begin; g < end; ++g)
            std::copy_n(groups.states.data() + g * nplain, nplain, states.data() + g * nstates);
    });
    for (size_t d = 0; d < ndistincts; ++d) {
        Argument &argument = arguments_[d];
        if (!argument.sets.empty()) {
            end_sets(argument);
            for (size_t g = 0; g < groups.ngroups; ++g)
                states[g * nstates + nplain + d] = argument.states[number_of(groups, g)];
            continue;
        }
        // Of one group with many bits each part is counted by itself.
        const size_t words = argument.words(), parts = (words + counted_words - 1) / counted_words;
        WorkArray<AggregateState> counted(work_.memory);
        counted.resize(groups.ngroups * parts);
        work_.pieces(groups.ngroups * parts, std::max<size_t>(counted_words / words, 1), [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i)
                counted[i] = state_of(argument, number_of(groups, i / parts), words * (i % parts) / parts,
                                      words * (i % parts + 1) / parts);
        });
        for (size_t g = 0; g < groups.ngroups; ++g) {
            AggregateState &state = states[g * nstates + nplain + d];
            state = AggregateState();
            for (size_t part = 0; part < parts; ++part)
                add_distinct_values(state, counted[g * parts + part]);
        }
    }
    groups.states = std::move(states);
    return std::move(groups);
}

} // namespace gpuscan::host
