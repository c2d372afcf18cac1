// Running pipelines: what a program needs is known only when its chunks are there, so kernels are chosen per run.
//
//   run_build     one kernel collects the rows that pass into arrays; a second finds the range of every column
//   finish_build  chooses the form of the table by those ranges and builds it (both: joins/join_build.cpp)
//   run_aggregate chooses how groups are found by the ranges of the keys, runs the fused kernel (grouping.cpp) and reads
//                 the groups (group_values.cpp)
//   run_rows      runs the fused kernel, which writes rows, slice by slice (rows.cpp)
//
// Here is what every run does: it describes its chunks, fills in the kernel's argument and launches. A launch covers a
// slice of the tiles, sized so that it ends within some 20 ms; between slices the session may be cancelled.
#include "cuda/execution.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/execution_state.hpp"
#include "cuda/masks.hpp"
#include "device/status.cuh"

namespace gpuscan::cuda {

using codegen::ChunkWords;

constexpr uint64_t max_argument_words = 3900; // a kernel's argument: 32 KB since CUDA 12.1
constexpr double slice_ms = 20;
constexpr double max_parts = 65535; // rows of blocks that a grid may have
// A build of so many rows writes them without gathering them first: a warp reserves its place with one atomic for up to 128
// rows, which is no queue yet, and the kernel takes a fifth less time to compile.
constexpr uint64_t few_build_rows = 2u << 20;
constexpr size_t near_table_bytes = 128 << 10; // a join table that stays in an L1 cache
constexpr size_t far_table_bytes = 24 << 20;   // in the L2 cache
// Consecutive tiles that a block takes at a time. On an H200 4 were 5 to 10 per cent faster than 1, 16 some 3 per cent
// faster than 4, and one share for each block no faster than 16; but where few tiles have work those should be spread.
constexpr uint64_t longest_turn = 16;

// ---- input -------------------------------------------------------------------------------------------------------

// What kernels depend on, and how much it is.
CudaExecution::Input CudaExecution::survey(const Pipeline &pipeline, const std::vector<ChunkView> &chunks) const {
    const Range columns = program_.sources[pipeline.source].columns;
    Input input;
    input.nullable.assign(columns.count, 0);
    input.ranges.assign(columns.count, ValueRange());
    std::vector<bool> unknown(columns.count, false);
    input.forms.assign(columns.count, codegen::form_any);
    for (const ChunkView &chunk : chunks) {
        if (chunk.nrows == 0)
            continue;
        if (chunk.columns.size() < columns.count)
            throw DeviceError("a chunk has fewer columns than its source");
        input.tiles += (static_cast<uint64_t>(chunk.nrows) + codegen::tile_rows - 1) / codegen::tile_rows;
        input.rows += chunk.nrows;
        ++input.chunks;
        for (Index c = 0; c < columns.count; ++c) {
            const ColumnView &view = chunk.columns[c];
            const SourceColumn &column = program_.source_columns[columns.first + c];
            if (view.type != column.type)
                throw DeviceError("a chunk's column has another type than its source");
            const uint8_t form = codegen::form_of(view.frame);
            if (input.chunks == 1)
                input.forms[c] = form;
            else if (input.forms[c] != form)
                input.forms[c] = codegen::form_any;
            input.nullable[c] |= view.nulls != nullptr && column.nullable;
            if (!view.has_range) {
                unknown[c] = true;
            } else if (view.min <= view.max) { // else: no value at all
                ValueRange &range = input.ranges[c];
                range = range.known ? ValueRange::of(std::min<int128>(range.min, view.min),
                                                     std::max<int128>(range.max, view.max))
                                    : ValueRange::of(view.min, view.max);
            }
        }
    }
    for (Index c = 0; c < columns.count; ++c) {
        if (unknown[c])
            input.ranges[c] = ValueRange();
        else if (!input.ranges[c].known)
            input.ranges[c] = ValueRange::of(0, 0);
    }
    return input;
}

// The same, with the chunks described in device memory.
CudaExecution::Input CudaExecution::describe(const Pipeline &pipeline, const std::vector<ChunkView> &chunks) {
    Input input = survey(pipeline, chunks);
    const Index columns = static_cast<Index>(input.forms.size());
    const DeviceMasks masks = put_masks(*state_, *streams_, chunks);
    std::vector<uint64_t> words;
    words.reserve(chunks.size() * ChunkWords::count(columns));
    uint64_t tile = 0;
    for (size_t i = 0; i < chunks.size(); ++i) {
        const ChunkView &chunk = chunks[i];
        if (chunk.nrows == 0)
            continue;
        const size_t at = words.size();
        words.resize(at + ChunkWords::count(columns), 0);
        words[at + ChunkWords::tile_first] = tile;
        tile += (static_cast<uint64_t>(chunk.nrows) + codegen::tile_rows - 1) / codegen::tile_rows;
        words[at + ChunkWords::tile_end] = tile;
        words[at + ChunkWords::nrows] = chunk.nrows;
        words[at + ChunkWords::mask] = masks.masks[i];
        for (Index c = 0; c < columns; ++c) {
            const ColumnView &view = chunk.columns[c];
            const uint64_t values = reinterpret_cast<uint64_t>(view.values);
            const uint64_t nulls = reinterpret_cast<uint64_t>(view.nulls);
            if (values % 16 != 0 || nulls % 4 != 0)
                throw DeviceError("a chunk's column is not aligned");
            words[at + ChunkWords::values(c)] = values | codegen::form_of(view.frame);
            words[at + ChunkWords::base(c)] = static_cast<uint64_t>(view.frame.base);
            words[at + ChunkWords::nulls(c)] = nulls;
        }
    }
    input.uploaded_masks = masks.uploaded;
    input.patched_masks = masks.patched;
    input.words = streams_->send(words.data(), words.size() * sizeof(uint64_t));
    stats_.link_bytes += masks.link_bytes + words.size() * sizeof(uint64_t);
    stats_.rows_in += input.rows;
    double pairs = static_cast<double>(input.rows);
    for (Index k = 0; k < pipeline.joins.count; ++k) {
        const Join &join = program_.joins[pipeline.joins.first + k];
        const Table &table = table_of(pipeline, k);
        if (!table.shape.unique && delivers_payload(join.kind))
            pairs = pairs_of_join(pairs, table.rows, join.keys.count > 0);
    }
    input.partners = pairs / std::max(1.0, static_cast<double>(input.rows));
    return input;
}

codegen::Request CudaExecution::request(Index index, const Input &input) {
    const Pipeline &pipeline = program_.pipelines[index];
    codegen::Request r;
    r.program = &program_;
    r.pipeline = index;
    r.source_nullable = input.nullable;
    r.row_cache = state_->row_cache;
    r.tried = bounds_[index].added;
    if (pipeline.sink == SinkKind::Build)
        r.row_cache = r.row_cache && (input.rows > few_build_rows || tables_[index]->row_cache);
    r.source_form = input.forms;
    for (const DeviceLookup &lookup : lookups_)
        r.lookup_nullable.push_back(lookup.table && lookup.table->any_null);
    for (Index k = 0; k < pipeline.joins.count; ++k) {
        const Table &table = table_of(pipeline, k);
        if (!table.finished)
            throw DeviceError("a join table is used before it is finished");
        r.tables.push_back(&table.shape);
    }
    if (codegen::order_is_free(r))
        r.probe_order = probe_order(pipeline);
    return r;
}

// The part of the rows that a join lets pass, as far as its table tells: that of the keys that are there.
double CudaExecution::passing(const Pipeline &pipeline, Index k) {
    const Table &table = table_of(pipeline, k);
    const JoinKind kind = program_.joins[pipeline.joins.first + k].kind;
    const double keys = std::max(1.0, static_cast<double>(table.words[codegen::TableWords::extent]));
    const double hit =
        table.shape.kind == TableKind::Hash ? 0.5 : std::min(1.0, static_cast<double>(table.rows) / keys);
    return keeps_rows(kind) ? 1 : kind == JoinKind::Anti ? 1 - hit : hit;
}

double CudaExecution::passing(const Pipeline &pipeline) {
    double part = 1;
    for (Index k = 0; k < pipeline.joins.count; ++k)
        part *= passing(pipeline, k);
    return part;
}

// The join first that drops the most rows for what its probe costs, which grows with the caches that its table does not fit
// into.
std::vector<Index> CudaExecution::probe_order(const Pipeline &pipeline) {
    std::vector<std::pair<double, Index>> ranks;
    for (Index k = 0; k < pipeline.joins.count; ++k) {
        const Table &table = table_of(pipeline, k);
        const size_t bytes = table.entries_bytes;
        const double cost = (bytes <= near_table_bytes  ? 1
                             : bytes <= far_table_bytes ? 3
                                                        : 8) *
                            (table.shape.kind == TableKind::Hash ? 2 : 1);
        ranks.emplace_back(-(1 - passing(pipeline, k)) / cost, k);
    }
    std::stable_sort(ranks.begin(), ranks.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    std::vector<Index> order;
    for (const auto &rank : ranks)
        order.push_back(rank.second);
    return order;
}

// The words that every kernel has; the sink's own are filled in by the caller.
std::vector<uint64_t> CudaExecution::argument(const Kernel &kernel, Index index, const Input &input) {
    const Pipeline &pipeline = program_.pipelines[index];
    if (kernel.words > max_argument_words)
        throw DeviceError("the fragment has too many constants for one kernel");
    std::vector<uint64_t> words(kernel.words, 0);
    words[Kernel::chunks] = address_of(*input.words);
    words[Kernel::chunk_count] = input.chunks;
    words[Kernel::status] = streams_->status_word();
    words[Kernel::cancel] = streams_->cancel_word();
    words[Kernel::turn] = 1;
    for (size_t i = 0; i < kernel.constants.size(); ++i)
        if (kernel.constants[i] != 0) {
            words[kernel.constants[i]] = program_.constants[i].low;
            words[kernel.constants[i] + 1] = static_cast<uint64_t>(program_.constants[i].high);
        }
    for (size_t i = 0; i < kernel.lookups.size(); ++i)
        if (kernel.lookups[i] != 0) {
            if (!lookups_[i].table)
                throw DeviceError("a lookup is used before it is set");
            words[kernel.lookups[i]] = lookups_[i].copy->values;
            words[kernel.lookups[i] + 1] = lookups_[i].copy->nulls;
            words[kernel.lookups[i] + 2] = lookups_[i].table->entries;
        }
    for (Index k = 0; k < pipeline.joins.count; ++k) {
        const Table &table = table_of(pipeline, k);
        std::copy(table.words.begin(), table.words.end(), words.begin() + kernel.joins[k]);
        if (kernel.matched_rows[k] == 0)
            continue;
        BufferRef &matched_rows = matched_rows_[pipeline.joins.first + k];
        if (!matched_rows)
            matched_rows = zeroed(std::max<uint64_t>(table.rows, 1));
        words[kernel.matched_rows[k]] = address_of(*matched_rows);
    }
    return words;
}

// A run that takes so long asks for the full kernel at once, and goes on with it when it is there. True: it is.
bool CudaExecution::take_better(const Kernel &kernel, ModuleRef &module) {
    bool quick = false;
    ModuleRef better = state_->prepared->get(kernel.source, cancel_, nullptr, &quick);
    if (quick)
        state_->prepared->improve(kernel.source);
    if (better == module)
        return false;
    module = std::move(better);
    return true;
}

// Into how many parts the partners of rows are divided: as many as there are idle blocks, and partners of a row.
unsigned CudaExecution::partner_parts(const Kernel &kernel, const Input &input, uint64_t idle) {
    if (!kernel.divides_partners)
        return 1;
    const double parts = std::min({static_cast<double>(idle), input.partners, max_parts});
    return static_cast<unsigned>(std::max(1.0, parts));
}

// Launches the kernel over all tiles, slice by slice; the last slice is not waited for.
void CudaExecution::run_slices(const Kernel &kernel, ModuleRef module, std::vector<uint64_t> &words, const Input &input,
                               unsigned threads, size_t shared, double rows_per_ms) {
    Resident resident = module->resident(Kernel::name, threads, shared);
    unsigned grid = state_->full_grid(resident.blocks);
    const uint64_t teams = threads / codegen::block_threads; // tiles that a block takes at once
    uint64_t least = grid * teams;                           // fewer make no sense
    uint64_t slice = std::max<uint64_t>(least, static_cast<uint64_t>(rows_per_ms * slice_ms) / codegen::tile_rows);
    if (kernel.loops)
        slice = least;
    for (uint64_t tile = 0; tile < input.tiles;) {
        const uint64_t end = std::min(input.tiles, tile + slice);
        const uint64_t rounds = (end - tile + least * longest_turn - 1) / (least * longest_turn);
        const uint64_t turn = (end - tile + least * rounds - 1) / (least * rounds);
        words[Kernel::turn] = turn;
        words[Kernel::tile_begin] = tile;
        words[Kernel::tile_end] = end;
        const uint64_t blocks = std::min<uint64_t>(grid, (end - tile + turn * teams - 1) / (turn * teams));
        running_module_ = module;
        streams_->start_clock();
        streams_->launch(resident.function, static_cast<unsigned>(blocks), threads, shared, words.data(),
                         partner_parts(kernel, input, grid / blocks));
        const uint64_t done = end - tile;
        tile = end;
        if (tile >= input.tiles)
            break;
        const uint64_t us = streams_->wait(cancel_);
        stats_.kernel_us += us;
        const double wanted = slice_ms * 1000 / static_cast<double>(std::max<uint64_t>(us, 100));
        if (take_better(kernel, module)) {
            resident = module->resident(Kernel::name, threads, shared);
            grid = state_->full_grid(resident.blocks);
            least = grid * teams;
        }
        slice = std::max<uint64_t>(least, static_cast<uint64_t>(static_cast<double>(done) * std::min(4.0, wanted)));
    }
}

void CudaExecution::check_status(bool may_be_full) {
    const uint32_t status = streams_->fetched().status;
    table_full_ = table_full_ || (status & status_table_full);
    if (status & status_table_full && may_be_full)
        return; // what else it says is about rows that will be seen again
    if (status & status_row_error)
        throw RowError("a row met an SQL error");
    if (status & status_bad_lookup)
        throw DeviceError("a code or key lies outside its bounds");
}

ValueRanges CudaExecution::ranges(const Pipeline &pipeline, const Input &input) {
    const auto column = [this, &pipeline, &input](const Expr &e) {
        if (e.a == 0)
            return input.ranges[e.b];
        const Table &table = table_of(pipeline, e.a - 1);
        const size_t at = table.shape.keys.size() + e.b;
        if (at >= table.ranges.size() || is_float(e.type) || e.type == Type::I128)
            return ValueRange();
        return ValueRange::of(table.ranges[at].min, table.ranges[at].max);
    };
    const auto lookup = [this](const Expr &e, const ValueRange &) { return lookups_[e.b].range(); };
    return ValueRanges(program_, {column, lookup});
}

// A cached table is copied once and its copy stays with it; another goes the way of all inputs.
void CudaExecution::put_lookup(Index index, LookupRef table) {
    DeviceLookup &lookup = lookups_.at(index);
    std::unique_lock<std::mutex> guard(table->copy_lock, std::defer_lock);
    if (table->id != 0) {
        guard.lock();
        if (auto copy = std::dynamic_pointer_cast<LookupCopy>(table->copy)) {
            lookup.copy = std::move(copy);
            lookup.table = std::move(table);
            return;
        }
    }
    const size_t bytes = table->values.size(), nulls_at = (bytes + 15) / 16 * 16, size = nulls_at + table->nulls.size();
    auto copy = std::make_shared<LookupCopy>();
    if (table->id != 0) {
        copy->buffer = state_->memory->allocate(size);
        uint8_t *const from = static_cast<uint8_t *>(streams_->stage(size).data);
        memcpy(from, table->values.data(), bytes);
        memcpy(from + nulls_at, table->nulls.data(), table->nulls.size());
        streams_->copy_in(address_of(*copy->buffer), from, size);
        streams_->wait(cancel_);
        table->copy = copy;
    } else {
        std::vector<uint8_t> all(size, 0);
        memcpy(all.data(), table->values.data(), bytes);
        memcpy(all.data() + nulls_at, table->nulls.data(), table->nulls.size());
        copy->buffer = streams_->send(all.data(), all.size());
    }
    copy->values = address_of(*copy->buffer);
    copy->nulls = copy->values + nulls_at;
    stats_.link_bytes += size;
    lookup.copy = std::move(copy);
    if (guard.owns_lock())
        guard.unlock();
    lookup.table = std::move(table);
}

std::unique_ptr<Execution> make_execution(std::shared_ptr<SharedState> state, const Program &program,
                                          const std::atomic<uint32_t> *cancel) {
    return std::make_unique<CudaExecution>(std::move(state), program, cancel);
}

} // namespace gpuscan::cuda
