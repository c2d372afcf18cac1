// How do rows find their group on the GPU? By arithmetic where the ranges of the keys are small enough for a table with an
// entry for every combination, in shared memory if that table is tiny; else by a hash table, whose key is one word if
// the bits of all keys fit into it. Sums get as many bits as the ranges of their values demand.
//
// A hash table starts small; one that turns out too small is made eight times larger and the run repeated.
#include <algorithm>

#include "cuda/execution_state.hpp"
#include "cuda/status.cuh"

namespace gpuscan::cuda {

using codegen::AggregateWords;
using codegen::Grouping;
using codegen::SumKind;
using codegen::TableShape;

constexpr size_t shared_group_bytes = 32768;     // group tables up to here stand in shared memory
constexpr uint64_t dense_groups = 1u << 20;      // group tables up to here may be dense whatever the rows
constexpr size_t dense_group_bytes = 512u << 20; // and never larger than this
constexpr size_t direct_copy_bytes = 1u << 20;   // group tables up to here are copied whole
constexpr uint64_t first_group_slots = 1u << 18;
constexpr uint64_t max_group_slots = 1u << 30;

void CudaExecution::plan_sums(const Pipeline &pipeline, const Input &input, const RangeSources &sources,
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
                const ValueRange range = value_range(program_, aggregate.arg, sources);
                const int128 bound = range.known ? std::max(range.max, -range.min) : 0;
                const bool narrow = range.known && bound * std::max<int128>(rows, 1) <= INT64_MAX;
                kind = narrow ? SumKind::Narrow : type == Type::I128 ? SumKind::Digits : SumKind::Halves;
            }
        }
        group.sums.push_back(kind);
    }
}

// Can the number of a group be computed from its keys? Fills `keys` either way: for a hash table of one word each key
// gets the bits of its range, or of its type.
bool CudaExecution::plan_dense(const Pipeline &pipeline, const Input &input, const RangeSources &sources,
                               codegen::Request &request, std::vector<KeyPlan> &keys, uint64_t &extent) {
    const uint64_t bound = std::max<uint64_t>(dense_groups, 4 * input.rows);
    bool dense = true;
    bool one_word = true;
    unsigned bits = 0;
    extent = 1;
    for (Index i = 0; i < pipeline.keys.count; ++i) {
        const Index expr = program_.lists[pipeline.keys.first + i];
        KeyPlan key;
        key.type = program_.exprs[expr].type;
        key.nullable = codegen::nullable(request, expr);
        ValueRange range = value_range(program_, expr, sources);
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
    request.group.grouping = dense ? Grouping::Dense : one_word ? Grouping::Hash : Grouping::Wide;
    return dense;
}

GroupTable CudaExecution::aggregate(const std::vector<ChunkView> &chunks) {
    const Index index = static_cast<Index>(program_.pipelines.size() - 1);
    const Pipeline &pipeline = program_.pipelines[index];
    const Input input = describe(pipeline, chunks);
    codegen::Request r = request(index, input);
    const RangeSources sources = range_sources(pipeline, input);
    bool loops = false;
    for (const TableShape *shape : r.tables)
        loops = loops || !shape->unique;
    plan_sums(pipeline, input, sources, r.group, loops);

    std::vector<KeyPlan> keys;
    uint64_t extent = 1;
    r.group.grouping = Grouping::None;
    bool dense = true;
    if (pipeline.keys.count > 0)
        dense = plan_dense(pipeline, input, sources, r, keys, extent);

    Kernel kernel = codegen::generate(r);
    size_t entry_bytes = kernel.entry_words * sizeof(uint64_t);
    if (dense && pipeline.keys.count > 0) {
        if (extent * entry_bytes <= shared_group_bytes) {
            r.group.grouping = Grouping::Shared;
            while (r.group.copies < 32 && extent * entry_bytes * r.group.copies * 2 <= shared_group_bytes)
                r.group.copies *= 2;
            kernel = codegen::generate(r);
        } else if (extent * entry_bytes > dense_group_bytes) {
            // Too large a table: by key then, in one word if the numbers fit (they do, they were counted above).
            dense = false;
            r.group.grouping = Grouping::Hash;
            kernel = codegen::generate(r);
        }
    }
    const bool hashed = r.group.grouping == Grouping::Hash || r.group.grouping == Grouping::Wide;
    const size_t shared = r.group.grouping == Grouping::Shared ? extent * entry_bytes * r.group.copies : 0;
    stats_.grouping = r.group.grouping == Grouping::None ? "none" : hashed ? "hash" : "dense";

    ModuleRef module = state_->kernels->get(kernel.source, cancel_, &stats_.compile_us);
    const CUfunction function = module->function(Kernel::name);
    uint64_t slots = std::min(first_group_slots, power_of_two(2 * input.rows + 1024));
    for (;;) {
        const uint64_t entries = hashed ? slots : extent;
        lane_->reset_control();
        const BufferRef table = zeroed(entries * entry_bytes);
        std::vector<uint64_t> words = argument(kernel, index, input);
        words[kernel.sink + AggregateWords::table] = address_of(*table);
        words[kernel.sink + AggregateWords::extent] = extent;
        const size_t key_words = r.group.grouping == Grouping::Wide ? kernel.key_words : 1;
        BufferRef key_table, state_table;
        if (hashed) {
            key_table = zeroed(entries * key_words * sizeof(uint64_t));
            words[kernel.sink + AggregateWords::keys] = address_of(*key_table);
            if (r.group.grouping == Grouping::Wide) {
                state_table = zeroed(entries * sizeof(uint32_t));
                words[kernel.sink + AggregateWords::states] = address_of(*state_table);
            }
            words[kernel.sink + AggregateWords::counter] = lane_->groups_word();
            words[kernel.sink + AggregateWords::mask] = entries - 1;
            words[kernel.sink + AggregateWords::limit] = entries / 2;
        }
        for (size_t i = 0; i < keys.size() && r.group.grouping != Grouping::Wide; ++i) {
            words[kernel.sink + AggregateWords::key(i)] =
                static_cast<uint64_t>(keys[i].min) - (keys[i].nullable ? 1 : 0);
            words[kernel.sink + AggregateWords::key(i) + 1] = keys[i].factor;
        }
        run_slices(kernel, function, words, input, codegen::block_threads, shared, hashed ? 1e6 : 1e7);
        // Small tables come with the status: one wait for a hot query.
        const bool direct = !hashed && entries * entry_bytes <= direct_copy_bytes;
        std::unique_ptr<PinnedMemory::Piece> copy;
        if (direct) {
            copy = state_->pinned->allocate(entries * entry_bytes);
            lane_->copy_out(copy->data, address_of(*table), entries * entry_bytes);
        }
        lane_->fetch_control();
        stats_.kernel_us += lane_->wait(cancel_);
        check_status(true);
        if (lane_->fetched().status & status_table_full) {
            if (slots >= max_group_slots)
                throw DeviceError("more groups than a table on the GPU holds");
            slots *= 8;
            continue;
        }
        GroupTable groups;
        if (direct) {
            stats_.link_bytes += entries * entry_bytes;
            const uint64_t *const all = static_cast<const uint64_t *>(copy->data);
            for (uint64_t g = 0; g < entries; ++g)
                if (all[g * kernel.entry_words] != 0 || pipeline.keys.count == 0)
                    add_group(groups, kernel, r.group, all + g * kernel.entry_words, nullptr, g, keys);
        } else {
            groups = read_entries(kernel, r.group, *table, key_table.get(), entries, keys);
        }
        return groups;
    }
}

} // namespace gpuscan::cuda
