// Entries of a key in the order of an interval's lower bound, and which of them can hold a value.
//
// A row's partners by `low <= x AND y <= high` are among the entries of its key; without an equality all entries are of one key. They
// lie in the order of `low`, so those with low <= x come first and a binary search finds their end. Beside each entry stands the largest
// `high` of its key up to there, which never falls: a second search finds the first entry that reaches y. What lies between is looked at
// pair by pair, as always; intervals that do not overlap leave one. (An interval tree whose nodes all hang to the right: Cormen, Leiserson,
// Rivest, Stein, "Introduction to Algorithms", section 14.3, keeps the same maximum in each node.)
//
// A bound that is NULL is no partner's, and may lie anywhere. Where only upper bounds are asked, entries lie in their order.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "host/join_table.hpp"

namespace gpuscan::host {

namespace {

struct Place {
    int64_t bound;
    uint32_t entry; // where it has been
};

bool is_before(const Place &a, const Place &b) {
    return a.bound < b.bound || (a.bound == b.bound && a.entry < b.entry);
}

struct Run { // of the entries of one key
    size_t first, count;
};

// A run that one thread would sort for too long: pieces by all threads, then merged two by two.
void sort_long_run(const WorkContext &work, Place *places, size_t n) {
    work.pieces(n, piece_rows, [&](size_t begin, size_t end) { std::sort(places + begin, places + end, is_before); });
    WorkArray<Place> other(work.memory);
    other.resize(n);
    Place *from = places, *to = other.data();
    for (size_t width = piece_rows; width < n; width *= 2) {
        work.pieces(n, 2 * width, [&](size_t begin, size_t end) {
            const size_t middle = std::min(begin + width, end);
            std::merge(from + begin, from + middle, from + middle, from + end, to + begin, is_before);
        });
        std::swap(from, to);
    }
    if (from != places)
        memcpy(static_cast<void *>(places), from, n * sizeof(Place));
}

} // namespace

// Calls task(run) for the entries of each key that has more than one; threads share the keys.
template <class Task> void JoinTable::each_run(const WorkContext &work, Task task) const {
    if (form_ == Form::Dense)
        work.pieces(offsets_.size() - 1, piece_rows, [&](size_t begin, size_t end) {
            for (size_t key = begin; key < end; ++key)
                if (offsets_[key + 1] - offsets_[key] > 1)
                    task(Run{offsets_[key], offsets_[key + 1] - offsets_[key]});
        });
    else
        work.pieces(slots_.size(), piece_rows, [&](size_t begin, size_t end) {
            for (size_t at = begin; at < end; ++at)
                if (slots_[at].count > 1)
                    task(Run{slots_[at].first, slots_[at].count});
        });
}

void JoinTable::order_by_intervals(const WorkContext &work, WorkArray<int64_t> low, WorkArray<int64_t> high) {
    const WorkArray<int64_t> &bound = low.empty() ? high : low;
    WorkArray<Place> places(work.memory);
    places.resize(entries_);
    work.pieces(entries_, piece_rows, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            places[i] = {bound[i], static_cast<uint32_t>(i)};
    });
    std::mutex mutex;
    std::vector<Run> long_runs;
    each_run(work, [&](Run run) {
        if (run.count <= piece_rows) {
            std::sort(places.data() + run.first, places.data() + run.first + run.count, is_before);
            return;
        }
        const std::lock_guard<std::mutex> lock(mutex);
        long_runs.push_back(run);
    });
    for (const Run &run : long_runs)
        sort_long_run(work, places.data() + run.first, run.count);

    WorkArray<uint32_t> entries(work.memory);
    entries.resize(entries_);
    work.pieces(entries_, piece_rows, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            entries[i] = places[i].entry;
    });
    // (All of them or none: there may be no memory for the last.)
    std::vector<WorkArray<uint8_t>> moved;
    const auto reorder = [&](const WorkArray<uint8_t> &values, size_t width) {
        moved.emplace_back(work.memory);
        moved.back().resize(values.size());
        uint8_t *const to = moved.back().data();
        work.pieces(values.size() / width, piece_rows, [&](size_t begin, size_t end) {
            kernels().gather(width, end - begin, values.data(), entries.data() + begin, to + begin * width);
        });
    };
    for (const PayloadColumn &column : payload_) {
        reorder(column.values, column.stored);
        reorder(column.nulls, 1);
    }
    if (!low.empty())
        work.pieces(entries_, piece_rows, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i)
                low[i] = places[i].bound;
        });
    if (!high.empty()) {
        WorkArray<int64_t> reach(work.memory);
        reach.resize(entries_);
        work.pieces(entries_, piece_rows, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i)
                reach[i] = high[entries[i]];
        });
        each_run(work, [&](Run run) {
            for (size_t i = run.first + 1; i < run.first + run.count; ++i)
                reach[i] = std::max(reach[i], reach[i - 1]);
        });
        reach_ = std::move(reach);
    }
    low_ = std::move(low);
    for (size_t c = 0; c < payload_.size(); ++c) {
        payload_[c].values = std::move(moved[2 * c]);
        payload_[c].nulls = std::move(moved[2 * c + 1]);
    }
}

uint32_t JoinTable::narrow(const IntervalProbe &low, const IntervalProbe &high, uint32_t matched, uint32_t *positions,
                           uint32_t *entries, uint32_t *counts) const {
    uint32_t left = 0;
    for (uint32_t i = 0; i < matched; ++i) {
        const uint32_t row = positions[i];
        size_t first = entries[i], end = first + counts[i];
        if (!low_.empty()) {
            if (low.values.nulls != nullptr && low.values.nulls[row])
                continue;
            const int64_t x = integer_at(low.type, low.values.values, row);
            const int64_t *from = low_.data() + first, *to = low_.data() + end;
            end = static_cast<size_t>((low.strict ? std::lower_bound(from, to, x) : std::upper_bound(from, to, x)) -
                                      low_.data());
        }
        if (!reach_.empty()) {
            if (high.values.nulls != nullptr && high.values.nulls[row])
                continue;
            const int64_t x = integer_at(high.type, high.values.values, row);
            const int64_t *from = reach_.data() + first, *to = reach_.data() + end;
            first = static_cast<size_t>((high.strict ? std::upper_bound(from, to, x) : std::lower_bound(from, to, x)) -
                                        reach_.data());
        }
        positions[left] = row;
        entries[left] = static_cast<uint32_t>(first);
        counts[left] = static_cast<uint32_t>(end - first);
        left += first < end;
    }
    return left;
}

} // namespace gpuscan::host
