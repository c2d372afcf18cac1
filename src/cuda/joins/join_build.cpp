// How does the build side of a join become a table on the GPU?
//
//   collect  (once per run) a kernel appends the rows that pass to arrays, a second one finds the range of every column;
//            where the arrays turn out too small they grow to the size that was counted and the run is repeated
//   finish   chooses the form of the table by those ranges and builds it; equal keys show in the status word
//
// A table whose rows are asked for between bounds is put in order then (join_intervals.cpp).
//
// Forms: packed (the payload itself, indexed by key) where keys are dense and unique and the payload is narrow, rows
// (numbers of rows, indexed by key) where keys are dense, else hash. Dense means that the table is no larger than 16
// million entries or 16 times its rows: at those sizes it is smaller or hardly larger than a hash table, and SSB's
// kernels ran 2.3 times faster with tables that stay in the caches.
#include <algorithm>
#include <cstring>

#include "cuda/execution_state.hpp"
#include "device/status.cuh"
#include "engine/ir/build_identity.hpp"

namespace gpuscan::cuda {

using codegen::TableShape;
using codegen::TableWords;

constexpr uint64_t dense_entries = 16u << 20;  // join tables up to here may be dense whatever their rows
constexpr uint64_t collect_bytes = 256u << 20; // room for collected rows that is taken without counting first: this,
constexpr uint64_t collect_part = 64;          // or such a part of the device's memory
constexpr uint64_t unmatched_piece = 4u << 20; // rows of a table that are asked at once whether they were met

namespace {

size_t columns_of_table(const Table &table) { return table.shape.keys.size() + table.shape.payload.size(); }

} // namespace

// ---- collecting --------------------------------------------------------------------------------------------------

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
        BufferRef larger = streams_->allocate(capacity * width);
        if (zero)
            streams_->fill(address_of(*larger), 0, capacity * width);
        if (buffer && table.rows > 0)
            streams_->copy_inside(address_of(*larger), address_of(*buffer), table.rows * width);
        if (buffer)
            streams_->wait(cancel_); // the copy reads what is given back now
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

// Finds the ranges of columns, which `columns` describes in device memory, over the rows from `first` to the counter and as wide as the
// table's at least. Returns where they are when the stream has been waited for.
std::unique_ptr<PinnedMemory::Piece> CudaExecution::queue_ranges(const Table &table, uint64_t first,
                                                                 const tables::Column *columns) {
    const CUfunction function = tables_function("column_ranges");
    const size_t bytes = table.ranges.size() * sizeof(tables::ColumnRange);
    std::unique_ptr<PinnedMemory::Piece> result = state_->pinned->allocate(bytes);
    const BufferRef ranges = streams_->send(table.ranges.data(), bytes);
    tables::RangesArgument a{};
    a.count = reinterpret_cast<const uint64_t *>(streams_->counter_word());
    a.first = first;
    a.capacity = table.capacity;
    a.columns = columns;
    a.ranges = static_cast<tables::ColumnRange *>(ranges->data);
    a.ncolumns = static_cast<uint32_t>(table.ranges.size());
    streams_->launch(function, state_->multiprocessors * 2, tables_threads, 0, &a);
    streams_->copy_out(result->data, address_of(*ranges), bytes);
    return result;
}

void CudaExecution::collect(Index index, const std::vector<ChunkView> &chunks) {
    Table &table = *tables_.at(index);
    const Pipeline &pipeline = program_.pipelines[index];
    if (table.finished)
        throw DeviceError("a join table gets rows after it was finished");
    const Input input = describe(pipeline, chunks);
    const Kernel kernel = kernel_for(index, request(index, input));
    start_collecting(index, table, kernel);
    table.row_cache = kernel.cached_rows != 0;
    // Once a payload column could be NULL its flags are kept for all runs; this run's kernel may not write them.
    ModuleRef module = get_module(kernel.source);

    size_t row_bytes = 0;
    for (Type type : table.shape.keys)
        row_bytes += type_width(type);
    for (Type type : table.shape.payload)
        row_bytes += type_width(type) + 1;
    uint64_t expected = table.rows + input.rows;
    const uint64_t max_bytes = std::max<uint64_t>(collect_bytes, state_->memory->limit() / collect_part);
    if (kernel.loops || input.rows * row_bytes > max_bytes)
        expected = table.rows + std::min<uint64_t>(input.rows, collect_bytes / std::max<size_t>(row_bytes, 1));
    reserve_rows(table, expected);

    for (int attempt = 0;; ++attempt) {
        streams_->reset_control();
        const uint64_t before = table.rows;
        streams_->copy_in(streams_->counter_word(), memcpy(streams_->stage(8).data, &before, 8), 8);
        std::vector<uint64_t> words = argument(kernel, index, input);
        words[kernel.sink] = streams_->counter_word();
        words[kernel.sink + 1] = table.capacity;
        const std::vector<tables::Column> columns = table.columns();
        for (size_t i = 0; i < columns.size(); ++i) { // keys, then payload with its NULLs
            const size_t nkeys = table.keys.size(), at = kernel.sink + 2 + (i < nkeys ? i : 2 * i - nkeys);
            words[at] = reinterpret_cast<uint64_t>(columns[i].values);
            if (i >= nkeys)
                words[at + 1] = reinterpret_cast<uint64_t>(columns[i].nulls);
        }
        run_slices(kernel, module, words, input, codegen::block_threads, 0, 1e6);

        std::unique_ptr<PinnedMemory::Piece> ranges; // without keys and payload rows are only counted
        if (!columns.empty()) {
            const BufferRef sent = streams_->send(columns.data(), columns.size() * sizeof(tables::Column));
            ranges = queue_ranges(table, before, static_cast<const tables::Column *>(sent->data));
        }
        streams_->fetch_control();
        stats_.kernel_us += streams_->wait(cancel_);
        check_status();
        const uint64_t count = streams_->fetched().counter;
        if (count <= table.capacity) {
            table.no_bound = table.no_bound || (streams_->fetched().status & status_no_bound) != 0;
            if (ranges)
                memcpy(table.ranges.data(), ranges->data, table.ranges.size() * sizeof(tables::ColumnRange));
            table.rows = count;
            break;
        }
        if (attempt > 0)
            throw DeviceError("a build gave more rows the second time");
        reserve_rows(table, count);
    }
}

// ---- building ----------------------------------------------------------------------------------------------------

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

// The form that the ranges allow, as if keys were unique.
TableKind CudaExecution::choose_form(Index index, const Table &table, tables::BuildArgument &a,
                                     uint64_t &extent) const {
    a.exact_tag = table.shape.keys.size() == 1 && type_width(table.shape.keys[0]) <= 4;
    if (!dense_extent(table, a, extent))
        return TableKind::Hash;
    const bool may_pack = !table.shape.keys.empty() && !are_rows_kept(program_, index);
    return may_pack && plan_packed(table, a) ? TableKind::Packed : TableKind::Rows;
}

// Builds a table of this kind; false when it wants unique keys and they are not. Keys that are asked for their presence only
// share an entry.
bool CudaExecution::build(Table &table, tables::BuildArgument &a, TableKind kind, uint64_t extent, bool keys_only) {
    const uint64_t slots = kind == TableKind::Hash ? power_of_two(std::max<uint64_t>(64, 2 * table.rows)) : extent;
    const size_t width = kind == TableKind::Packed ? a.entry_bytes : kind == TableKind::Rows ? 4 : 8;
    const bool keyed = !table.keys.empty(); // else its rows are looked at in their order
    if (keyed) {
        table.entries_bytes = (slots * width + 7) / 8 * 8;
        table.entries = zeroed(table.entries_bytes);
    }
    if (keyed && kind != TableKind::Packed)
        table.next = streams_->allocate(std::max<uint64_t>(table.rows, 1) * 4);
    if (kind == TableKind::Hash)
        streams_->fill(address_of(*table.next), 0, std::max<uint64_t>(table.rows, 1) * 4);
    a.rows = table.rows;
    a.kind = static_cast<uint32_t>(kind);
    a.entries = table.entries ? table.entries->data : nullptr;
    a.next = table.next ? static_cast<uint32_t *>(table.next->data) : nullptr;
    a.status = reinterpret_cast<uint32_t *>(streams_->status_word());
    a.mask = slots - 1;
    streams_->reset_control();
    const CUfunction function = tables_function("build_table");
    streams_->start_clock();
    if (table.rows > 0 && keyed)
        streams_->launch(function,
                         static_cast<unsigned>(std::min<uint64_t>((table.rows + tables_threads - 1) / tables_threads,
                                                                  state_->multiprocessors * 8)),
                         tables_threads, 0, &a);
    streams_->fetch_control();
    stats_.kernel_us += streams_->wait(cancel_);
    const bool duplicates =
        !keys_only && (keyed ? (streams_->fetched().status & status_duplicates) != 0 : table.rows > 1);
    if (duplicates && kind == TableKind::Packed)
        return false;
    TableShape &shape = table.shape;
    shape.kind = kind;
    shape.unique = !duplicates;
    shape.entry_bytes = static_cast<uint8_t>(a.entry_bytes);
    shape.exact_tag = kind == TableKind::Hash && a.exact_tag != 0;
    shape.payload_nullable = table.payload_nullable;
    table.words.assign(TableWords::count(shape), 0);
    table.words[TableWords::entries] = table.entries ? address_of(*table.entries) : 0;
    table.words[TableWords::next] = table.next ? address_of(*table.next) : 0;
    table.words[TableWords::extent] = kind == TableKind::Hash ? slots - 1 : keyed ? extent : table.rows;
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
    const size_t bytes = (table.entries ? table.entries->size : 0) + (table.next ? table.next->size : 0);
    table.description = table.rows == 0
                            ? std::string("empty")
                            : std::string(kind == TableKind::Hash ? "hash "
                                          : keyed                 ? "dense "
                                                                  : "list of ") +
                                  std::to_string(table.rows) + " rows, " +
                                  std::to_string(bytes < 10240 ? bytes : bytes / 1024) + (bytes < 10240 ? " B" : " kB");
    return true;
}

void CudaExecution::finish(Index index) {
    Table &table = *tables_.at(index);
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
        a.keys[i] = table.key_column(i);
    uint64_t extent = 0;
    const bool keys_only = is_set_of_keys(program_, index);
    const TableKind kind = choose_form(index, table, a, extent);
    bool done = false;
    if (kind == TableKind::Packed && !table.repeats_keys) {
        a.npayload = static_cast<uint32_t>(table.payload.size());
        for (size_t i = 0; i < table.payload.size(); ++i)
            a.payload[i] = table.payload_column(i);
        done = build(table, a, TableKind::Packed, extent, keys_only);
        if (done) { // the table holds all there is
            for (std::vector<BufferRef> *buffers : {&table.keys, &table.payload, &table.payload_nulls})
                for (BufferRef &buffer : *buffers)
                    buffer.reset();
        }
    }
    if (!done)
        build(table, a, kind == TableKind::Hash ? kind : TableKind::Rows, extent, keys_only);
    order_by_intervals(index);
    table.finished = true;
    stats_.joins[index] = table.description;
}

void CudaExecution::use_build(Index index, BuiltTableRef table) {
    auto mine = std::dynamic_pointer_cast<Table>(table);
    if (!mine || !mine->finished || tables_.at(index)->collected)
        throw DeviceError("not a table for an open build pipeline");
    stats_.joins.at(index) = mine->description;
    tables_[index] = std::move(mine);
}

// ---- rows that were no row's partner -----------------------------------------------------------------------------

std::vector<uint64_t> CudaExecution::unmatched(Index join) {
    const uint64_t rows = tables_.at(program_.joins.at(join).build)->rows;
    std::vector<uint64_t> bits((rows + 63) / 64, 0);
    std::unique_ptr<PinnedMemory::Piece> piece;
    quietly([&] {
        for (uint64_t first = 0; first < rows; first += unmatched_piece) {
            const uint64_t n = std::min<uint64_t>(unmatched_piece, rows - first);
            if (matched_rows_[join]) {
                if (!piece)
                    piece = state_->pinned->allocate(n);
                streams_->copy_out(piece->data, address_of(*matched_rows_[join]) + first, n);
                streams_->wait(cancel_);
                stats_.link_bytes += n;
            }
            const uint8_t *matched_rows = piece ? static_cast<const uint8_t *>(piece->data) : nullptr;
            for (uint64_t i = 0; i < n; ++i)
                bits[(first + i) / 64] |= static_cast<uint64_t>(matched_rows == nullptr || matched_rows[i] == 0)
                                          << ((first + i) % 64);
        }
    });
    return bits;
}

ChunkView CudaExecution::table_rows(Index pipeline, std::shared_ptr<void> &memory) {
    const std::shared_ptr<Table> table = tables_.at(pipeline);
    const size_t nkeys = table->shape.keys.size();
    ChunkView chunk;
    chunk.nrows = static_cast<uint32_t>(table->rows);
    for (size_t i = 0; i < table->payload.size() - bounds_[pipeline].added; ++i) {
        ColumnView view;
        view.type = table->shape.payload[i];
        view.values = table->payload[i]->data;
        view.nulls = table->payload_nullable[i] ? static_cast<const uint8_t *>(table->payload_nulls[i]->data) : nullptr;
        view.has_range = !is_float(view.type) && view.type != Type::I128;
        view.min = table->ranges[nkeys + i].min;
        view.max = table->ranges[nkeys + i].max;
        chunk.columns.push_back(view);
    }
    memory = table;
    return chunk;
}

} // namespace gpuscan::cuda
