// Sorting delivered rows; see row_sort.hpp.
#include "engine/result/row_sort.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include "engine/util/in_parallel.hpp"

namespace gpuscan {
namespace {

constexpr size_t rows_per_thread = 16 * 1024; // fewer are not worth a thread
constexpr size_t max_threads = 32;
constexpr size_t samples_per_thread = 64;
constexpr size_t few_rows = 512; // are compared

using Entry = RowEntry;
using Counts = std::array<size_t, 256>;

// By the numbers' bytes. The sorted rows are in `rows` or in `other`: returns where.
Entry *sort_by_bytes(Entry *rows, Entry *other, size_t n, const std::atomic<uint32_t> *cancel) {
    std::array<Counts, sizeof(uint64_t)> counts{};
    for (size_t i = 0; i < n; ++i)
        for (size_t byte = 0; byte < counts.size(); ++byte)
            ++counts[byte][rows[i].prefix >> (8 * byte) & 255];
    for (size_t byte = 0; byte < counts.size(); ++byte) {
        Counts &places = counts[byte];
        if (places[rows[0].prefix >> (8 * byte) & 255] == n)
            continue;
        size_t before = 0;
        for (size_t &place : places) {
            const size_t count = place;
            place = before;
            before += count;
        }
        for (size_t i = 0; i < n; ++i)
            other[places[rows[i].prefix >> (8 * byte) & 255]++] = rows[i];
        std::swap(rows, other);
        stop_if(cancel);
    }
    return rows;
}

class Sorter {
  public:
    Sorter(const RowTable &rows, const std::vector<SortColumn> &order, const std::vector<Type> &types,
           const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel)
        : rows_(rows), types_(types), memory_(memory), cancel_(cancel), entries_(memory), other_(memory) {
        const size_t cores = std::max(1u, std::thread::hardware_concurrency());
        threads_ = std::max<size_t>(1, std::min({cores, max_threads, rows.nrows / rows_per_thread}));
        find_order(order);
    }

    RowTable run() {
        entries_.resize(rows_.nrows);
        other_.resize(rows_.nrows);
        choose_splitters();
        number_rows();
        std::vector<RowBlock> blocks(threads_);
        each_thread([&](size_t t) {
            const size_t first = range_begins_[t], n = range_begins_[t + 1] - first;
            Entry *const from = threads_ == 1 ? entries_.data() : other_.data();
            Entry *const spare = threads_ == 1 ? other_.data() : entries_.data();
            const Entry *sorted = sort_range(from + first, spare + first, n);
            blocks[t] = gather_rows(rows_, sorted, n, types_, memory_, cancel_);
        });
        RowTable out;
        for (RowBlock &block : blocks)
            out.add(std::move(block));
        return out;
    }

  private:
    size_t slice_begin(size_t t) const { return rows_.nrows * t / threads_; }

    // work(thread), at once.
    template <class Work> void each_thread(const Work &work) const {
        in_slices(static_cast<unsigned>(threads_), threads_, [&](unsigned t, uint64_t, uint64_t) { work(t); });
    }

    void find_order(const std::vector<SortColumn> &order) {
        std::vector<std::vector<KeyRange>> found(threads_, std::vector<KeyRange>(order.size(), no_values));
        each_thread([&](size_t t) {
            each_piece(rows_, slice_begin(t), slice_begin(t + 1), [&](size_t, size_t block, size_t row, size_t n) {
                for (size_t k = 0; k < order.size(); ++k)
                    add_to_range(order[k], rows_.blocks[block], row, n, &found[t][k]);
            });
        });
        std::vector<KeyRange> ranges = found[0];
        std::vector<bool> nullable;
        for (size_t k = 0; k < order.size(); ++k) {
            for (const std::vector<KeyRange> &of_slice : found)
                ranges[k] = {std::min(ranges[k].low, of_slice[k].low), std::max(ranges[k].high, of_slice[k].high)};
            nullable.push_back(std::any_of(rows_.blocks.begin(), rows_.blocks.end(), [&](const RowBlock &block) {
                return block.columns[order[k].column].nulls != nullptr;
            }));
        }
        order_ = RowOrder(order, std::move(nullable), std::move(ranges));
    }

    // Numbers at which ranges after the first begin.
    void choose_splitters() {
        if (threads_ == 1)
            return;
        std::vector<uint64_t> samples;
        const size_t count = threads_ * samples_per_thread;
        for (size_t s = 0; s < count; ++s) {
            const size_t row = rows_.nrows * s / count;
            each_number(rows_, order_, row, row + 1,
                        [&](size_t, const Entry &entry) { samples.push_back(entry.prefix); });
        }
        std::sort(samples.begin(), samples.end());
        for (size_t t = 1; t < threads_; ++t)
            splitters_.push_back(samples[count * t / threads_]);
    }

    size_t range_of(const Entry &entry) const {
        size_t range = 0;
        for (const uint64_t splitter : splitters_)
            range += splitter <= entry.prefix;
        return range;
    }

    // Into entries_, and by more than one thread from there into other_, range by range.
    void number_rows() {
        std::vector<std::vector<size_t>> places(threads_, std::vector<size_t>(threads_)); // [slice][range]
        each_thread([&](size_t t) {
            each_number(rows_, order_, slice_begin(t), slice_begin(t + 1), [&](size_t i, const Entry &entry) {
                entries_[i] = entry;
                ++places[t][range_of(entry)];
            });
            stop_if(cancel_);
        });
        size_t before = 0;
        for (size_t range = 0; range < threads_; ++range) {
            range_begins_.push_back(before);
            for (size_t t = 0; t < threads_; ++t) {
                const size_t count = places[t][range];
                places[t][range] = before;
                before += count;
            }
        }
        range_begins_.push_back(before);
        if (threads_ > 1)
            each_thread([&](size_t t) {
                for (size_t i = slice_begin(t); i < slice_begin(t + 1); ++i)
                    other_[places[t][range_of(entries_[i])]++] = entries_[i];
                stop_if(cancel_);
            });
    }

    // Returns where the sorted rows are: in `rows` or in `spare`.
    const Entry *sort_range(Entry *rows, Entry *spare, size_t n) const {
        const auto by_number = [](const Entry &x, const Entry &y) { return x.prefix < y.prefix; };
        if (n <= few_rows)
            std::sort(rows, rows + n, by_number);
        else
            rows = sort_by_bytes(rows, spare, n, cancel_);
        for (size_t first = 0, last; !order_.whole() && first < n; first = last) {
            last = first + 1;
            while (last < n && rows[last].prefix == rows[first].prefix)
                ++last;
            if (last - first > 1) {
                stop_if(cancel_);
                std::sort(rows + first, rows + last, [this](const Entry &x, const Entry &y) {
                    return order_.before(rows_.blocks[x.block], x.row, rows_.blocks[y.block], y.row);
                });
            }
        }
        return rows;
    }

    const RowTable &rows_;
    const std::vector<Type> &types_;
    const WorkMemoryRef &memory_;
    const std::atomic<uint32_t> *const cancel_;
    RowOrder order_;
    size_t threads_;
    WorkArray<Entry> entries_, other_;
    std::vector<uint64_t> splitters_;
    std::vector<size_t> range_begins_;
};

} // namespace

RowTable sort_rows(RowTable rows, const std::vector<SortColumn> &order, const std::vector<Type> &types,
                   const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel) {
    if (rows.nrows == 0)
        return rows;
    return Sorter(rows, order, types, memory, cancel).run();
}

} // namespace gpuscan
