// How do the rows that a fragment delivers reach host memory? The fused kernel appends them to an *area*, one array per
// column (engine/codegen/codegen_rows.cpp: the result cache of Kaldewey et al., "GPU Join Processing Revisited", section 4), slice
// by slice of the tiles, as all runs do; a full area is handed over as blocks of rows in pinned memory, and the next
// slices fill it again. How many rows a slice gives is not known before:
//
//   fits      the counter says how full the area is now; the next slice is as large as the share of rows that passed so
//             far lets it be
//   overflow  rows beyond the area were counted but not written. The area is handed over as it was before the slice, and
//             the slice is repeated, smaller where it alone is too much; if one tile is too much, in a larger area
//
// An area is device memory that is copied out, or pinned memory that the kernel writes over the link itself. The second is
// right for few rows (nothing to copy, one wait) and where the rows come over the link too, so that both of its directions
// are busy; for many rows of resident columns copies are, because a kernel need not wait for the link to know how many
// rows there are. Pinned memory is charged to the working memory until the rows are released.
#include <algorithm>
#include <cstring>

#include "cuda/execution_state.hpp"
#include "engine/result/first_rows.hpp"

namespace gpuscan::cuda {

constexpr size_t block_bytes = 32u << 20; // of pinned memory that rows are copied to
constexpr size_t min_bytes = 8u << 20;    // of device memory, where there is no more
constexpr size_t few_bytes = 256u << 10;  // at most so much is written by the kernel itself
constexpr double first_rows_per_ms = 1e6, wanted_ms = 20;

// Of rows that stay: so much room, or such a part of the device's memory, is taken before it is known how many they are.
constexpr uint64_t min_first_bytes = 256u << 20, first_part = 16;
constexpr uint64_t max_window_rows = 0xfffffff0u; // their numbers have 32 bits

namespace {

// Pinned memory with rows, as long as somebody reads them.
struct PinnedRows {
    PinnedRows(PinnedMemory &pinned, WorkMemoryRef account, size_t bytes) : memory(std::move(account)) {
        memory->charge(bytes); // before the machine's memory is taken
        charged = bytes;
        try {
            piece = pinned.allocate(bytes);
            memory->charge(piece->size - bytes);
            charged = piece->size;
        } catch (...) {
            memory->release(charged);
            throw;
        }
    }
    ~PinnedRows() { memory->release(charged); }
    PinnedRows(const PinnedRows &) = delete;
    PinnedRows &operator=(const PinnedRows &) = delete;

    WorkMemoryRef memory;
    size_t charged = 0;
    std::unique_ptr<PinnedMemory::Piece> piece;
};

size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

} // namespace

// Arrays for `capacity` rows, side by side.
struct CudaExecution::RowArea {
    struct Column {
        size_t width;
        bool nullable;
    };
    std::vector<Column> columns;
    uint64_t capacity = 0;
    uint64_t filled = 0;              // rows in it
    BufferRef device;                 // either
    std::shared_ptr<PinnedRows> host; // or

    size_t row_bytes() const {
        size_t bytes = 0;
        for (const Column &c : columns)
            bytes += c.width + (c.nullable ? 1 : 0);
        return bytes;
    }
    // Rows that `bytes` have room for.
    uint64_t rows_in(size_t bytes) const {
        const size_t gaps = std::min(bytes / 2, 512 * columns.size());
        return std::max<uint64_t>(1, (bytes - gaps) / std::max<size_t>(row_bytes(), 1));
    }
    size_t bytes(uint64_t rows) const {
        size_t sum = 0;
        each(rows, [&](size_t, bool, size_t offset, size_t width) { sum = offset + aligned(rows * width); });
        return sum;
    }
    // Calls visit(column, is NULL flags, offset, width) for every array of an area for `rows` rows.
    template <class Visit> void each(uint64_t rows, Visit visit) const {
        size_t at = 0;
        for (size_t i = 0; i < columns.size(); ++i) {
            visit(i, false, at, columns[i].width);
            at += aligned(rows * columns[i].width);
            if (!columns[i].nullable)
                continue;
            visit(i, true, at, size_t(1));
            at += aligned(rows);
        }
    }
    // Rows [0, rows) of arrays for `room` rows that stand in `memory`.
    RowBlock block(const std::shared_ptr<PinnedRows> &memory, uint64_t room, uint64_t rows) const {
        RowBlock out;
        out.nrows = rows;
        out.columns.resize(columns.size());
        each(room, [&](size_t i, bool nulls, size_t offset, size_t) {
            const uint8_t *const at = static_cast<const uint8_t *>(memory->piece->data) + offset;
            (nulls ? out.columns[i].nulls : out.columns[i].values) = at;
        });
        out.memory = memory;
        return out;
    }
};

// With room for `capacity` rows, or where device memory is short for fewer, but never below `least`.
void CudaExecution::make_area(RowArea &area, uint64_t capacity, uint64_t least, bool host) {
    area.capacity = capacity;
    area.filled = 0;
    area.device.reset();
    area.host.reset();
    if (area.columns.empty())
        return;
    if (host) {
        area.host = std::make_shared<PinnedRows>(*state_->pinned, state_->work_memory, area.bytes(capacity));
        return;
    }
    while (!area.device) {
        try {
            area.device = streams_->allocate(area.bytes(area.capacity));
        } catch (const OutOfDeviceMemory &) {
            if (area.capacity / 2 < least)
                throw;
            area.capacity /= 2;
        }
    }
}

// Appends the rows in the area to `rows`; then it is empty (and a host area gone).
void CudaExecution::hand_over(RowArea &area, RowTable &rows) {
    const uint64_t filled = area.filled;
    area.filled = 0;
    stats_.rows_out += filled;
    if (filled == 0)
        return;
    if (area.columns.empty() || area.host) {
        RowBlock block;
        block.nrows = filled;
        if (area.host)
            block = area.block(area.host, area.capacity, filled);
        rows.add(std::move(block));
        area.host.reset();
        return;
    }
    const uint64_t block_rows = area.rows_in(block_bytes);
    std::vector<RowBlock> blocks;
    const Drain drain(*streams_);
    streams_->start_clock();
    for (uint64_t first = 0; first < filled; first += block_rows) {
        const uint64_t n = std::min(block_rows, filled - first);
        auto memory = std::make_shared<PinnedRows>(*state_->pinned, state_->work_memory, area.bytes(n));
        blocks.push_back(area.block(memory, n, n));
        std::vector<size_t> to;
        area.each(n, [&](size_t, bool, size_t offset, size_t) { to.push_back(offset); });
        size_t array = 0;
        area.each(area.capacity, [&](size_t, bool, size_t offset, size_t width) {
            streams_->copy_out(static_cast<char *>(memory->piece->data) + to[array++],
                               address_of(*area.device) + offset + first * width, n * width);
        });
    }
    stats_.kernel_us += streams_->wait(cancel_);
    stats_.link_bytes += filled * area.row_bytes();
    for (RowBlock &block : blocks)
        rows.add(std::move(block));
}

RowTable CudaExecution::deliver(const std::vector<ChunkView> &chunks) {
    const Index index = static_cast<Index>(program_.pipelines.size() - 1);
    const Pipeline &pipeline = program_.pipelines[index];
    const Input input = describe(pipeline, chunks);
    stats_.grouping = "rows";
    RowTable rows;
    if (input.tiles == 0)
        return rows;
    const Kernel kernel = kernel_for(index, request(index, input));
    ModuleRef module = get_module(kernel.source);
    Resident resident = module->resident(Kernel::name, codegen::block_threads, 0);

    FirstRows first(program_); // (what a run that fails has found is lost with its rows)
    first.lower_bound(row_bound_);
    size_t kept = 0;
    auto choose = [&] {
        first.keep(rows, true, state_->work_memory, cancel_);
        kept = rows.nrows;
    };
    RowArea area;
    for (Index i = 0; i < pipeline.payload.count; ++i)
        area.columns.push_back({type_width(program_.exprs[program_.lists[pipeline.payload.first + i]].type),
                                kernel.payload_nullable[i] != 0});
    const size_t row_bytes = std::max<size_t>(area.row_bytes(), 1);
    const uint64_t limit = pipeline.limit != 0 ? pipeline.limit : UINT64_MAX;
    const uint64_t expected = std::max<uint64_t>(codegen::tile_rows, std::min(input.rows, limit));
    const size_t area_bytes = state_->row_area_bytes;
    const bool host = state_->rows_to_host || expected * row_bytes <= std::min(few_bytes, area_bytes);
    const size_t most = host ? std::min(block_bytes, area_bytes) : area_bytes;
    uint64_t capacity = std::min<uint64_t>(expected, area.rows_in(most));
    if (area.columns.empty())
        capacity = uint64_t(1) << 60;

    unsigned grid = state_->full_grid(resident.blocks);
    uint64_t slice =
        std::max<uint64_t>(grid, static_cast<uint64_t>(first_rows_per_ms * wanted_ms) / codegen::tile_rows);
    if (kernel.loops)
        slice = grid;
    if (!first.all())
        slice = std::min(slice, std::max<uint64_t>(grid, first.worth(0) / codegen::tile_rows));
    slice = std::max<uint64_t>(1, std::min(slice, capacity / codegen::tile_rows)); // fits, whatever passes
    const Drain drain(*streams_);                                                  // before the area goes
    for (uint64_t tile = 0; tile < input.tiles && rows.nrows + area.filled < limit;) {
        if (area.capacity == 0 || (area.host == nullptr && area.device == nullptr && !area.columns.empty()))
            make_area(area, capacity, std::min(capacity, area.rows_in(min_bytes)), host);
        const uint64_t end = std::min(input.tiles, tile + slice);
        std::vector<uint64_t> words = argument(kernel, index, input);
        words[Kernel::tile_begin] = tile;
        words[Kernel::tile_end] = end;
        words[kernel.sink] = streams_->counter_word();
        words[kernel.sink + 1] = area.capacity;
        if (kernel.limit != 0) {
            const uint64_t left = limit - rows.nrows;
            words[kernel.limit] = left;
            words[kernel.limit + 1] = std::max<uint64_t>(1, std::min<uint64_t>(kernel.flush_rows, left / grid));
        }
        if (kernel.bound != 0)
            words[kernel.bound] = first.bound();
        const size_t first_word = kernel.sink + 2 + (pipeline.sink == SinkKind::Rows ? Kernel::words_of_rows : 0);
        area.each(area.capacity, [&](size_t i, bool nulls, size_t offset, size_t) {
            words[first_word + 2 * i + (nulls ? 1 : 0)] =
                (area.host ? reinterpret_cast<uint64_t>(area.host->piece->data) : address_of(*area.device)) + offset;
        });
        streams_->reset_control();
        streams_->copy_in(streams_->counter_word(), memcpy(streams_->stage(8).data, &area.filled, 8), 8);
        streams_->start_clock();
        const uint64_t blocks = std::min<uint64_t>(grid, end - tile);
        streams_->launch(resident.function, static_cast<unsigned>(blocks), codegen::block_threads, 0, words.data(),
                         partner_parts(kernel, input, grid / blocks));
        streams_->fetch_control();
        const uint64_t us = streams_->wait(cancel_);
        stats_.kernel_us += us;
        check_status();
        const uint64_t count = streams_->fetched().counter;
        if (count > area.capacity && rows.nrows + area.capacity < limit) {
            if (area.filled > 0) {
                hand_over(area, rows);
                continue;
            }
            if (end - tile > 1) {
                const double fraction = static_cast<double>(area.capacity) / static_cast<double>(count);
                slice = std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(end - tile) * fraction * 0.8));
                continue;
            }
            capacity = count;
            make_area(area, capacity, capacity, host);
            continue;
        }
        const uint64_t added = std::min(count, area.capacity) - area.filled;
        area.filled += added;
        if (area.host && !area.columns.empty())
            stats_.link_bytes += added * area.row_bytes();
        // As many tiles as take some 20 ms, and as fill the area.
        const uint64_t done = end - tile;
        tile = end;
        if (tile < input.tiles && take_better(kernel, module)) {
            resident = module->resident(Kernel::name, codegen::block_threads, 0);
            grid = state_->full_grid(resident.blocks);
        }
        const double time = wanted_ms * 1000 / static_cast<double>(std::max<uint64_t>(us, 100));
        double next = static_cast<double>(done) * std::min(4.0, time);
        if (added > 0) {
            if (area.capacity - area.filled < area.capacity / 4)
                hand_over(area, rows);
            if (!first.all() && rows.nrows + area.filled >= first.worth(kept)) {
                hand_over(area, rows);
                choose();
            }
            const double room = static_cast<double>(area.capacity - area.filled);
            next = std::min(next, static_cast<double>(done) * 0.95 * room / static_cast<double>(added));
        }
        slice = std::max<uint64_t>(1, static_cast<uint64_t>(next));
    }
    hand_over(area, rows);
    choose();
    row_bound_ = first.bound();
    catch_up();
    return rows;
}

// ---- rows that stay in device memory -----------------------------------------------------------------------------

// How many there are; `columns` gets the payload. As for a build (joins/join_build.cpp), a run that finds more than there is room for is repeated.
uint64_t CudaExecution::collect_rows(const std::vector<ChunkView> &chunks, std::vector<HeldColumn> &columns) {
    const Index index = static_cast<Index>(program_.pipelines.size() - 1);
    const Pipeline &pipeline = program_.pipelines[index];
    const Input input = describe(pipeline, chunks);
    if (input.tiles == 0)
        return 0;
    const Kernel kernel = kernel_for(index, request(index, input));
    const ModuleRef module = get_module(kernel.source);
    size_t row_bytes = 1;
    for (Index i = 0; i < pipeline.payload.count; ++i) {
        columns.emplace_back();
        columns.back().type = program_.exprs[program_.lists[pipeline.payload.first + i]].type;
        row_bytes += type_width(columns.back().type) + (kernel.payload_nullable[i] ? 1 : 0);
    }
    const uint64_t first_bytes = std::max<uint64_t>(min_first_bytes, state_->memory->limit() / first_part);
    uint64_t capacity = std::max<uint64_t>(1, std::min(input.rows, first_bytes / row_bytes));
    for (;;) {
        std::vector<uint64_t> words = argument(kernel, index, input);
        words[kernel.sink] = streams_->counter_word();
        words[kernel.sink + 1] = capacity;
        for (size_t i = 0; i < columns.size(); ++i) {
            const size_t at = kernel.sink + 2 + Kernel::words_of_rows + 2 * i;
            HeldColumn &column = columns[i];
            column.values = column.nulls = nullptr;
            column.values = streams_->allocate(capacity * type_width(column.type) + RowKernels::tail_bytes);
            words[at] = address_of(*column.values);
            if (kernel.payload_nullable[i]) {
                column.nulls = streams_->allocate(capacity + RowKernels::tail_bytes);
                words[at + 1] = address_of(*column.nulls);
            }
        }
        streams_->reset_control();
        run_slices(kernel, module, words, input, codegen::block_threads, 0, first_rows_per_ms);
        streams_->fetch_control();
        stats_.kernel_us += streams_->wait(cancel_);
        check_status();
        const uint64_t count = streams_->fetched().counter;
        if (count > capacity) {
            capacity = count;
            continue;
        }
        for (const HeldColumn &column : columns) {
            streams_->fill(address_of(*column.values) + count * type_width(column.type), 0, RowKernels::tail_bytes);
            if (column.nulls)
                streams_->fill(address_of(*column.nulls) + count, 0, RowKernels::tail_bytes);
        }
        catch_up();
        return count;
    }
}

RowKernels CudaExecution::row_kernels(const char *source) {
    return RowKernels(*state_, *streams_, state_->prepared->get(source, cancel_, &stats_.compile_us), cancel_, stats_);
}

bool CudaExecution::run_windows(const std::vector<ChunkView> &chunks, DeviceRows &result) {
    if (!can_compute_windows(program_))
        return false;
    bool done = false;
    const uint64_t rows_before = stats_.rows_in;
    quietly([&] {
        stats_.grouping = "rows";
        RowKernels kernels = row_kernels(windows_source); // (before anything is queued that writes to the columns)
        std::vector<HeldColumn> columns;
        const uint64_t rows = collect_rows(chunks, columns);
        if (rows > max_window_rows || (rows == 0 && columns.empty())) {
            streams_->wait(cancel_);
            return;
        }
        done = compute_windows(kernels, program_, columns, rows, result);
        stats_.rows_out += done ? result.nrows : 0;
    });
    if (!done) // (they will come again)
        stats_.rows_in = rows_before;
    return done;
}

void CudaExecution::cast_column(const DeviceRows &rows, DeviceRows::Column &column, Type type, int128 limit) {
    quietly([&] {
        RowKernels kernels = row_kernels(windows_source);
        cuda::cast_column(kernels, column, rows.nrows, type, limit);
    });
}

RowTable CudaExecution::copy_rows(const DeviceRows &rows, size_t first, size_t count) {
    RowTable table;
    RowArea area;
    for (const DeviceRows::Column &column : rows.columns)
        area.columns.push_back({type_width(column.type), column.nulls != nullptr});
    if (area.columns.empty()) {
        RowBlock block;
        block.nrows = count;
        table.add(std::move(block));
        return table;
    }
    quietly([&] {
        auto memory = std::make_shared<PinnedRows>(*state_->pinned, state_->work_memory, area.bytes(count));
        area.each(count, [&](size_t i, bool nulls, size_t offset, size_t width) {
            const DeviceRows::Column &column = rows.columns[i];
            streams_->copy_out(static_cast<char *>(memory->piece->data) + offset,
                               address_of(nulls ? *column.nulls : *column.values) + first * width, count * width);
        });
        stats_.kernel_us += streams_->wait(cancel_);
        stats_.link_bytes += count * area.row_bytes();
        table.add(area.block(memory, count, count));
    });
    return table;
}

} // namespace gpuscan::cuda
