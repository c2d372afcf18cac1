// Building or repairing one chunk; see chunk_build.hpp.
//
// Rows are given away by a prefix sum over the windows' tuple counts. Fresh buffers are sized from the rows per page seen
// so far, so that a chunk built in one go is seldom copied. Buffers are filled with zeros before rows are moved into them:
// rows that nobody decodes hold values that harm no engine which looks at them before it looks at the mask.
#include "engine/store/chunk_build.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "engine/store/dictionary.hpp"

namespace gpuscan {
namespace {

// A version is compacted when more than one row in this many is garbage (and there are rows enough to matter).
constexpr uint32_t garbage_part = 4;
constexpr uint32_t garbage_matters = 4096;
constexpr uint32_t row_headroom = 1024; // spare rows of a fresh buffer, for the next repairs
constexpr uint32_t headroom_part = 32;  // ... and one row for so many
constexpr uint32_t growing_part = 8;    // ... of a column that repairs have filled: they go on until it is compacted
constexpr size_t max_cpu_sets = 8;      // sets of columns remembered as beyond the device
constexpr uint64_t many_rows = 1 << 16; // that are moved
constexpr size_t buffer_slack = 64;     // bytes behind the last row, for vector loads

// Rows that lie behind those of the last run, and go behind them, join it.
void add_run(std::vector<RowRun> &runs, const RowRun &run) {
    if (!runs.empty() && run.from == runs.back().from + runs.back().count &&
        run.to == runs.back().to + runs.back().count)
        runs.back().count += run.count;
    else
        runs.push_back(run);
}

} // namespace

ChunkBuilder::ChunkBuilder(Device &device, Allocate allocate, ChunkRef base, const ChunkAnswer &answer, uint32_t npages,
                           std::vector<BuildColumn> columns, size_t nwanted)
    : device_(device), allocate_(std::move(allocate)),
      work_(base ? std::make_shared<ChunkVersion>(*base) : std::make_shared<ChunkVersion>()),
      columns_(std::move(columns)), missing_(answer.missing), verified_(answer.verified), usable_(answer.covered),
      to_come_(answer.missing.count()) {
    for (size_t c = 0; c < nwanted; ++c)
        ids_.push_back(columns_[c].id);
    work_->forget_summary();
    (work_->known_pages - PageBits::first(npages)).for_each([&](uint32_t page) { work_->forget_page(page); });
    fresh_.resize(columns_.size());
    uint32_t garbage = work_->garbage_rows();
    if (work_->nrows > garbage_matters && garbage > work_->nrows / garbage_part)
        compact();
    base_rows_ = work_->nrows;
}

// These pages, all known, in the order of their rows.
std::vector<uint32_t> ChunkBuilder::by_rows(const PageBits &pages) const {
    std::vector<uint32_t> order;
    pages.for_each([&](uint32_t page) { order.push_back(page); });
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return work_->pages[a].row_start < work_->pages[b].row_start; });
    return order;
}

// Where the rows of these pages are, as far as a column has them, and where they are in `to`.
std::vector<RowRun> ChunkBuilder::runs_to(const ChunkVersion &to, const std::vector<uint32_t> &order,
                                          const PageBits &have) const {
    std::vector<RowRun> runs;
    for (uint32_t page : order)
        if (have.test(page) && work_->pages[page].nrows > 0)
            add_run(runs, {work_->pages[page].row_start, to.pages[page].row_start, work_->pages[page].nrows});
    return runs;
}

// Copies the live rows to the front of new buffers, in their order. Without the memory for it the version stays as it
// is: garbage is only waste.
void ChunkBuilder::compact() {
    const std::vector<uint32_t> order = by_rows(work_->known_pages);
    auto next = std::make_shared<ChunkVersion>(*work_);
    next->nrows = 0;
    next->base_rows = nullptr;
    for (uint32_t page : order) {
        PageRows rows = next->pages[page];
        rows.row_start = next->nrows;
        next->pages.put(page, rows);
        next->nrows += rows.nrows;
    }
    try {
        for (const ChunkColumns::Column &column : work_->columns) {
            const ColumnData &from = *column.data;
            ColumnData to = from;
            ZoneMap zones;
            const size_t width = to.frame.bytes(to.type);
            to.capacity = next->nrows + next->nrows / growing_part + row_headroom;
            if (width > 0)
                to.values = zeroed(to.capacity * width + buffer_slack);
            if (from.nulls)
                to.nulls = zeroed(to.capacity + buffer_slack);
            const std::vector<RowRun> runs = runs_to(*next, order, from.have);
            if (from.zones)
                for (const RowRun &run : runs)
                    move_zone_map(*from.zones, run.from, run.count, zones, run.to);
            move_rows(from, runs, to);
            to.zones = std::make_shared<ZoneMap>(std::move(zones));
            to.zone_map_narrows = zone_map_narrows(*to.zones, to.stats);
            next->columns.put(column.id, std::move(to));
        }
        pack();
    } catch (const OutOfDeviceMemory &) {
        to_zero_.clear();
        forget_moves();
        return;
    }
    work_ = std::move(next);
}

// Gives the page its rows: those it has if they are the same page's, else new ones at the end. LSN 0 twice says that nothing
// has changed in between, provided that the file is the same; and that it is if the map has verified the page. Are they new?
bool ChunkBuilder::place(const WindowPage &page) {
    const PageRows &old = work_->pages[page.page];
    if (work_->known(page.page) && old.lsn == page.lsn && old.nrows == page.ntuples &&
        (page.lsn != 0 || verified_.test(page.page)))
        return false;
    work_->forget_page(page.page);
    work_->place_page(page.page, page.lsn, page.ntuples);
    return true;
}

// A new buffer from `offset` on.
void ChunkBuilder::zero(const BufferRef &buffer, size_t offset) {
    if (!buffer->comes_zeroed)
        to_zero_.push_back({buffer, offset});
}

// Where memory was short: what nobody else holds any more needs no zeros, and is to be free.
void ChunkBuilder::forget_dead_buffers() {
    to_zero_.erase(std::remove_if(to_zero_.begin(), to_zero_.end(),
                                  [](const BufferEnd &end) { return end.buffer.use_count() == 1; }),
                   to_zero_.end());
}

// With the zeros that are wanted before. (In one call: each waits for the device.)
void ChunkBuilder::run_decode(DecodeJob &job, DecodeResult &result, const std::atomic<uint32_t> *cancel) {
    job.zeros = to_zero_;
    device_.decode(job, result, cancel);
    to_zero_.clear();
}

BufferRef ChunkBuilder::zeroed(size_t bytes) {
    BufferRef buffer = allocate_(bytes);
    zero(buffer, 0);
    return buffer;
}

PageRef page_ref(const WindowPage &page, int expression, uint32_t row_start) {
    if (expression < 0)
        return {page.data, row_start, page.ntuples, static_cast<uint16_t>(page.in_place), page.mask};
    return {page.expressions[static_cast<size_t>(expression)].data, row_start, page.ntuples, 0, page.mask};
}

PageStatus expression_status(const WindowPage &page, int expression) {
    const size_t number = static_cast<size_t>(expression);
    if (number >= page.expressions.size() ||
        (page.expressions[number].data == nullptr && !page.expressions[number].failed))
        return PageStatus::Broken; // the page has changed since the backend was told what it lacks
    return page.expressions[number].failed ? PageStatus::NeedsCpu : PageStatus::Ok;
}

// ---- decoding -----------------------------------------------------------------------------------------------------

// Fresh rows that there will be when the build is over, by the rows per page so far.
uint32_t ChunkBuilder::wanted_rows() const {
    const uint64_t pages = seen_.count();
    const uint64_t rest = pages == 0 ? 0 : (uint64_t(fresh_rows_) * to_come_ + pages - 1) / pages;
    return static_cast<uint32_t>(std::min<uint64_t>(fresh_rows_ + rest + rest / 32 + row_headroom, UINT32_MAX));
}

// Makes room for the fresh rows.
void ChunkBuilder::reserve(Fresh &fresh, Type type) {
    if (fresh.values && fresh.capacity >= fresh_rows_)
        return;
    const size_t width = type_width(type);
    Fresh grown = fresh;
    grown.capacity = wanted_rows();
    grown.values = allocate_(grown.capacity * width + buffer_slack);
    grown.nulls = allocate_(grown.capacity + buffer_slack);
    const size_t old = fresh.capacity;
    if (old != 0) {
        pack(); // (zeros that wait since no page of a window could be decoded)
        device_.copy(*grown.values, 0, *fresh.values, 0, old * width);
        device_.copy(*grown.nulls, 0, *fresh.nulls, 0, old);
    }
    zero(grown.values, old * width);
    zero(grown.nulls, old);
    fresh = std::move(grown);
}

std::vector<PageStatus> ChunkBuilder::decode(const std::vector<WindowPage> &window,
                                             const std::atomic<uint32_t> *cancel) {
    std::vector<PageStatus> statuses(window.size(), PageStatus::Broken);
    to_come_ -= std::min<uint32_t>(to_come_, static_cast<uint32_t>(window.size()));
    for (const WindowPage &page : window)
        seen_.set(page.page);
    if (full_)
        return statuses;
    std::vector<size_t> placed;
    for (size_t i = 0; i < window.size(); ++i) {
        if (place(window[i]))
            placed.push_back(i);
        fresh_start_.put(window[i].page, fresh_rows_);
        fresh_rows_ += window[i].ntuples;
    }
    // Pages by the set of columns that they lack: one group in a first build, few in a repair.
    std::map<std::vector<size_t>, std::vector<size_t>> groups;
    for (size_t i = 0; i < window.size(); ++i) {
        std::vector<size_t> lacks;
        for (size_t c = 0; c < ids_.size(); ++c) {
            const ColumnData *data = work_->columns.data(ids_[c]);
            if (data == nullptr || !data->have.test(window[i].page))
                lacks.push_back(c);
        }
        groups[lacks].push_back(i);
    }
    try {
        for (const auto &group : groups)
            for (size_t c : group.first) { // (a whole chunk's column, at the first window)
                if (cancel != nullptr && cancel->load(std::memory_order_relaxed) != 0)
                    throw Cancelled();
                reserve(fresh_[c], columns_[c].layout->type);
            }
    } catch (const OutOfDeviceMemory &) {
        full_ = true;
        forget_dead_buffers();
        for (size_t i : placed) // (the others keep their rows and other columns)
            work_->forget_page(window[i].page);
        return statuses;
    }
    const bool all_new = placed.size() == window.size(); // (so there is one group)
    const bool together = all_new && decode_with_companions(window, statuses, cancel);
    if (!together)
        for (const auto &group : groups)
            decode_group(window, group.second, group.first, statuses, cancel);
    for (size_t i = 0; i < window.size(); ++i) {
        uint32_t page = window[i].page;
        if (statuses[i] == PageStatus::Broken) {
            work_->forget_page(page);
            continue;
        }
        verified_.set(page);
        if (statuses[i] == PageStatus::NeedsCpu) {
            note_cpu_page(page);
            continue;
        }
        usable_.set(page);
        ++decoded_;
    }
    placed.erase(
        std::remove_if(placed.begin(), placed.end(), [&](size_t i) { return statuses[i] == PageStatus::Broken; }),
        placed.end());
    if (!together)
        decode_companions(window, placed, cancel);
    return statuses;
}

DecodeJob ChunkBuilder::decode_job(const std::vector<WindowPage> &window, const std::vector<size_t> &pages,
                                   const std::vector<size_t> &columns, int expression) const {
    DecodeJob job;
    for (size_t i : pages)
        job.pages.push_back(page_ref(window[i], expression, fresh_start_[window[i].page]));
    for (size_t c : columns)
        job.columns.push_back(
            {columns_[c].layout, fresh_[c].values.get(), fresh_[c].nulls.get(), columns_[c].dictionary});
    return job;
}

void ChunkBuilder::note_decoded(const DecodeJob &job, const DecodeResult &result, const std::vector<size_t> &columns) {
    for (size_t k = 0; k < columns.size(); ++k) {
        fresh_[columns[k]].stats.merge(result.columns[k]);
        fresh_[columns[k]].windows.push_back(
            {job.pages.front().row_start, job.pages.back().row_start + job.pages.back().ntuples, result.columns[k]});
    }
}

// Pages that lack the same columns: those that the heap has first, then each expression by itself.
void ChunkBuilder::decode_group(const std::vector<WindowPage> &window, const std::vector<size_t> &pages,
                                const std::vector<size_t> &columns, std::vector<PageStatus> &statuses,
                                const std::atomic<uint32_t> *cancel) {
    std::vector<size_t> attributes, expressions;
    for (size_t c : columns)
        (columns_[c].expression < 0 ? attributes : expressions).push_back(c);
    for (size_t i : pages)
        statuses[i] = PageStatus::Ok;
    if (!attributes.empty() || expressions.empty())
        decode_columns(window, pages, attributes, -1, statuses, cancel);
    for (size_t c : expressions) {
        std::vector<size_t> evaluated;
        for (size_t i : pages) {
            if (statuses[i] == PageStatus::Ok)
                statuses[i] = expression_status(window[i], columns_[c].expression);
            if (statuses[i] == PageStatus::Ok)
                evaluated.push_back(i);
        }
        if (!evaluated.empty())
            decode_columns(window, evaluated, {c}, columns_[c].expression, statuses, cancel);
    }
}

void ChunkBuilder::decode_columns(const std::vector<WindowPage> &window, const std::vector<size_t> &pages,
                                  const std::vector<size_t> &columns, int expression, std::vector<PageStatus> &statuses,
                                  const std::atomic<uint32_t> *cancel) {
    DecodeJob job = decode_job(window, pages, columns, expression);
    DecodeResult result;
    run_decode(job, result, cancel);
    if (result.pages.size() != pages.size() || result.columns.size() != columns.size())
        throw DeviceError("the device answered for other pages than it was asked for");
    if (result.dictionary_full) {
        std::vector<size_t> texts;
        for (size_t c : columns)
            if (columns_[c].dictionary != nullptr)
                texts.push_back(c);
        throw Undecodable("too many distinct values", texts);
    }
    note_decoded(job, result, columns);
    for (size_t k = 0; k < pages.size(); ++k) {
        uint32_t page = window[pages[k]].page;
        statuses[pages[k]] = result.pages[k];
        if (result.pages[k] == PageStatus::Unrepresentable) {
            std::vector<size_t> numerics;
            for (size_t c : columns) {
                DecodeResult alone;
                if (is_scaled(columns_[c].layout->codec))
                    device_.decode(decode_job(window, {pages[k]}, {c}, expression), alone, cancel);
                if (!alone.pages.empty() && alone.pages[0] == PageStatus::Unrepresentable)
                    numerics.push_back(c);
            }
            throw Undecodable(unfit_numeric, numerics);
        }
        if (result.pages[k] == PageStatus::Ok)
            for (size_t c : columns)
                fresh_[c].pages.set(page);
    }
}

// The companions of which the next pages can be decoded, too; without the memory for them there are none any more.
std::vector<size_t> ChunkBuilder::companions() {
    std::vector<size_t> columns;
    try {
        for (size_t c = ids_.size(); c < columns_.size(); ++c) {
            reserve(fresh_[c], columns_[c].layout->type);
            columns.push_back(c);
        }
    } catch (const OutOfDeviceMemory &) {
        forget_companions();
        return {};
    }
    return columns;
}

void ChunkBuilder::forget_companions() {
    columns_.resize(ids_.size());
    fresh_.resize(ids_.size());
    forget_dead_buffers();
}

// Decodes all columns of a window of new pages at once. False: that cannot be, nothing has come of it, and wanted columns and
// companions have to be decoded one after the other, since what is wrong with a companion must not touch the others.
bool ChunkBuilder::decode_with_companions(const std::vector<WindowPage> &window, std::vector<PageStatus> &statuses,
                                          const std::atomic<uint32_t> *cancel) {
    const bool expressions =
        std::any_of(columns_.begin(), columns_.end(), [](const BuildColumn &column) { return column.expression >= 0; });
    if (window.empty() || expressions || apart_ || companions().empty())
        return false;
    std::vector<size_t> pages(window.size()), columns(columns_.size());
    std::iota(pages.begin(), pages.end(), size_t(0));
    std::iota(columns.begin(), columns.end(), size_t(0));
    try {
        DecodeJob job = decode_job(window, pages, columns, -1);
        DecodeResult result;
        run_decode(job, result, cancel);
        apart_ = result.dictionary_full || result.pages.size() != pages.size() ||
                 result.columns.size() != columns.size() ||
                 std::any_of(result.pages.begin(), result.pages.end(),
                             [](PageStatus status) { return status != PageStatus::Ok; });
        if (apart_)
            return false;
        note_decoded(job, result, columns);
    } catch (const OutOfDeviceMemory &) {
        forget_companions();
        return false;
    }
    for (const WindowPage &page : window)
        for (Fresh &fresh : fresh_)
            fresh.pages.set(page.page);
    std::fill(statuses.begin(), statuses.end(), PageStatus::Ok);
    return true;
}

void ChunkBuilder::decode_companions(const std::vector<WindowPage> &window, const std::vector<size_t> &pages,
                                     const std::atomic<uint32_t> *cancel) {
    const std::vector<size_t> columns = pages.empty() ? std::vector<size_t>() : companions();
    if (columns.empty())
        return;
    try {
        DecodeJob job = decode_job(window, pages, columns, -1);
        DecodeResult result;
        run_decode(job, result, cancel);
        if (!result.dictionary_full && result.pages.size() == pages.size() && result.columns.size() == columns.size()) {
            note_decoded(job, result, columns);
            for (size_t k = 0; k < pages.size(); ++k)
                for (size_t c : columns)
                    if (result.pages[k] == PageStatus::Ok)
                        fresh_[c].pages.set(window[pages[k]].page);
            return;
        }
    } catch (const OutOfDeviceMemory &) {
    }
    forget_companions();
}

void ChunkBuilder::note_cpu_page(uint32_t page) {
    std::vector<uint32_t> sorted = ids_;
    std::sort(sorted.begin(), sorted.end());
    auto set = std::find_if(work_->cpu_pages.begin(), work_->cpu_pages.end(),
                            [&](const CpuPages &cpu) { return cpu.columns == sorted; });
    if (set == work_->cpu_pages.end()) {
        if (work_->cpu_pages.size() >= max_cpu_sets)
            work_->cpu_pages.erase(work_->cpu_pages.begin());
        set = work_->cpu_pages.insert(work_->cpu_pages.end(), CpuPages{sorted, {}});
    }
    set->pages.set(page);
}

void ChunkBuilder::drop_page(uint32_t page) {
    work_->forget_page(page);
    verified_.reset(page);
    usable_.reset(page);
}

// ---- finishing ----------------------------------------------------------------------------------------------------

// Where the fresh rows of these pages are and where they go, in the order of the fresh rows.
std::vector<RowRun> ChunkBuilder::fresh_runs(const PageBits &pages) const {
    std::vector<RowRun> runs;
    pages.for_each([&](uint32_t page) {
        if (work_->pages[page].nrows > 0)
            runs.push_back({fresh_start_[page], work_->pages[page].row_start, work_->pages[page].nrows});
    });
    std::sort(runs.begin(), runs.end(), [](const RowRun &a, const RowRun &b) { return a.from < b.from; });
    std::vector<RowRun> joined;
    for (const RowRun &run : runs)
        add_run(joined, run);
    return joined;
}

// Of few rows the device hears all at once; the memory of many is wanted for the next column.
void ChunkBuilder::move_rows(const ColumnData &from, const std::vector<RowRun> &runs, const ColumnData &to) {
    PackJob job;
    job.type = to.type;
    job.from_frame = from.frame;
    job.to_frame = to.frame;
    job.from = from.values.get();
    job.to = to.values.get();
    job.from_nulls = from.nulls.get();
    job.to_nulls = to.nulls.get();
    job.runs = runs;
    for (const RowRun &run : runs)
        rows_to_move_ += run.count;
    moved_.insert(moved_.end(), {from.values, from.nulls, to.values, to.nulls});
    moves_.push_back(std::move(job));
    if (rows_to_move_ >= many_rows)
        pack();
}

void ChunkBuilder::pack() {
    device_.pack(moves_, to_zero_);
    to_zero_.clear();
    forget_moves();
}

void ChunkBuilder::forget_moves() {
    moves_.clear();
    moved_.clear();
    rows_to_move_ = 0;
}

// Makes the fresh buffers the column's own, without a copy. False: rows are not where they must be.
bool ChunkBuilder::adopt(Fresh &fresh, const std::vector<RowRun> &runs, ColumnData &data) {
    const bool in_place = std::all_of(runs.begin(), runs.end(), [](const RowRun &run) { return run.from == run.to; });
    if (data.have.any() || !in_place)
        return false;
    data.frame = Frame();
    data.capacity = fresh.capacity;
    data.values = fresh.values;
    data.nulls = data.stats.any_null ? fresh.nulls : nullptr;
    return true;
}

// Moves the fresh rows of these pages into the column. On OutOfDeviceMemory the column is as it was.
void ChunkBuilder::finish_column(size_t column, const PageBits &pages) {
    Fresh &fresh = fresh_[column];
    const ColumnData *before = work_->columns.data(columns_[column].id);
    const ColumnData nothing;
    const ColumnData &data = before != nullptr ? *before : nothing;
    const std::vector<RowRun> runs = fresh_runs(pages);
    ColumnData next = data;
    next.type = columns_[column].layout->type;
    next.stats.merge(fresh.stats);
    const bool had = data.have.any();
    if (!had || data.capacity < work_->nrows || !frame_holds(data.frame, next.stats)) {
        next.frame = frame_for(next.type, next.stats);
        const bool outgrown = had && data.capacity < work_->nrows;
        next.capacity = work_->nrows + work_->nrows / (outgrown ? growing_part : headroom_part) + row_headroom;
        next.values = next.nulls = nullptr;
        try {
            if (!next.frame.is_whole() || !adopt(fresh, runs, next)) {
                if (next.frame.bytes(next.type) > 0)
                    next.values = zeroed(next.capacity * next.frame.bytes(next.type) + buffer_slack);
                if (next.stats.any_null)
                    next.nulls = zeroed(next.capacity + buffer_slack);
            }
        } catch (const OutOfDeviceMemory &) {
            if (!adopt(fresh, runs, next))
                throw;
        }
        if (had) // (rows of other pages may be among the fresh ones)
            move_rows(data, runs_to(*work_, by_rows(data.have), data.have), next);
    } else if (next.stats.any_null && !next.nulls) {
        next.nulls = zeroed(next.capacity + buffer_slack);
    }
    if (next.values != fresh.values) {
        ColumnData from;
        from.values = fresh.values;
        from.nulls = fresh.nulls;
        move_rows(from, runs, next);
    }
    note_zone_map(fresh, runs, next);
    next.have |= pages;
    work_->columns.put(columns_[column].id, std::move(next));
}

// The zones that get the fresh rows of these runs have their bounds, too.
void ChunkBuilder::note_zone_map(const Fresh &fresh, const std::vector<RowRun> &runs, ColumnData &data) const {
    ZoneMap zones;
    if (data.zones)
        zones = *data.zones;
    for (const RowRun &run : runs)
        for (const Decoded &window : fresh.windows) {
            const uint32_t first = std::max(window.first, run.from), end = std::min(window.end, run.from + run.count);
            if (first < end)
                widen_zone_map(zones, run.to + (first - run.from), end - first, window.stats);
        }
    data.zone_map_narrows = zone_map_narrows(zones, data.stats);
    data.zones = std::make_shared<ZoneMap>(std::move(zones));
}

std::shared_ptr<ChunkVersion> ChunkBuilder::finish() {
    for (size_t c = 0; c < columns_.size(); ++c) {
        const PageBits pages = fresh_[c].pages & work_->known_pages;
        try {
            if (pages.any())
                finish_column(c, pages);
        } catch (const OutOfDeviceMemory &) {
            if (c < ids_.size())
                usable_ = usable_ - pages;
            forget_dead_buffers();
        }
        fresh_[c] = Fresh(); // its memory is wanted for the next one
    }
    pack();
    work_->columns.erase_empty();
    return work_;
}

} // namespace gpuscan
