// Sorting delivered rows; see row_sort.hpp.
#include "engine/result/row_sort.hpp"

#include <algorithm>
#include <queue>
#include <thread>

#include "engine/util/in_parallel.hpp"

namespace gpuscan {
namespace {

constexpr size_t rows_per_thread = 16 * 1024; // fewer are not worth a thread
constexpr size_t max_threads = 32;
constexpr size_t samples_per_run = 64;

using Entry = RowEntry;

std::vector<bool> nullable(const RowTable &rows, const std::vector<SortColumn> &order) {
    std::vector<bool> out;
    for (const SortColumn &key : order)
        out.push_back(std::any_of(rows.blocks.begin(), rows.blocks.end(),
                                  [&](const RowBlock &block) { return block.columns[key.column].nulls != nullptr; }));
    return out;
}

class Sorter {
  public:
    Sorter(const RowTable &rows, const std::vector<SortColumn> &order, const std::vector<Type> &types,
           const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel)
        : rows_(rows), order_(order, nullable(rows, order)), types_(types), memory_(memory), cancel_(cancel),
          entries_(memory) {
        const size_t cores = std::max(1u, std::thread::hardware_concurrency());
        threads_ = std::max<size_t>(1, std::min({cores, max_threads, rows.nrows / rows_per_thread}));
    }

    RowTable run() {
        entries_.resize(rows_.nrows);
        each_thread([&](size_t t) {
            const size_t first = run_begin(t), last = run_begin(t + 1);
            each_number(rows_, order_, first, last, [&](size_t i, const Entry &entry) { entries_[i] = entry; });
            std::sort(entries_.begin() + first, entries_.begin() + last,
                      [this](const Entry &x, const Entry &y) { return before(x, y); });
            stop_if(cancel_);
        });
        divide();
        std::vector<RowBlock> blocks(threads_);
        each_thread([&](size_t t) { blocks[t] = merge(t); });
        RowTable out;
        for (RowBlock &block : blocks)
            out.add(std::move(block));
        return out;
    }

  private:
    size_t run_begin(size_t t) const { return rows_.nrows * t / threads_; }

    // work(thread), at once.
    template <class Work> void each_thread(const Work &work) const {
        in_slices(static_cast<unsigned>(threads_), threads_, [&](unsigned t, uint64_t, uint64_t) { work(t); });
    }

    bool before(const Entry &x, const Entry &y) const {
        if (x.prefix != y.prefix || order_.whole())
            return x.prefix < y.prefix;
        return order_.before(rows_.blocks[x.block], x.row, rows_.blocks[y.block], y.row);
    }

    // Where the ranges begin in each run: begins_[range][run].
    void divide() {
        std::vector<Entry> samples;
        for (size_t r = 0; r < threads_; ++r) {
            const size_t first = run_begin(r), n = run_begin(r + 1) - first;
            for (size_t s = 0; s < samples_per_run && n > 0; ++s)
                samples.push_back(entries_[first + n * s / samples_per_run]);
        }
        auto order = [this](const Entry &x, const Entry &y) { return before(x, y); };
        std::sort(samples.begin(), samples.end(), order);
        begins_.assign(threads_ + 1, std::vector<size_t>(threads_));
        for (size_t r = 0; r < threads_; ++r) {
            begins_[0][r] = run_begin(r);
            begins_[threads_][r] = run_begin(r + 1);
            for (size_t t = 1; t < threads_; ++t)
                begins_[t][r] = static_cast<size_t>(std::lower_bound(entries_.begin() + run_begin(r),
                                                                     entries_.begin() + run_begin(r + 1),
                                                                     samples[samples.size() * t / threads_], order) -
                                                    entries_.begin());
        }
    }

    RowBlock merge(size_t t) const {
        size_t n = 0;
        for (size_t r = 0; r < threads_; ++r)
            n += begins_[t + 1][r] - begins_[t][r];
        if (threads_ == 1)
            return gather_rows(rows_, entries_.data(), n, types_, memory_, cancel_);
        WorkArray<Entry> merged(memory_);
        merged.resize(n);
        struct Cursor {
            const Entry *at, *end;
        };
        auto later = [this](const Cursor &x, const Cursor &y) { return before(*y.at, *x.at); };
        std::priority_queue<Cursor, std::vector<Cursor>, decltype(later)> cursors(later);
        for (size_t r = 0; r < threads_; ++r)
            if (begins_[t][r] < begins_[t + 1][r])
                cursors.push({entries_.data() + begins_[t][r], entries_.data() + begins_[t + 1][r]});
        for (size_t i = 0; i < n; ++i) {
            Cursor cursor = cursors.top();
            cursors.pop();
            merged[i] = *cursor.at++;
            if (cursor.at != cursor.end)
                cursors.push(cursor);
        }
        stop_if(cancel_);
        return gather_rows(rows_, merged.data(), n, types_, memory_, cancel_);
    }

    const RowTable &rows_;
    const RowOrder order_;
    const std::vector<Type> &types_;
    const WorkMemoryRef &memory_;
    const std::atomic<uint32_t> *const cancel_;
    size_t threads_;
    WorkArray<Entry> entries_;
    std::vector<std::vector<size_t>> begins_;
};

} // namespace

RowTable sort_rows(RowTable rows, const std::vector<SortColumn> &order, const std::vector<Type> &types,
                   const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel) {
    if (rows.nrows == 0)
        return rows;
    return Sorter(rows, order, types, memory, cancel).run();
}

} // namespace gpuscan
