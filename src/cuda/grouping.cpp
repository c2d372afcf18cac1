// How do rows find their group on the GPU? By arithmetic where the ranges of the keys are small enough for a table with an
// entry for every combination, in shared memory if that table is small; else by a hash table, whose key is one word if
// the bits of all keys fit into it. Sums get as many bits as the ranges of their values demand.
//
// A hash table is made for as many groups as the kernel found when it last ran. The first time they are counted before, by
// a sketch (runtime.cuh: sketch_add): that reads the keys once more, where a table that turns out too small costs a
// repetition of everything. Should it be too small all the same, it is made larger and the run repeated. Groups whose table
// is too large for the memory left are done in several passes over the rows, each for a part of the hashes.
#include <algorithm>
#include <cmath>

#include "cuda/execution_state.hpp"
#include "device/status.cuh"

namespace gpuscan::cuda {

using codegen::AggregateWords;
using codegen::GroupingKind;
using codegen::SumKind;
using codegen::TableShape;

constexpr uint64_t max_group_slots = 0xffff0000u;
constexpr size_t cached_table_bytes = 16u << 20;
constexpr unsigned min_cells = 4; // a bucket (runtime.cuh: claim_cell)
constexpr uint64_t max_parts = 1024;
constexpr double max_unsuited_rows = 32e6; // would take 30 ms if all were of one group

void CudaExecution::plan_sums(const Pipeline &pipeline, const Input &input, ValueRanges &ranges,
                              codegen::GroupShape &group, bool loops) {
    const int128 rows = loops ? static_cast<int128>(UINT32_MAX) : static_cast<int128>(input.rows);
    for (Index i = 0; i < pipeline.aggregates.count; ++i) {
        const Aggregate &aggregate = program_.aggregates[pipeline.aggregates.first + i];
        SumKind kind = SumKind::Narrow;
        if (aggregate.kind == AggregateKind::Sum) {
            const Type type = program_.exprs[aggregate.arg].type;
            if (is_float(type)) {
                kind = SumKind::Double;
            } else {
                const ValueRange &range = ranges.of(aggregate.arg);
                const int128 bound = range.known ? std::max(range.max, -range.min) : 0;
                const bool narrow = range.known && bound * std::max<int128>(rows, 1) <= INT64_MAX;
                kind = narrow ? SumKind::Narrow : type == Type::I128 ? SumKind::Digits : SumKind::Halves;
            }
        }
        group.sums.push_back(kind);
    }
}

// Can the number of a group be computed from its keys? Fills `keys` either way: for a hash table of one word each key
// gets the bits of its range, or of its type. `best`: Hash or Wide if nothing better is wanted.
bool CudaExecution::plan_dense(const Pipeline &pipeline, const Input &input, ValueRanges &ranges, GroupingKind best,
                               codegen::Request &request, std::vector<KeyPlan> &keys, uint64_t &extent) {
    const uint64_t bound = std::max<uint64_t>(state_->groups.dense_groups, 4 * input.rows);
    bool dense = best == GroupingKind::Dense;
    bool one_word = best != GroupingKind::Wide;
    unsigned bits = 0;
    extent = 1;
    for (Index i = 0; i < pipeline.keys.count; ++i) {
        const Index expr = program_.lists[pipeline.keys.first + i];
        KeyPlan key;
        key.type = program_.exprs[expr].type;
        key.nullable = codegen::nullable(request, expr);
        ValueRange range = ranges.of(expr);
        if (key.type == Type::F32)
            range = ValueRange::of(0, UINT32_MAX); // its bits
        const int128 span = range.known ? range.max - range.min + 1 + (key.nullable ? 1 : 0) : 0;
        if (range.known && span > 0 && span < (static_cast<int128>(1) << 62)) {
            key.min = range.min;
            key.extent = static_cast<uint64_t>(span);
            if (dense && key.extent <= bound && extent <= bound / key.extent)
                extent *= key.extent;
            else
                dense = false;
        } else {
            dense = false;
            one_word = false;
        }
        keys.push_back(key);
    }
    dense = dense && extent < 0xffffffffu;
    uint64_t stride = 1;
    for (KeyPlan &key : keys) {
        if (dense) {
            key.factor = stride;
            key.modulus = key.extent;
            stride *= key.extent;
        } else if (one_word) {
            unsigned width = 0;
            while (width < 64 && ((key.extent - 1) >> width) != 0)
                ++width;
            if (bits + width > 63) {
                one_word = false;
            } else {
                key.factor = 1ULL << bits;
                key.modulus = 1ULL << width;
                bits += width;
            }
        }
    }
    request.group.grouping = dense ? GroupingKind::Dense : one_word ? GroupingKind::Hash : GroupingKind::Wide;
    return dense;
}

// Where groups stand while rows come in: what of them a block keeps in shared memory. `shared` becomes its bytes.
void CudaExecution::plan_block(codegen::Request &request, uint64_t extent, size_t &shared) {
    const GroupTuning &tuning = state_->groups;
    codegen::GroupShape &group = request.group;
    const Pipeline &pipeline = program_.main();
    const size_t most = state_->shared_per_block - std::min<size_t>(state_->shared_per_block, 1024);
    shared = 0;
    const bool filtered = pipeline.conjuncts.count > 0 || pipeline.joins.count > 0;
    group.side_by_side = tuning.side_by_side && !filtered;
    if (group.grouping == GroupingKind::Dense) {
        codegen::Request trial = request;
        trial.group.grouping = GroupingKind::Shared;
        const size_t bytes = std::max<size_t>(1, extent * generate(trial).cell_bytes);
        // Where few rows may come, a large table to clear and to merge would cost more than it saves, and the join
        // tables want the memory for their cache.
        const size_t large = filtered ? 0 : std::min(tuning.large_bytes, most);
        if (bytes <= std::max(large, tuning.block_bytes)) {
            group.grouping = GroupingKind::Shared;
            size_t room = tuning.block_bytes;
            if (bytes * tuning.min_copies > room && large > room) {
                room = large;
                group.threads = tuning.large_threads;
            }
            while (group.copies < tuning.copies && bytes * group.copies * 2 <= room &&
                   (group.copies < tuning.min_copies || extent * group.copies < tuning.spread))
                group.copies *= 2;
            shared = (bytes * group.copies + 7) / 8 * 8;
            return;
        }
    }
    if (tuning.combine && group.grouping == GroupingKind::Dense) {
        group.combine = true;
        for (Index i = 0; i < pipeline.aggregates.count; ++i) {
            const Aggregate &aggregate = program_.aggregates[pipeline.aggregates.first + i];
            group.combine =
                group.combine && (aggregate.kind == AggregateKind::CountRows ||
                                  (aggregate.kind == AggregateKind::Sum && group.sums[i] == SumKind::Narrow &&
                                   !codegen::nullable(request, aggregate.arg)));
        }
        if (group.combine)
            return;
    }
    bool wide_extremes = false; // which stand in device memory only
    for (Index i = 0; i < pipeline.aggregates.count; ++i) {
        const Aggregate &aggregate = program_.aggregates[pipeline.aggregates.first + i];
        wide_extremes =
            wide_extremes || ((aggregate.kind == AggregateKind::Min || aggregate.kind == AggregateKind::Max) &&
                              program_.exprs[aggregate.arg].type == Type::I128);
    }
    if (tuning.cells == 0 || filtered || wide_extremes || group.grouping == GroupingKind::Wide)
        return;
    group.cells = tuning.cells;
    group.copies = tuning.cell_copies;
    const Kernel trial = generate(request);
    while (group.cells > min_cells &&
           group.cells * (group.copies * trial.cell_bytes + trial.tag_bytes) > tuning.block_bytes)
        group.cells /= 2;
    if (group.cells * (group.copies * trial.cell_bytes + trial.tag_bytes) > tuning.block_bytes) {
        group.cells = 0;
        group.copies = 1;
        return;
    }
    shared = group.cells * (group.copies * trial.cell_bytes + trial.tag_bytes);
}

codegen::Request CudaExecution::counting(codegen::Request request) {
    request.group.count_only = true;
    request.group.cells = 0;
    request.group.threads = codegen::block_threads;
    return request;
}

// An estimate of the number of groups.
uint64_t CudaExecution::count_groups(const codegen::Request &grouping, const Input &input,
                                     const std::vector<KeyPlan> &keys) {
    const codegen::Request request = counting(grouping);
    const Kernel kernel = generate(request);
    ModuleRef module = get_module(kernel.source);
    const BufferRef sketch = zeroed(codegen::sketch_registers * sizeof(uint32_t));
    std::vector<uint64_t> words = argument(kernel, request.pipeline, input);
    words[kernel.sink + AggregateWords::table] = address_of(*sketch);
    put_keys(kernel, request.group, keys, words);
    const std::unique_ptr<PinnedMemory::Piece> copy = state_->pinned->allocate(sketch->size);
    streams_->reset_control();
    run_slices(kernel, module, words, input, codegen::block_threads, 0, 1e7);
    streams_->copy_out(copy->data, address_of(*sketch), sketch->size);
    streams_->fetch_control();
    stats_.kernel_us += streams_->wait(cancel_);
    check_status();
    const uint32_t *const ranks = static_cast<const uint32_t *>(copy->data);
    double sum = 0;
    uint64_t empty = 0;
    for (unsigned i = 0; i < codegen::sketch_registers; ++i) {
        sum += std::ldexp(1.0, -static_cast<int>(ranks[i]));
        empty += ranks[i] == 0;
    }
    const double m = codegen::sketch_registers;
    double estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    if (estimate < 2.5 * m && empty > 0)
        estimate = m * std::log(m / static_cast<double>(empty));
    return static_cast<uint64_t>(estimate * 1.1) + 1;
}

void CudaExecution::put_keys(const Kernel &kernel, const codegen::GroupShape &group, const std::vector<KeyPlan> &keys,
                             std::vector<uint64_t> &words) const {
    for (size_t i = 0; i < keys.size() && group.grouping != GroupingKind::Wide; ++i) {
        words[kernel.sink + AggregateWords::key(i)] = static_cast<uint64_t>(keys[i].min) - (keys[i].nullable ? 1 : 0);
        words[kernel.sink + AggregateWords::key(i) + 1] = keys[i].factor;
    }
}

GroupPlan CudaExecution::plan_groups(codegen::Request request, const Input &input, GroupingKind best) {
    Pipeline pipeline = program_.main();
    ValueRanges ranges = this->ranges(pipeline, input);
    GroupPlan plan;
    plan.request = std::move(request);
    codegen::GroupShape &group = plan.request.group;
    if (!group.values.empty())
        pipeline.keys.count = pipeline.result_keys;
    bool loops = false;
    for (const TableShape *shape : plan.request.tables)
        loops = loops || !shape->unique;
    plan_sums(pipeline, input, ranges, group, loops);
    group.grouping = GroupingKind::None;
    if (pipeline.keys.count > 0 && plan_dense(pipeline, input, ranges, best, plan.request, plan.keys, plan.extent) &&
        plan.extent * generate(plan.request).entry_words * sizeof(uint64_t) > state_->groups.dense_bytes)
        group.grouping = GroupingKind::Hash; // too large a table: by key then, in one word, as the numbers are
    if (group.grouping != GroupingKind::None)
        plan_block(plan.request, plan.extent, plan.shared);
    if (!group.values.empty() && group.grouping != GroupingKind::Hash && group.grouping != GroupingKind::Wide)
        plan.noted = plan_values(ranges, plan.extent, loops ? HUGE_VAL : static_cast<double>(input.rows));
    for (size_t d = 0; d < plan.noted.size(); ++d)
        group.values[d] = plan.noted[d].by;
    plan.kernel = generate(plan.request);
    return plan;
}

// Makes `plan` one that the speculative kernel can carry out. Since what bounds its keys and values was wider than what is
// there now, that kernel may keep fewer copies of a group, longer sums, or groups where another form would be better; this
// only where not too many rows come to them.
bool CudaExecution::plan_as_speculated(const SpeculativeKernel &speculative, const Input &input, GroupPlan &plan) {
    codegen::Request request = plan.request;
    const codegen::GroupShape &begun = speculative.request.group;
    request.group = codegen::GroupShape();
    request.group.values = begun.values;
    if (begun.values.size() != plan.request.group.values.size() || !adapt(request, speculative))
        return false;
    const bool hashed = begun.grouping == GroupingKind::Hash || begun.grouping == GroupingKind::Wide;
    GroupPlan other = plan_groups(std::move(request), input, hashed ? begun.grouping : GroupingKind::Dense);
    const codegen::GroupShape &wanted = plan.request.group;
    codegen::GroupShape &group = other.request.group;
    const bool same_form = group.grouping == begun.grouping ||
                           (group.grouping == GroupingKind::Shared && begun.grouping == GroupingKind::Dense);
    const bool unsuited = wanted.grouping != begun.grouping &&
                          static_cast<double>(input.rows) * passing(program_.main()) > max_unsuited_rows;
    const bool same_values = group.values == begun.values && other.noted.size() == begun.values.size();
    if (!same_form || unsuited || !same_values ||
        (begun.grouping == GroupingKind::Shared && other.extent > speculative.extent))
        return false;
    for (size_t i = 0; i < group.sums.size(); ++i)
        if (group.sums[i] != begun.sums[i] && group.sums[i] != SumKind::Narrow)
            return false;
    group = begun;
    other.shared = speculative.shared;
    other.kernel = generate(other.request);
    if (other.kernel.source != speculative.source)
        return false;
    plan = std::move(other);
    return true;
}

void CudaExecution::use_speculative(Index index, const Input &input, GroupPlan &plan) {
    const SpeculativeKernel *speculative = in_the_making(index, plan.kernel.source);
    if (speculative == nullptr)
        return;
    GroupPlan other = plan;
    if (plan_as_speculated(*speculative, input, other) && widen(index, *speculative)) {
        missed_.push_back(plan.kernel.source);
        plan = std::move(other);
    }
}

GroupTable CudaExecution::aggregate(const std::vector<ChunkView> &chunks) {
    groups_dropped_ = 0;
    const Index index = static_cast<Index>(program_.pipelines.size() - 1);
    const Input input = describe(program_.main(), chunks);
    GroupPlan plan = plan_groups(request(index, input), input);
    use_speculative(index, input, plan);
    const GroupingKind grouping = plan.request.group.grouping;
    const bool hashed = grouping == GroupingKind::Hash || grouping == GroupingKind::Wide;
    stats_.grouping = grouping == GroupingKind::None ? "none" : hashed ? "hash" : "dense";
    const ModuleRef module = get_module(plan.kernel.source);
    std::vector<uint64_t> words = argument(plan.kernel, index, input);
    words[plan.kernel.sink + AggregateWords::extent] = plan.extent;
    put_keys(plan.kernel, plan.request.group, plan.keys, words);
    GroupTable groups =
        hashed ? aggregate_by_hash(plan, module, words, input) : aggregate_by_number(plan, module, words, input);
    catch_up();
    return groups;
}

// The table has an entry for every number.
GroupTable CudaExecution::aggregate_by_number(const GroupPlan &plan, const ModuleRef &module,
                                              std::vector<uint64_t> &words, const Input &input) {
    const auto &[r, keys, extent, shared, kernel, noted] = plan;
    const size_t bytes = extent * kernel.entry_words * sizeof(uint64_t);
    // A small table stands beside the status and comes with it, of a larger one its groups, if they are few: one wait for a
    // hot query.
    const bool direct = bytes <= StreamContext::max_results;
    streams_->reset_control();
    const BufferRef table = direct ? nullptr : zeroed(bytes);
    words[kernel.sink + AggregateWords::table] = direct ? streams_->results(bytes) : address_of(*table);
    run_slices(kernel, module, words, input, r.group.threads, shared, 1e7);
    if (!direct)
        return read_few_entries(kernel, r.group, *table, extent, keys);
    streams_->fetch_control(bytes);
    stats_.kernel_us += streams_->wait(cancel_);
    check_status();
    GroupTable groups(state_->work_memory);
    stats_.link_bytes += bytes;
    const uint64_t *const all = static_cast<const uint64_t *>(streams_->fetched_results());
    std::vector<uint64_t> numbers;
    for (uint64_t g = 0; g < extent; ++g)
        if (all[g * kernel.entry_words] != 0 || keys.empty())
            numbers.push_back(g);
    make_room(groups, numbers.size(), keys.size(), kernel);
    for (size_t i = 0; i < numbers.size(); ++i)
        stats_.rows_out +=
            put_group(groups, i, kernel, r.group, all + numbers[i] * kernel.entry_words, numbers[i], keys);
    return groups;
}

// The table has entries for the groups there are.
GroupTable CudaExecution::aggregate_by_hash(const GroupPlan &plan, const ModuleRef &module,
                                            std::vector<uint64_t> &words, const Input &input) {
    const Kernel &kernel = plan.kernel;
    const codegen::Request &r = plan.request;
    const std::vector<KeyPlan> &keys = plan.keys;
    const GroupTuning &tuning = state_->groups;
    const size_t slot_bytes = kernel.slot_words * sizeof(uint64_t);
    const uint64_t before = state_->group_counts.get(kernel.source);
    uint64_t expected = before != 0                         ? before + before / 8
                        : input.rows >= tuning.counted_rows ? count_groups(r, input, keys)
                                                            : input.rows;
    if (!kernel.loops)
        expected = std::min(expected, input.rows);
    for (;;) {
        // Fewer collisions while the table stays in the GPU's cache, less memory beyond it.
        const uint64_t generous = 4 * expected * slot_bytes <= cached_table_bytes ? 4 * expected : 0;
        const uint64_t wanted = std::max({tuning.min_slots, generous, expected + expected / 2 + 64});
        const uint64_t room = std::max<uint64_t>(
            tuning.min_slots, std::min(max_group_slots, std::min(tuning.table_bytes, table_room()) / slot_bytes));
        const uint64_t parts = (wanted + room - 1) / room;
        const uint64_t slots = parts == 1 ? wanted : std::min(room, wanted / parts + wanted / parts / 8 + 64);
        if (parts > max_parts)
            throw OutOfDeviceMemory("the groups do not fit into the GPU's memory");
        if (parts > 1)
            keep_groups_ = false; // each part's groups make room for the next
        const BufferRef table = streams_->memory().allocate(slots * slot_bytes);
        words[kernel.sink + AggregateWords::table] = address_of(*table);
        words[kernel.sink + AggregateWords::counter] = streams_->groups_word();
        words[kernel.sink + AggregateWords::slots] = slots;
        words[kernel.sink + AggregateWords::parts] = parts;
        GroupTable groups(state_->work_memory);
        bool full = false;
        for (uint64_t part = 0; part < parts && !full; ++part) {
            words[kernel.sink + AggregateWords::part] = part;
            streams_->reset_control();
            streams_->fill(address_of(*table), 0, slots * slot_bytes);
            run_slices(kernel, module, words, input, r.group.threads, plan.shared, 1e6);
            streams_->fetch_control();
            stats_.kernel_us += streams_->wait(cancel_);
            check_status(true);
            full = streams_->fetched().status & status_table_full;
            if (!full)
                read_entries(kernel, r.group, *table, slots, keys, groups);
        }
        if (!full) {
            const uint64_t all = groups.ngroups + groups_left() + groups_dropped_;
            state_->group_counts.put(kernel.source, std::max<uint64_t>(1, all)); // 0: never run
            return groups;
        }
        stats_.rows_out = 0;
        groups_dropped_ = 0;
        expected = std::max(expected, slots * parts) * 2;
    }
}

// What a hash table may take of the GPU's memory: the rest is for reading its groups, and for others.
size_t CudaExecution::table_room() const {
    const size_t limit = state_->memory->limit();
    const size_t used = state_->memory->used();
    return used < limit ? (limit - used) / 2 : 0;
}

} // namespace gpuscan::cuda
