// What are the counts, sums and extremes of frames (window.hpp)?
//
// A frame that begins with its partition only grows. One that moves gives up exact sums and counts again, keeps a queue of candidates for
// its minimum, and adds floats up in two stacks. Where threads share a partition, what its rows before a thread's add up to is found first.
#pragma once

#include <cmath>

#include "engine/result/window_frames.hpp"

namespace gpuscan::window_parts {

constexpr uint64_t narrow_frame = 64;   // floats of no more rows are added up anew for each row, in PostgreSQL's order
constexpr double average_limit = 1e140; // the squares that PostgreSQL's avg keeps beside its sum overflow beyond

// What the rows of a partition before those of a thread add up to, and what those of a whole one do that threads share. A frame that
// begins with its partition goes on from there.
template <class Sum> class Carry {
  public:
    // of(first, end): the sum of some rows of one partition; each(work): work(slice) by all threads
    template <class Each, class Of>
    Carry(const FrameRule &rule, unsigned threads, const Each &each, const Of &of)
        : whole_(rule.end == FrameBound::UnboundedFollowing), shares_(threads) {
        if (rule.start != FrameBound::UnboundedPreceding || rule.ends != nullptr || rule.end == FrameBound::Preceding ||
            threads == 1)
            return;
        carries_ = true;
        each([&](const Slice &slice) {
            Share &own = shares_[slice.thread];
            own.from = slice.from;
            own.begin = slice.starts[slice.first];
            const size_t last = slice.starts[slice.last - 1], end = slice.starts[slice.first + 1];
            own.last = last;
            if (whole_ && slice.from > own.begin)
                own.head = of(slice.from, std::min<size_t>(end, slice.to));
            if (slice.to < slice.starts[slice.last])
                own.tail = of(std::max<size_t>(last, slice.from), slice.to);
        });
        for (unsigned t = 1; t < threads; ++t)
            if (shares_[t].from > shares_[t].begin) {
                if (shares_[t - 1].last < shares_[t - 1].from)
                    shares_[t].before = shares_[t - 1].before;
                shares_[t].before.add(shares_[t - 1].tail);
            }
    }

    // The sum of the rows that a thread finds added up when it comes to its first row of the partition, and where these end.
    size_t begin(const Slice &slice, size_t partition, size_t row, Sum &sum) const {
        const size_t begin = slice.starts[partition], end = slice.starts[partition + 1];
        sum = Sum();
        if (!carries_ || (row == begin && (!whole_ || end <= slice.to)))
            return begin;
        if (!whole_) {
            sum = shares_[slice.thread].before;
            return row;
        }
        size_t t = slice.thread;
        while (t + 1 < shares_.size() && shares_[t + 1].from < end)
            ++t;
        sum = shares_[t].before;
        sum.add(shares_[t].head);
        return end;
    }

  private:
    struct Share {
        size_t from = 0, begin = 0, last = 0; // the thread's first row; where its first and its last partition begin
        Sum before, head, tail; // of its first partition before it; its own rows of that; of its last partition
    };

    const bool whole_; // frames are partitions
    bool carries_ = false;
    std::vector<Share> shares_; // by thread
};

// What moving frames have added up: rows of [first, end). Bounds never go back, so no row is looked at more than twice.
template <class Add, class Remove> struct Moving {
    Add add;
    Remove remove;
    size_t first = 0, end = 0;

    // `added`: the rows before it are in already.
    void restart(size_t begin, size_t added) {
        first = begin;
        end = added;
    }
    void move(const Frame &frame) {
        if (frame.first >= end) { // what is between was never in
            for (; first < end; ++first)
                remove(first);
            first = end = frame.first;
        }
        for (; end < frame.end; ++end)
            add(end);
        for (; first < frame.first; ++first)
            remove(first);
    }
};
template <class Add, class Remove> Moving<Add, Remove> moving(Add add, Remove remove) { return {add, remove}; }

struct RowCount {
    int64_t count = 0;
    void add(const RowCount &other) { count += other.count; }
};

inline RowCount count_values(const Column &arg, size_t first, size_t end) {
    return {arg.nulls != nullptr ? std::count(arg.nulls + first, arg.nulls + end, uint8_t(0)) : 0};
}

inline void count_frames(const Slice &slice, const FrameRule &rule, const Column &arg, const Carry<RowCount> &carry,
                         const Result &to) {
    if (arg.nulls == nullptr) {
        slice.each_row(nothing, [&](const Place &at) {
            to.put<int64_t>(at.row, static_cast<int64_t>(frame_of(rule, at).rows()));
        });
        return;
    }
    RowCount of;
    auto rows =
        moving([&](size_t i) { of.count += arg.nulls[i] == 0; }, [&](size_t i) { of.count -= arg.nulls[i] == 0; });
    slice.each_row([&](size_t partition,
                       size_t row) { rows.restart(slice.starts[partition], carry.begin(slice, partition, row, of)); },
                   [&](const Place &at) {
                       rows.move(frame_of(rule, at));
                       to.put(at.row, of.count);
                   });
}

[[noreturn]] inline void overflow() { throw DeviceError("a sum of a window overflows"); }

struct IntegerSum {
    int128 sum = 0;
    int64_t count = 0; // of values

    void add(const IntegerSum &other) {
        if (__builtin_add_overflow(sum, other.sum, &sum))
            overflow();
        count += other.count;
    }
    template <class T> void add(const Column &arg, size_t row) {
        if (!arg.null(row))
            add(IntegerSum{static_cast<int128>(arg.at<T>(row)), 1});
    }
    template <class T> void remove(const Column &arg, size_t row) {
        if (arg.null(row))
            return;
        if (__builtin_sub_overflow(sum, static_cast<int128>(arg.at<T>(row)), &sum))
            overflow();
        --count;
    }
};

template <class T> IntegerSum add_integers(const Column &arg, size_t first, size_t end) {
    IntegerSum sum;
    for (size_t i = first; i < end; ++i)
        sum.add<T>(arg, i);
    return sum;
}

inline void put_sum(const IntegerSum &of, bool narrow, size_t row, const Result &to) {
    const int128 sum = of.sum;
    if (narrow && sum != static_cast<int64_t>(sum))
        overflow();
    if (of.count == 0)
        narrow ? to.put_null<int64_t>(row) : to.put_null<int128>(row);
    else if (narrow)
        to.put<int64_t>(row, static_cast<int64_t>(sum));
    else
        to.put<int128>(row, sum);
}

template <class T>
void sum_integers(const Slice &slice, const FrameRule &rule, const Column &arg, bool narrow,
                  const Carry<IntegerSum> &carry, const Result &to) {
    IntegerSum of;
    auto rows = moving([&](size_t i) { of.add<T>(arg, i); }, [&](size_t i) { of.remove<T>(arg, i); });
    slice.each_row([&](size_t partition,
                       size_t row) { rows.restart(slice.starts[partition], carry.begin(slice, partition, row, of)); },
                   [&](const Place &at) {
                       rows.move(frame_of(rule, at));
                       put_sum(of, narrow, at.row, to);
                   });
}

// A sum of floats as PostgreSQL begins and continues it; `count` is of values.
struct FloatSum {
    double sum = 0;
    int64_t count = 0;

    void add(double value) {
        const double before = sum;
        sum = count++ == 0 ? value : before + value;
        if (std::isinf(sum) && !std::isinf(value) && !std::isinf(before))
            overflow();
    }
    void add(const FloatSum &other) {
        if (other.count == 0)
            return;
        const int64_t all = count + other.count;
        add(other.sum);
        count = all;
    }
    void add(const Column &arg, size_t row) {
        if (!arg.null(row))
            add(arg.at<double>(row));
    }
};

// A queue of rows that adds up what is in it without taking anything away: the older rows as a stack of sums, each from its
// row to the last one of them, the newer ones as one sum.
class FloatQueue {
  public:
    FloatQueue(const Column &arg, const WorkMemoryRef &memory) : arg_(arg), older_(memory) {}

    void restart(size_t begin) {
        first_ = newer_from_ = end_ = begin;
        older_.resize(0);
        newer_ = {};
    }
    FloatSum sum_of(const Frame &frame) {
        if (frame.rows() == 0)
            return {};
        if (frame.first >= end_)
            restart(frame.first);
        for (; end_ < frame.end; ++end_)
            newer_.add(arg_, end_);
        if (frame.first >= newer_from_)
            turn(frame.first);
        for (; first_ < frame.first; ++first_)
            older_.resize(older_.size() - 1);
        FloatSum sum = older_.empty() ? FloatSum() : older_[older_.size() - 1];
        sum.add(newer_);
        return sum;
    }

  private:
    // All rows from `first` on are older ones.
    void turn(size_t first) {
        older_.resize(end_ - first);
        FloatSum sum;
        for (size_t i = end_; i-- > first;) {
            sum.add(arg_, i);
            older_[end_ - 1 - i] = sum;
        }
        first_ = first;
        newer_from_ = end_;
        newer_ = {};
    }

    const Column &arg_;
    WorkArray<FloatSum> older_; // the last one is of all of them
    FloatSum newer_;
    size_t first_ = 0, newer_from_ = 0, end_ = 0;
};

inline void put_sum(const FloatSum &sum, bool average, size_t row, const Result &to) {
    if (sum.count == 0)
        to.put_null<double>(row);
    else
        to.put<double>(row, average ? (sum.sum + 0.0) / static_cast<double>(sum.count) : sum.sum);
}

inline FloatSum add_floats(const Column &arg, size_t first, size_t end) {
    FloatSum sum;
    for (size_t i = first; i < end; ++i)
        sum.add(arg, i);
    return sum;
}

inline void check_squares(const Slice &slice, const Column &arg) {
    slice.each_piece([&](size_t, size_t, size_t first, size_t last) {
        for (size_t i = first; i < last; ++i)
            if (!arg.null(i) && std::isfinite(arg.at<double>(i)) && std::fabs(arg.at<double>(i)) > average_limit)
                overflow();
    });
}

inline void sum_floats(const Slice &slice, const FrameRule &rule, const Column &arg, bool average,
                       const Carry<FloatSum> &carry, const WorkMemoryRef &memory, const Result &to) {
    if (average)
        check_squares(slice, arg);
    if (rule.start == FrameBound::UnboundedPreceding) {
        FloatSum sum;
        size_t end = 0;
        slice.each_row([&](size_t partition, size_t row) { end = carry.begin(slice, partition, row, sum); },
                       [&](const Place &at) {
                           for (const size_t last = frame_of(rule, at).end; end < last; ++end)
                               sum.add(arg, end);
                           put_sum(sum, average, at.row, to);
                       });
        return;
    }
    FloatQueue queue(arg, memory);
    slice.each_row([&](size_t partition, size_t) { queue.restart(slice.starts[partition]); },
                   [&](const Place &at) {
                       const Frame frame = frame_of(rule, at);
                       FloatSum sum;
                       if (frame.rows() <= narrow_frame)
                           for (size_t i = frame.first; i < frame.end; ++i)
                               sum.add(arg, i);
                       else
                           sum = queue.sum_of(frame);
                       put_sum(sum, average, at.row, to);
                   });
}

template <class T> bool below(T a, T b) { return a < b; }
inline bool below(float a, float b) { return a < b || (a == a && b != b); }
inline bool below(double a, double b) { return a < b || (a == a && b != b); }

// Which rows have the least (or largest) values? Of equal ones the last is shown, as by PostgreSQL's functions. `shown` is what such a
// row shows, where that is not its value. Equal values may look different there (1.5 and 1.50); which of two rows that tie is the last one
// is PostgreSQL's luck.
template <class T> struct Ends {
    const Column &arg, &shown;
    const uint8_t *edges;
    bool largest;

    // *last_peer: the last row known to tie with a; rows are asked for in their order.
    bool stays(uint64_t a, uint64_t b, uint64_t *last_peer) const {
        const T x = arg.at<T>(a), y = arg.at<T>(b);
        const bool stays = largest ? below(y, x) : below(x, y);
        if (shown.values == nullptr || stays || (largest ? below(x, y) : below(y, x)) ||
            shown.at<uint32_t>(a) == shown.at<uint32_t>(b))
            return stays;
        *last_peer = std::max(*last_peer, a);
        while (*last_peer < b && edges[*last_peer + 1] == no_edge)
            ++*last_peer;
        if (*last_peer == b)
            throw DeviceError("equal values of a window are written in different ways");
        return stays;
    }

    // `end`: the row that has it, and one more; 0: none.
    void show(uint64_t end, size_t row, const Result &to) const {
        if (shown.values == nullptr)
            put<T>(arg, end, row, to);
        else
            put<uint32_t>(shown, end, row, to);
    }

  private:
    template <class Shown> static void put(const Column &from, uint64_t end, size_t row, const Result &to) {
        if (end == 0 || from.null(end - 1))
            to.put_null<Shown>(row);
        else
            to.put<Shown>(row, from.at<Shown>(end - 1));
    }
};

template <class T> struct EndRow {
    const Ends<T> *ends = nullptr;
    uint64_t row = 0; // and one more; 0: none
    uint64_t last_peer = 0;

    void add(const EndRow &other) {
        if (row == 0 || (other.row != 0 && !other.ends->stays(row - 1, other.row - 1, &last_peer)))
            *this = other;
    }
};

template <class T> EndRow<T> end_of_rows(const Ends<T> &ends, size_t first, size_t end) {
    EndRow<T> found;
    for (size_t i = first; i < end; ++i)
        if (!ends.arg.null(i))
            found.add({&ends, i + 1, 0});
    return found;
}

// A queue of the rows that could still be the least (or largest) one of a frame: each is below all behind it.
template <class T>
void find_ends(const Slice &slice, const FrameRule &rule, const Ends<T> &ends, const Carry<EndRow<T>> &carry,
               const WorkMemoryRef &memory, const Result &to) {
    WorkArray<uint64_t> queue(memory);
    size_t head = 0;
    auto rows = moving(
        [&](size_t i) {
            if (ends.arg.null(i))
                return;
            size_t size = queue.size();
            for (uint64_t last_peer = 0; size > head && !ends.stays(queue[size - 1], i, &last_peer); last_peer = 0)
                --size;
            queue.resize(size);
            queue.push_back(i);
        },
        [&](size_t i) { head += head < queue.size() && queue[head] == i; });
    slice.each_row(
        [&](size_t partition, size_t row) {
            EndRow<T> before;
            queue.resize(0);
            head = 0;
            rows.restart(slice.starts[partition], carry.begin(slice, partition, row, before));
            if (before.row != 0)
                queue.push_back(before.row - 1);
        },
        [&](const Place &at) {
            rows.move(frame_of(rule, at));
            ends.show(queue.size() > head ? queue[head] + 1 : 0, at.row, to);
        });
}

} // namespace gpuscan::window_parts
