// Building or repairing one chunk; see chunk_build.hpp.
//
// Rows are given away by a prefix sum over the windows' tuple counts. Buffers are sized from the rows per page seen so
// far, so that a chunk built in one go is seldom copied, and are filled with zeros: rows that nobody decodes hold
// values that harm no engine which looks at them before it looks at the mask.
#include "engine/chunk_build.hpp"

#include <algorithm>

#include "engine/dictionary.hpp"

namespace gpuscan {
namespace {

// A version is compacted when more than one row in this many is garbage (and there are rows enough to matter).
constexpr uint32_t garbage_part = 4;
constexpr uint32_t garbage_matters = 4096;
constexpr uint32_t row_headroom = 1024; // spare rows of a fresh buffer, for the next repairs
constexpr size_t max_cpu_sets = 8;      // sets of columns remembered as beyond the device
constexpr size_t buffer_slack = 64;     // bytes behind the last row, for vector loads

void merge(ColumnStats &into, const ColumnStats &from) {
    into.any_value |= from.any_value;
    into.any_null |= from.any_null;
    into.min = std::min(into.min, from.min);
    into.max = std::max(into.max, from.max);
}

} // namespace

ChunkBuilder::ChunkBuilder(Device &device, Allocate allocate, ChunkRef base, const ChunkAnswer &answer, uint32_t npages,
                           std::vector<BuildColumn> columns)
    : device_(device), allocate_(std::move(allocate)),
      work_(base ? std::make_shared<ChunkVersion>(*base) : std::make_shared<ChunkVersion>()),
      columns_(std::move(columns)), missing_(answer.missing), verified_(answer.verified), usable_(answer.covered),
      to_come_(answer.missing.count()) {
    for (const BuildColumn &column : columns_)
        ids_.push_back(column.id);
    if (work_->pages.size() < npages)
        work_->pages.resize(npages);
    uint32_t garbage = work_->garbage_rows();
    if (work_->nrows > garbage_matters && garbage > work_->nrows / garbage_part)
        compact();
}

// Copies the live rows to the front of new buffers, in their order. Without the memory for it the version stays as it
// is: garbage is only waste.
void ChunkBuilder::compact() {
    std::vector<uint32_t> order;
    work_->known_pages.for_each([&](uint32_t page) { order.push_back(page); });
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return work_->pages[a].row_start < work_->pages[b].row_start; });
    auto next = std::make_shared<ChunkVersion>(*work_);
    next->nrows = 0;
    for (uint32_t page : order) {
        next->pages[page].row_start = next->nrows;
        next->nrows += next->pages[page].nrows;
    }
    try {
        for (auto &entry : next->columns) {
            ColumnData &to = entry.second;
            const ColumnData from = to;
            size_t width = type_width(to.type);
            to.capacity = next->nrows + next->nrows / 16 + row_headroom;
            to.values = allocate_(to.capacity * width + buffer_slack);
            device_.fill(*to.values, 0, 0, to.values->size);
            if (from.nulls) {
                to.nulls = allocate_(to.capacity + buffer_slack);
                device_.fill(*to.nulls, 0, 0, to.nulls->size);
            }
            for (size_t i = 0; i < order.size();) {
                if (!from.have.test(order[i])) {
                    ++i;
                    continue;
                }
                uint32_t start = work_->pages[order[i]].row_start, target = next->pages[order[i]].row_start, rows = 0;
                for (; i < order.size() && from.have.test(order[i]); ++i) { // a run without garbage in it
                    const PageRows &page = work_->pages[order[i]];
                    if (page.row_start != start + rows)
                        break;
                    rows += page.nrows;
                }
                if (rows == 0)
                    continue;
                device_.copy(*to.values, target * width, *from.values, start * width, rows * width);
                if (from.nulls)
                    device_.copy(*to.nulls, target, *from.nulls, start, rows);
            }
        }
    } catch (const OutOfDeviceMemory &) {
        return;
    }
    work_ = std::move(next);
}

// Gives the page its rows: those it has if they are the same page's, else new ones at the end. LSN 0 twice says that nothing
// has changed in between, provided that the file is the same; and that it is if the map has verified the page.
void ChunkBuilder::place(const WindowPage &page) {
    const PageRows &old = work_->pages[page.page];
    if (work_->known(page.page) && old.lsn == page.lsn && old.nrows == page.ntuples &&
        (page.lsn != 0 || verified_.test(page.page)))
        return;
    work_->forget_page(page.page);
    work_->place_page(page.page, page.lsn, page.ntuples);
}

// Rows that the chunk will have when the build is over, by the rows per page so far.
uint32_t ChunkBuilder::wanted_rows() const {
    const uint64_t known = work_->known_pages.count(), live = work_->live_rows;
    uint64_t rest = known == 0 ? 0 : (live * to_come_ + known - 1) / known;
    uint64_t rows = work_->nrows + rest + rest / 32 + row_headroom;
    return static_cast<uint32_t>(std::min<uint64_t>(rows, UINT32_MAX));
}

// Makes room for `rows` rows, and a null buffer to decode into.
void ChunkBuilder::reserve(size_t column, uint32_t rows) {
    ColumnData &data = work_->columns[columns_[column].id];
    data.type = columns_[column].layout->type;
    size_t width = type_width(data.type);
    if (data.capacity < rows || !data.values) {
        ColumnData grown = data;
        grown.capacity = std::max(rows, wanted_rows());
        grown.values = allocate_(grown.capacity * width + buffer_slack);
        size_t old = data.values ? data.capacity * width : 0;
        if (old != 0)
            device_.copy(*grown.values, 0, *data.values, 0, old);
        device_.fill(*grown.values, old, 0, grown.values->size - old);
        if (data.nulls) {
            grown.nulls = allocate_(grown.capacity + buffer_slack);
            device_.copy(*grown.nulls, 0, *data.nulls, 0, data.capacity);
            device_.fill(*grown.nulls, data.capacity, 0, grown.nulls->size - data.capacity);
        }
        data = std::move(grown);
    }
    if (!data.nulls) {
        BufferRef nulls = allocate_(data.capacity + buffer_slack);
        device_.fill(*nulls, 0, 0, nulls->size);
        data.nulls = std::move(nulls);
    }
}

std::vector<PageStatus> ChunkBuilder::decode(const std::vector<WindowPage> &window,
                                             const std::atomic<uint32_t> *cancel) {
    std::vector<PageStatus> statuses(window.size(), PageStatus::Broken);
    to_come_ -= std::min<uint32_t>(to_come_, static_cast<uint32_t>(window.size()));
    for (const WindowPage &page : window)
        seen_.set(page.page);
    if (full_)
        return statuses;
    for (const WindowPage &page : window)
        place(page);
    // Pages by the set of columns that they lack: one group in a first build, few in a repair.
    std::map<std::vector<size_t>, std::vector<size_t>> groups;
    for (size_t i = 0; i < window.size(); ++i) {
        std::vector<size_t> lacks;
        for (size_t c = 0; c < columns_.size(); ++c) {
            auto data = work_->columns.find(columns_[c].id);
            if (data == work_->columns.end() || !data->second.have.test(window[i].page))
                lacks.push_back(c);
        }
        groups[lacks].push_back(i);
    }
    try {
        for (size_t c = 0; c < columns_.size(); ++c) { // (a whole chunk's column, at the first window)
            if (cancel != nullptr && cancel->load(std::memory_order_relaxed) != 0)
                throw Cancelled();
            reserve(c, work_->nrows);
        }
    } catch (const OutOfDeviceMemory &) {
        full_ = true;
        for (const WindowPage &page : window)
            work_->forget_page(page.page);
        return statuses;
    }
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
    return statuses;
}

void ChunkBuilder::decode_group(const std::vector<WindowPage> &window, const std::vector<size_t> &pages,
                                const std::vector<size_t> &columns, std::vector<PageStatus> &statuses,
                                const std::atomic<uint32_t> *cancel) {
    DecodeJob job;
    for (size_t i : pages) {
        const WindowPage &page = window[i];
        job.pages.push_back({page.data, work_->pages[page.page].row_start, page.ntuples,
                             static_cast<uint16_t>(page.in_place), nullptr});
    }
    for (size_t c : columns) {
        ColumnData &data = work_->columns[columns_[c].id];
        job.columns.push_back({columns_[c].layout, data.values.get(), data.nulls.get(), columns_[c].dictionary});
    }
    DecodeResult result;
    device_.decode(job, result, cancel);
    if (result.pages.size() != pages.size() || result.columns.size() != columns.size())
        throw DeviceError("the device answered for other pages than it was asked for");
    if (result.dictionary_full) {
        std::vector<size_t> texts;
        for (size_t c : columns)
            if (columns_[c].dictionary != nullptr)
                texts.push_back(c);
        throw Undecodable("too many distinct values", texts);
    }
    for (size_t k = 0; k < columns.size(); ++k)
        merge(work_->columns[columns_[columns[k]].id].stats, result.columns[k]);
    for (size_t k = 0; k < pages.size(); ++k) {
        uint32_t page = window[pages[k]].page;
        statuses[pages[k]] = result.pages[k];
        if (result.pages[k] == PageStatus::Unrepresentable) {
            std::vector<size_t> numerics;
            for (size_t c : columns)
                if (columns_[c].layout->codec == Codec::Numeric)
                    numerics.push_back(c);
            throw Undecodable("numeric value out of the device's range", numerics);
        }
        if (result.pages[k] == PageStatus::Ok)
            for (size_t c : columns)
                work_->columns[columns_[c].id].have.set(page);
    }
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

std::shared_ptr<ChunkVersion> ChunkBuilder::finish(bool map_identity) {
    if (map_identity)
        (work_->known_pages - verified_).for_each([&](uint32_t page) { work_->forget_page(page); });
    for (auto column = work_->columns.begin(); column != work_->columns.end();) {
        ColumnData &data = column->second;
        if (!data.stats.any_null)
            data.nulls.reset();
        column = data.have.any() ? std::next(column) : work_->columns.erase(column);
    }
    return work_;
}

PageBits ChunkBuilder::covered() const { return usable_; }

} // namespace gpuscan
