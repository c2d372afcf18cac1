// Running pipelines: what a program needs is known only when its chunks are there, so kernels are chosen per run.
//
//   run_build     one kernel collects the rows that pass into arrays; a second finds the range of every column
//   finish_build  chooses the form of the table by those ranges and builds it; equal keys show in the status word
//   run_aggregate chooses how groups are found by the ranges of the keys, runs the fused kernel, reads the groups
//
// Form of a join table: packed (the payload itself, indexed by key) where keys are dense and unique and the payload is
// narrow, rows (numbers of rows, indexed by key) where keys are dense, else hash. Dense means that the table is no larger
// than 16 million entries or 16 times its rows: at those sizes it is smaller or hardly larger than a hash table, and
// SSB's kernels ran 2.3 times faster with tables that stay in the caches.
//
// A launch covers a slice of the tiles, sized so that it ends within some 20 ms; between slices the session may be
// cancelled. A group table that turns out too small is made eight times larger and the run repeated.
#include "cuda/execution.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/status.cuh"
#include "cuda/tables.cuh"
#include "engine/codegen.hpp"
#include "engine/value_range.hpp"

namespace gpuscan::cuda {

namespace {

using namespace ir;
using codegen::AggregateWords;
using codegen::ChunkWords;
using codegen::Grouping;
using codegen::Kernel;
using codegen::SumKind;
using codegen::TableKind;
using codegen::TableShape;
using codegen::TableWords;

constexpr uint64_t dense_entries = 16u << 20;    // join tables up to here may be dense whatever their rows
constexpr size_t shared_group_bytes = 32768;     // group tables up to here stand in shared memory
constexpr uint64_t dense_groups = 1u << 20;      // group tables up to here may be dense whatever the rows
constexpr size_t dense_group_bytes = 512u << 20; // and never larger than this
constexpr size_t direct_copy_bytes = 1u << 20;   // group tables up to here are copied whole
constexpr uint64_t first_group_slots = 1u << 18;
constexpr uint64_t max_group_slots = 1u << 30;
constexpr uint64_t max_argument_words = 3900;  // a kernel's argument: 32 KB since CUDA 12.1
constexpr uint64_t collect_bytes = 256u << 20; // room for collected rows that is taken without counting first
constexpr double slice_ms = 20;

// A collected or finished build.
struct Table {
    TableShape shape;
    bool collected = false;
    bool finished = false;
    uint64_t rows = 0;
    uint64_t capacity = 0;
    std::vector<BufferRef> keys, payload, payload_nulls; // by row
    std::vector<tables::ColumnRange> ranges;             // keys, then payload
    std::vector<uint8_t> payload_nullable;
    std::vector<uint64_t> words; // for a kernel that probes it
    BufferRef entries, next;
    std::string description;
};

struct LookupTable {
    BufferRef buffer; // values, then NULL flags
    CUdeviceptr values = 0;
    CUdeviceptr nulls = 0;
    uint64_t entries = 0;
    bool nullable = false;
    bool set = false;
    ValueRange range;
};

// A group key in a result: how a kernel's words become its value.
struct KeyPlan {
    Type type;
    bool nullable = false;
    int128 min = 0;
    uint64_t extent = 1;  // numbers it takes, NULL included
    uint64_t factor = 1;  // the key's part of a group number is (value - min) * factor
    uint64_t modulus = 1; // and comes back as number / factor % modulus
};

uint64_t power_of_two(uint64_t at_least) {
    uint64_t power = 1;
    while (power < at_least)
        power *= 2;
    return power;
}

size_t columns_of_table(const Table &table) { return table.shape.keys.size() + table.shape.payload.size(); }

class CudaExecution : public Execution {
  public:
    CudaExecution(std::shared_ptr<SharedState> state, const Program &program, const std::atomic<uint32_t> *cancel)
        : state_(std::move(state)), program_(program), cancel_(cancel), lane_(state_->lanes->borrow()),
          tables_(program.pipelines.size()), lookups_(program.lookups.size()) {
        stats_.joins.resize(program.pipelines.size() - 1);
    }

    ~CudaExecution() override { lane_->drain(); }

    void set_lookup(Index lookup, const void *values, const uint8_t *nulls, size_t entries) override {
        quietly([&] { put_lookup(lookup, values, nulls, entries); });
    }
    void run_build(Index pipeline, const std::vector<ChunkView> &chunks) override {
        quietly([&] { collect(pipeline, chunks); });
    }
    void finish_build(Index pipeline) override {
        quietly([&] { finish(pipeline); });
    }
    GroupTable run_aggregate(const std::vector<ChunkView> &chunks) override {
        GroupTable groups;
        quietly([&] { groups = aggregate(chunks); });
        return groups;
    }
    ExecutionStats stats() const override { return stats_; }

  private:
    // Whatever happens in `work`: afterwards no kernel uses the chunks any more.
    template <class Work> void quietly(const Work &work) {
        lane_->use();
        poll();
        try {
            work();
        } catch (...) {
            lane_->drain();
            throw;
        }
    }
    void put_lookup(Index lookup, const void *values, const uint8_t *nulls, size_t entries);
    void collect(Index pipeline, const std::vector<ChunkView> &chunks);
    void finish(Index pipeline);
    GroupTable aggregate(const std::vector<ChunkView> &chunks);

    // The chunks of one run, described in device memory.
    struct Input {
        BufferRef words, masks;
        uint64_t chunks = 0;
        uint64_t tiles = 0;
        uint64_t rows = 0;
        std::vector<uint8_t> nullable;  // per source column
        std::vector<ValueRange> ranges; // per source column
    };
    Input describe(const Pipeline &pipeline, const std::vector<ChunkView> &chunks);
    codegen::Request request(Index pipeline, const Input &input);
    std::vector<uint64_t> argument(const Kernel &kernel, Index pipeline, const Input &input);
    void run_slices(const Kernel &kernel, CUfunction function, std::vector<uint64_t> &words, const Input &input,
                    unsigned threads, size_t shared, double rows_per_ms);
    void check_status(bool may_be_full = false);
    RangeSources range_sources(const Pipeline &pipeline, const Input &input);
    Table &table_of(const Pipeline &pipeline, Index join) {
        return tables_[program_.joins[pipeline.joins.first + join].build];
    }
    void poll() const {
        if (cancel_ && cancel_->load(std::memory_order_relaxed))
            throw Cancelled();
    }
    BufferRef zeroed(size_t bytes) {
        BufferRef buffer = lane_->allocate(bytes);
        lane_->fill(address_of(*buffer), 0, bytes);
        return buffer;
    }
    CUfunction tables_function(const char *name) {
        return state_->kernels->get(tables_source, cancel_, &stats_.compile_us)->function(name);
    }

    // builds
    void start_collecting(Index pipeline, Table &table, const Kernel &kernel);
    void reserve_rows(Table &table, uint64_t capacity);
    bool plan_packed(const Table &table, tables::BuildArgument &argument) const;
    bool dense_extent(const Table &table, tables::BuildArgument &argument, uint64_t &extent) const;
    bool build(Table &table, tables::BuildArgument &argument, TableKind kind, uint64_t extent);

    // groups
    bool plan_dense(const Pipeline &pipeline, const Input &input, const RangeSources &sources,
                    codegen::Request &request, std::vector<KeyPlan> &keys, uint64_t &extent);
    void plan_sums(const Pipeline &pipeline, const Input &input, const RangeSources &sources,
                   codegen::GroupShape &group, bool loops);
    GroupTable read_entries(const Kernel &kernel, const codegen::GroupShape &group, const Buffer &table,
                            const Buffer *keys, uint64_t entries, const std::vector<KeyPlan> &plan);
    void add_group(GroupTable &groups, const Kernel &kernel, const codegen::GroupShape &group, const uint64_t *entry,
                   const uint64_t *key, uint64_t number, const std::vector<KeyPlan> &plan);

    std::shared_ptr<SharedState> state_;
    const Program program_;
    const std::atomic<uint32_t> *cancel_;
    std::shared_ptr<Lane> lane_;
    std::vector<Table> tables_;
    std::vector<LookupTable> lookups_;
    ExecutionStats stats_;
};

// ---- input -------------------------------------------------------------------------------------------------------

CudaExecution::Input CudaExecution::describe(const Pipeline &pipeline, const std::vector<ChunkView> &chunks) {
    const Range columns = program_.sources[pipeline.source].columns;
    Input input;
    input.nullable.assign(columns.count, 0);
    input.ranges.assign(columns.count, ValueRange());
    std::vector<bool> unknown(columns.count, false);

    size_t mask_bytes = 0;
    for (const ChunkView &chunk : chunks)
        if (chunk.row_mask)
            mask_bytes += (static_cast<size_t>(chunk.nrows) + 63) / 64 * 8;
    PinnedMemory::Piece *staged = nullptr;
    if (mask_bytes > 0) {
        staged = &lane_->stage(mask_bytes);
        input.masks = lane_->allocate(mask_bytes);
    }
    std::vector<uint64_t> words;
    words.reserve(chunks.size() * ChunkWords::count(columns.count));
    size_t mask_at = 0;
    for (const ChunkView &chunk : chunks) {
        if (chunk.nrows == 0)
            continue;
        if (chunk.columns.size() < columns.count)
            throw DeviceError("a chunk has fewer columns than its source");
        const uint64_t tiles = (static_cast<uint64_t>(chunk.nrows) + codegen::tile_rows - 1) / codegen::tile_rows;
        const size_t at = words.size();
        words.resize(at + ChunkWords::count(columns.count), 0);
        words[at + ChunkWords::tile_first] = input.tiles;
        input.tiles += tiles;
        input.rows += chunk.nrows;
        ++input.chunks;
        words[at + ChunkWords::tile_end] = input.tiles;
        words[at + ChunkWords::nrows] = chunk.nrows;
        if (chunk.row_mask) {
            const size_t bytes = (static_cast<size_t>(chunk.nrows) + 63) / 64 * 8;
            memcpy(static_cast<char *>(staged->data) + mask_at, chunk.row_mask, bytes);
            words[at + ChunkWords::mask] = address_of(*input.masks) + mask_at;
            mask_at += bytes;
        }
        for (Index c = 0; c < columns.count; ++c) {
            const ColumnView &view = chunk.columns[c];
            const Type type = program_.source_columns[columns.first + c].type;
            if (view.type != type)
                throw DeviceError("a chunk's column has another type than its source");
            const uint64_t values = reinterpret_cast<uint64_t>(view.values);
            const uint64_t nulls = reinterpret_cast<uint64_t>(view.nulls);
            if (values % 16 != 0 || nulls % 4 != 0)
                throw DeviceError("a chunk's column is not aligned");
            words[at + ChunkWords::values(c)] = values;
            words[at + ChunkWords::nulls(c)] = nulls;
            input.nullable[c] |= view.nulls != nullptr && program_.source_columns[columns.first + c].nullable;
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
    if (staged)
        lane_->copy_in(address_of(*input.masks), staged->data, mask_bytes);
    input.words = lane_->send(words.data(), words.size() * sizeof(uint64_t));
    stats_.link_bytes += mask_bytes + words.size() * sizeof(uint64_t);
    stats_.rows_in += input.rows;
    return input;
}

codegen::Request CudaExecution::request(Index index, const Input &input) {
    const Pipeline &pipeline = program_.pipelines[index];
    codegen::Request r;
    r.program = &program_;
    r.pipeline = index;
    r.source_nullable = input.nullable;
    for (const LookupTable &lookup : lookups_)
        r.lookup_nullable.push_back(lookup.nullable);
    for (Index k = 0; k < pipeline.joins.count; ++k) {
        const Table &table = table_of(pipeline, k);
        if (!table.finished)
            throw DeviceError("a join table is used before it is finished");
        r.tables.push_back(&table.shape);
    }
    return r;
}

// The words that every kernel has; the sink's own are filled in by the caller.
std::vector<uint64_t> CudaExecution::argument(const Kernel &kernel, Index index, const Input &input) {
    const Pipeline &pipeline = program_.pipelines[index];
    if (kernel.words > max_argument_words)
        throw DeviceError("the fragment has too many constants for one kernel");
    std::vector<uint64_t> words(kernel.words, 0);
    words[Kernel::chunks] = address_of(*input.words);
    words[Kernel::chunk_count] = input.chunks;
    words[Kernel::status] = lane_->status_word();
    words[Kernel::cancel] = lane_->cancel_word();
    for (size_t i = 0; i < kernel.constants.size(); ++i)
        if (kernel.constants[i] != 0) {
            words[kernel.constants[i]] = program_.constants[i].low;
            words[kernel.constants[i] + 1] = static_cast<uint64_t>(program_.constants[i].high);
        }
    for (size_t i = 0; i < kernel.lookups.size(); ++i)
        if (kernel.lookups[i] != 0) {
            if (!lookups_[i].set)
                throw DeviceError("a lookup is used before it is set");
            words[kernel.lookups[i]] = lookups_[i].values;
            words[kernel.lookups[i] + 1] = lookups_[i].nulls;
            words[kernel.lookups[i] + 2] = lookups_[i].entries;
        }
    for (Index k = 0; k < pipeline.joins.count; ++k) {
        const Table &table = table_of(pipeline, k);
        std::copy(table.words.begin(), table.words.end(), words.begin() + kernel.joins[k]);
    }
    return words;
}

// Launches the kernel over all tiles, slice by slice; the last slice is not waited for.
void CudaExecution::run_slices(const Kernel &kernel, CUfunction function, std::vector<uint64_t> &words,
                               const Input &input, unsigned threads, size_t shared, double rows_per_ms) {
    const unsigned grid = state_->full_grid(function, threads, shared);
    const uint64_t least = grid; // fewer tiles than blocks make no sense
    uint64_t slice = std::max<uint64_t>(least, static_cast<uint64_t>(rows_per_ms * slice_ms) / codegen::tile_rows);
    if (kernel.loops)
        slice = least;
    lane_->start_clock();
    for (uint64_t tile = 0; tile < input.tiles;) {
        const uint64_t end = std::min(input.tiles, tile + slice);
        words[Kernel::tile_begin] = tile;
        words[Kernel::tile_end] = end;
        lane_->start_clock();
        lane_->launch(function, static_cast<unsigned>(std::min<uint64_t>(grid, end - tile)), threads, shared,
                      words.data());
        const uint64_t done = end - tile;
        tile = end;
        if (tile >= input.tiles)
            break;
        const uint64_t us = lane_->wait(cancel_);
        stats_.kernel_us += us;
        const double wanted = slice_ms * 1000 / static_cast<double>(std::max<uint64_t>(us, 100));
        slice = std::max<uint64_t>(least, static_cast<uint64_t>(static_cast<double>(done) * std::min(4.0, wanted)));
    }
}

void CudaExecution::check_status(bool may_be_full) {
    const uint32_t status = lane_->fetched().status;
    if (status & status_table_full && may_be_full)
        return; // what else it says is about rows that will be seen again
    if (status & status_row_error)
        throw RowError("a row met an SQL error");
    if (status & status_bad_lookup)
        throw DeviceError("a code or key lies outside its bounds");
}

RangeSources CudaExecution::range_sources(const Pipeline &pipeline, const Input &input) {
    RangeSources sources;
    sources.column = [this, &pipeline, &input](Index step, Index column) {
        if (step == 0)
            return input.ranges[column];
        const Table &table = table_of(pipeline, step - 1);
        const size_t at = table.shape.keys.size() + column;
        const Type type = table.shape.payload[column];
        if (at >= table.ranges.size() || is_float(type) || type == Type::I128)
            return ValueRange();
        const tables::ColumnRange &range = table.ranges[at];
        return range.min <= range.max ? ValueRange::of(range.min, range.max) : ValueRange::of(0, 0);
    };
    sources.lookup = [this](Index lookup) { return lookups_[lookup].range; };
    return sources;
}

void CudaExecution::put_lookup(Index index, const void *values, const uint8_t *nulls, size_t entries) {
    LookupTable &lookup = lookups_.at(index);
    const Type type = program_.lookups[index].type;
    const size_t width = type_width(type);
    const size_t bytes = (entries + 1) * width;
    const size_t nulls_at = (bytes + 15) / 16 * 16;
    std::vector<uint8_t> all(nulls_at + entries + 1, 0);
    memcpy(all.data(), values, bytes);
    if (nulls)
        memcpy(all.data() + nulls_at, nulls, entries + 1);
    lookup.nullable = false;
    lookup.range = ValueRange();
    for (size_t i = 0; i <= entries; ++i) {
        if (all[nulls_at + i]) {
            lookup.nullable = true;
            continue;
        }
        if (is_float(type))
            continue;
        int64_t v = 0;
        const uint8_t *at = all.data() + i * width;
        if (type == Type::Bool)
            v = *at;
        else if (type == Type::I32)
            v = *reinterpret_cast<const int32_t *>(at);
        else if (type == Type::I64)
            v = *reinterpret_cast<const int64_t *>(at);
        else
            v = *reinterpret_cast<const uint32_t *>(at);
        lookup.range = lookup.range.known ? ValueRange::of(std::min<int128>(lookup.range.min, v),
                                                           std::max<int128>(lookup.range.max, v))
                                          : ValueRange::of(v, v);
    }
    if (!is_float(type) && !lookup.range.known)
        lookup.range = ValueRange::of(0, 0);
    lookup.buffer = lane_->send(all.data(), all.size());
    lookup.values = address_of(*lookup.buffer);
    lookup.nulls = lookup.values + nulls_at;
    lookup.entries = entries;
    lookup.set = true;
    stats_.link_bytes += all.size();
}

// ---- builds ------------------------------------------------------------------------------------------------------

void CudaExecution::start_collecting(Index index, Table &table, const Kernel &kernel) {
    const Pipeline &pipeline = program_.pipelines[index];
    if (table.collected) {
        for (size_t i = 0; i < table.payload_nullable.size(); ++i) {
            if (!table.payload_nullable[i] && kernel.payload_nullable[i]) { // earlier rows: no NULL
                table.payload_nulls[i] = zeroed(std::max<uint64_t>(table.capacity, 1));
                table.payload_nullable[i] = 1;
            }
        }
        return;
    }
    table.collected = true;
    for (Index i = 0; i < pipeline.keys.count; ++i)
        table.shape.keys.push_back(program_.exprs[program_.lists[pipeline.keys.first + i]].type);
    for (Index i = 0; i < pipeline.payload.count; ++i)
        table.shape.payload.push_back(program_.exprs[program_.lists[pipeline.payload.first + i]].type);
    table.keys.resize(table.shape.keys.size());
    table.payload.resize(table.shape.payload.size());
    table.payload_nulls.resize(table.shape.payload.size());
    table.payload_nullable = kernel.payload_nullable;
    table.ranges.assign(columns_of_table(table), tables::ColumnRange{INT64_MAX, INT64_MIN});
}

// Room for `capacity` rows; keeps the first table.rows of them.
void CudaExecution::reserve_rows(Table &table, uint64_t capacity) {
    if (capacity <= table.capacity && table.capacity > 0)
        return;
    capacity = std::max<uint64_t>(capacity, 1);
    if (capacity >= 0xfffffff0u)
        throw DeviceError("a join table has more than four billion rows");
    auto grow = [&](BufferRef &buffer, size_t width, bool zero) {
        BufferRef larger = lane_->allocate(capacity * width);
        if (zero)
            lane_->fill(address_of(*larger), 0, capacity * width);
        if (buffer && table.rows > 0)
            lane_->copy_inside(address_of(*larger), address_of(*buffer), table.rows * width);
        if (buffer)
            lane_->wait(cancel_); // the copy reads what is given back now
        buffer = larger;
    };
    for (size_t i = 0; i < table.keys.size(); ++i)
        grow(table.keys[i], type_width(table.shape.keys[i]), false);
    for (size_t i = 0; i < table.payload.size(); ++i) {
        grow(table.payload[i], type_width(table.shape.payload[i]), false);
        if (table.payload_nullable[i])
            grow(table.payload_nulls[i], 1, true);
    }
    table.capacity = capacity;
}

void CudaExecution::collect(Index index, const std::vector<ChunkView> &chunks) {
    Table &table = tables_.at(index);
    const Pipeline &pipeline = program_.pipelines[index];
    if (table.finished)
        throw DeviceError("a join table gets rows after it was finished");
    const Input input = describe(pipeline, chunks);
    const codegen::Request r = request(index, input);
    Kernel kernel = codegen::generate(r);
    start_collecting(index, table, kernel);
    // Once a payload column could be NULL its flags are kept for all runs; this run's kernel may not write them.
    ModuleRef module = state_->kernels->get(kernel.source, cancel_, &stats_.compile_us);
    const CUfunction function = module->function(Kernel::name);

    size_t row_bytes = 0;
    for (Type type : table.shape.keys)
        row_bytes += type_width(type);
    for (Type type : table.shape.payload)
        row_bytes += type_width(type) + 1;
    uint64_t expected = table.rows + input.rows;
    if (kernel.loops || input.rows * row_bytes > collect_bytes)
        expected = table.rows + std::min<uint64_t>(input.rows, collect_bytes / row_bytes);
    reserve_rows(table, expected);

    std::vector<tables::Column> columns;
    const CUfunction ranges_function = tables_function("column_ranges");
    for (int attempt = 0;; ++attempt) {
        lane_->reset_control();
        const uint64_t before = table.rows;
        lane_->copy_in(lane_->counter_word(), memcpy(lane_->stage(8).data, &before, 8), 8);
        std::vector<uint64_t> words = argument(kernel, index, input);
        words[kernel.sink] = lane_->counter_word();
        words[kernel.sink + 1] = table.capacity;
        columns.clear();
        for (size_t i = 0; i < table.keys.size(); ++i) {
            words[kernel.sink + 2 + i] = address_of(*table.keys[i]);
            columns.push_back({table.keys[i]->data, nullptr, static_cast<uint32_t>(table.shape.keys[i]), 0});
        }
        for (size_t i = 0; i < table.payload.size(); ++i) {
            const size_t at = kernel.sink + 2 + table.keys.size() + 2 * i;
            const uint8_t *nulls =
                table.payload_nullable[i] ? static_cast<const uint8_t *>(table.payload_nulls[i]->data) : nullptr;
            words[at] = address_of(*table.payload[i]);
            words[at + 1] = reinterpret_cast<uint64_t>(nulls);
            columns.push_back({table.payload[i]->data, nulls, static_cast<uint32_t>(table.shape.payload[i]), 0});
        }
        run_slices(kernel, function, words, input, codegen::block_threads, 0, 1e6);

        const BufferRef column_words = lane_->send(columns.data(), columns.size() * sizeof(tables::Column));
        const BufferRef ranges = lane_->send(table.ranges.data(), table.ranges.size() * sizeof(tables::ColumnRange));
        tables::RangesArgument a{};
        a.count = reinterpret_cast<const uint64_t *>(lane_->counter_word());
        a.first = before;
        a.capacity = table.capacity;
        a.columns = static_cast<const tables::Column *>(column_words->data);
        a.ranges = static_cast<tables::ColumnRange *>(ranges->data);
        a.ncolumns = static_cast<uint32_t>(columns.size());
        lane_->launch(ranges_function, state_->multiprocessors * 2, 256, 0, &a);
        std::unique_ptr<PinnedMemory::Piece> result =
            state_->pinned->allocate(table.ranges.size() * sizeof(tables::ColumnRange));
        lane_->copy_out(result->data, address_of(*ranges), table.ranges.size() * sizeof(tables::ColumnRange));
        lane_->fetch_control();
        stats_.kernel_us += lane_->wait(cancel_);
        check_status();
        const uint64_t count = lane_->fetched().counter;
        if (count <= table.capacity) {
            memcpy(table.ranges.data(), result->data, table.ranges.size() * sizeof(tables::ColumnRange));
            table.rows = count;
            break;
        }
        if (attempt > 0)
            throw DeviceError("a build gave more rows the second time");
        reserve_rows(table, count);
    }
}

// The range of the keys as numbers 0..extent-1, if there are few enough of them.
bool CudaExecution::dense_extent(const Table &table, tables::BuildArgument &a, uint64_t &extent) const {
    const uint64_t bound = std::max<uint64_t>(dense_entries, 16 * table.rows);
    extent = 1;
    for (size_t i = 0; i < table.shape.keys.size(); ++i) {
        if (table.shape.keys[i] == Type::I128)
            return false;
        const tables::ColumnRange &range = table.ranges[i];
        const uint64_t values =
            range.min <= range.max ? static_cast<uint64_t>(range.max) - static_cast<uint64_t>(range.min) + 1 : 1;
        if (values == 0 || values > bound || extent > bound / values)
            return false;
        a.min[i] = range.min <= range.max ? static_cast<uint64_t>(range.min) : 0;
        a.stride[i] = extent;
        extent *= values;
    }
    return extent <= 0xfffffff0u;
}

// Bits of every payload column beside each other; false where they do not fit 8 bytes with one number to spare.
bool CudaExecution::plan_packed(const Table &table, tables::BuildArgument &a) const {
    const size_t nkeys = table.shape.keys.size();
    if (table.shape.payload.size() > tables::max_packed)
        return false;
    unsigned bits = 0;
    uint128 largest = 0;
    for (size_t i = 0; i < table.shape.payload.size(); ++i) {
        const Type type = table.shape.payload[i];
        if (is_float(type) || type == Type::I128)
            return false;
        const tables::ColumnRange &range = table.ranges[nkeys + i];
        const bool null = table.payload_nullable[i] != 0;
        const bool any = range.min <= range.max;
        const uint64_t low = any ? static_cast<uint64_t>(range.min) : 0;
        const uint64_t span = any ? static_cast<uint64_t>(range.max) - low : 0;
        if (span >> 60)
            return false;
        const uint64_t fields = span + (null ? 1 : 0);
        unsigned width = 0;
        while (fields >> width)
            ++width;
        a.shift[i] = bits;
        a.bias[i] = low - (null ? 1 : 0);
        largest |= static_cast<uint128>(fields) << bits;
        bits += width;
        if (bits > 62)
            return false;
    }
    const uint64_t entry = static_cast<uint64_t>(largest) + 1;
    a.entry_bytes = entry < (1u << 8) ? 1 : entry < (1u << 16) ? 2 : entry < (1ULL << 32) ? 4 : 8;
    return true;
}

// Builds a table of this kind; false when it wants unique keys and they are not.
bool CudaExecution::build(Table &table, tables::BuildArgument &a, TableKind kind, uint64_t extent) {
    const uint64_t slots = kind == TableKind::Hash ? power_of_two(std::max<uint64_t>(64, 2 * table.rows)) : extent;
    const size_t width = kind == TableKind::Packed ? a.entry_bytes : kind == TableKind::Rows ? 4 : 8;
    table.entries = zeroed((slots * width + 7) / 8 * 8);
    if (kind != TableKind::Packed)
        table.next = lane_->allocate(std::max<uint64_t>(table.rows, 1) * 4);
    if (kind == TableKind::Hash)
        lane_->fill(address_of(*table.next), 0, std::max<uint64_t>(table.rows, 1) * 4);
    a.rows = table.rows;
    a.kind = static_cast<uint32_t>(kind);
    a.entries = table.entries->data;
    a.next = table.next ? static_cast<uint32_t *>(table.next->data) : nullptr;
    a.status = reinterpret_cast<uint32_t *>(lane_->status_word());
    a.mask = slots - 1;
    lane_->reset_control();
    const CUfunction function = tables_function("build_table");
    lane_->start_clock();
    if (table.rows > 0)
        lane_->launch(function,
                      static_cast<unsigned>(std::min<uint64_t>((table.rows + 255) / 256, state_->multiprocessors * 8)),
                      256, 0, &a);
    lane_->fetch_control();
    stats_.kernel_us += lane_->wait(cancel_);
    const bool duplicates = (lane_->fetched().status & status_duplicates) != 0;
    if (duplicates && kind == TableKind::Packed)
        return false;
    TableShape &shape = table.shape;
    shape.kind = kind;
    shape.unique = !duplicates;
    shape.entry_bytes = static_cast<uint8_t>(a.entry_bytes);
    shape.exact_tag = kind == TableKind::Hash && a.exact_tag != 0;
    shape.payload_nullable = table.payload_nullable;
    table.words.assign(TableWords::count(shape), 0);
    table.words[TableWords::entries] = address_of(*table.entries);
    table.words[TableWords::next] = table.next ? address_of(*table.next) : 0;
    table.words[TableWords::extent] = kind == TableKind::Hash ? slots - 1 : extent;
    for (size_t i = 0; i < shape.keys.size(); ++i) {
        uint64_t *const words = &table.words[TableWords::key(i)];
        if (kind == TableKind::Hash) {
            words[0] = address_of(*table.keys[i]);
            continue;
        }
        const tables::ColumnRange &range = table.ranges[i];
        words[0] = a.min[i];
        words[1] = a.stride[i];
        words[2] = range.min <= range.max ? static_cast<uint64_t>(range.max) - static_cast<uint64_t>(range.min) + 1 : 0;
    }
    for (size_t i = 0; i < shape.payload.size(); ++i) {
        uint64_t *const words = &table.words[TableWords::payload(shape.keys.size(), i)];
        if (kind == TableKind::Packed) {
            words[0] = a.shift[i];
            const uint64_t last = i + 1 < shape.payload.size() ? a.shift[i + 1] : 63;
            words[1] = last - a.shift[i] >= 64 ? ~0ULL : (1ULL << (last - a.shift[i])) - 1;
            words[2] = a.bias[i];
        } else {
            words[0] = address_of(*table.payload[i]);
            words[1] = table.payload_nullable[i] ? address_of(*table.payload_nulls[i]) : 0;
        }
    }
    const size_t bytes = table.entries->size + (table.next ? table.next->size : 0);
    table.description = table.rows == 0
                            ? std::string("empty")
                            : std::string(kind == TableKind::Hash ? "hash " : "dense ") + std::to_string(table.rows) +
                                  " rows, " + std::to_string(bytes < 10240 ? bytes : bytes / 1024) +
                                  (bytes < 10240 ? " B" : " kB");
    return true;
}

void CudaExecution::finish(Index index) {
    Table &table = tables_.at(index);
    const Pipeline &pipeline = program_.pipelines[index];
    if (!table.collected) { // no chunk at all
        Kernel nothing;
        nothing.payload_nullable.assign(pipeline.payload.count, 0);
        start_collecting(index, table, nothing);
        reserve_rows(table, 1);
    }
    tables::BuildArgument a{};
    a.nkeys = static_cast<uint32_t>(table.keys.size());
    for (size_t i = 0; i < table.keys.size(); ++i)
        a.keys[i] = {table.keys[i]->data, nullptr, static_cast<uint32_t>(table.shape.keys[i]), 0};
    a.exact_tag = table.shape.keys.size() == 1 && type_width(table.shape.keys[0]) <= 4;
    uint64_t extent = 0;
    const bool dense = dense_extent(table, a, extent);
    bool done = false;
    if (dense && plan_packed(table, a)) {
        a.npayload = static_cast<uint32_t>(table.payload.size());
        for (size_t i = 0; i < table.payload.size(); ++i)
            a.payload[i] = {table.payload[i]->data,
                            table.payload_nullable[i] ? static_cast<const uint8_t *>(table.payload_nulls[i]->data)
                                                      : nullptr,
                            static_cast<uint32_t>(table.shape.payload[i]), 0};
        done = build(table, a, TableKind::Packed, extent);
        if (done) { // the table holds all there is
            for (std::vector<BufferRef> *buffers : {&table.keys, &table.payload, &table.payload_nulls})
                for (BufferRef &buffer : *buffers)
                    buffer.reset();
        }
    }
    if (!done)
        build(table, a, dense ? TableKind::Rows : TableKind::Hash, extent);
    table.finished = true;
    stats_.joins[index] = table.description;
}

// ---- groups ------------------------------------------------------------------------------------------------------

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

} // namespace

std::unique_ptr<Execution> make_execution(std::shared_ptr<SharedState> state, const Program &program,
                                          const std::atomic<uint32_t> *cancel) {
    return std::make_unique<CudaExecution>(std::move(state), program, cancel);
}

} // namespace gpuscan::cuda
