// Window functions over delivered rows; see window.hpp.
#include "engine/result/window.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/result/row_sort.hpp"
#include "engine/util/cancel_point.hpp"
#include "engine/util/in_parallel.hpp"

namespace gpuscan {
namespace {

using ir::FrameBound;
using ir::WindowKind;

constexpr uint64_t narrow_frame = 64;   // floats of no more rows are added up anew for each row, in PostgreSQL's order
constexpr double average_limit = 1e140; // the squares that PostgreSQL's avg keeps beside its sum overflow beyond

// ---- columns ----

// All rows' values of a column, one after the other.
struct Column {
    Type type = Type::I64;
    const uint8_t *values = nullptr;
    const uint8_t *nulls = nullptr; // nullptr: none

    template <class T> T at(size_t row) const {
        T value;
        memcpy(&value, values + row * sizeof value, sizeof value);
        return value;
    }
    bool null(size_t row) const { return nulls != nullptr && nulls[row] != 0; }
};

struct OwnColumn {
    explicit OwnColumn(const WorkMemoryRef &memory) : values(memory), nulls(memory) {}
    WorkArray<uint8_t> values, nulls;
};

// A function's result; threads write rows of their own.
struct Result {
    uint8_t *values;
    uint8_t *nulls; // nullptr: no row is NULL

    template <class T> void put(size_t row, T value) const {
        memcpy(values + row * sizeof value, &value, sizeof value);
        if (nulls != nullptr)
            nulls[row] = 0;
    }
    template <class T> void put_null(size_t row) const {
        memset(values + row * sizeof(T), 0, sizeof(T));
        nulls[row] = 1;
    }
};

// ---- edges ----

enum Edge : uint8_t { no_edge, peers_edge, partition_edge };

template <class T> bool differ(T a, T b) { return a != b; }
bool differ(float a, float b) { return a != b && (a == a || b == b); }
bool differ(double a, double b) { return a != b && (a == a || b == b); }

template <class T> void find_edges(const Column &key, uint8_t edge, size_t first, size_t last, uint8_t *edges) {
    for (size_t i = std::max<size_t>(first, 1); i < last; ++i) {
        const bool null = key.null(i);
        const bool other = null != key.null(i - 1) || (!null && differ(key.at<T>(i - 1), key.at<T>(i)));
        edges[i] = std::max(edges[i], other ? edge : uint8_t(no_edge));
    }
}

// ---- rows and their frames ----

struct Frame {
    size_t first, end; // none: end <= first
    size_t rows() const { return end > first ? end - first : 0; }
};

struct FrameRule {
    FrameBound start, end;
    bool peers;
    uint64_t start_offset, end_offset;
    const uint64_t *firsts = nullptr, *ends = nullptr; // by row, where offsets do not count rows
};

// A row: its partition, and the rows that tie with it.
struct Place {
    size_t row, begin, end, first_peer, end_of_peers;
};

size_t back(size_t row, size_t begin, uint64_t offset) { return offset > row - begin ? begin : row - offset; }
size_t ahead(size_t row, size_t end, uint64_t offset) { return offset > end - row ? end : row + offset; }

Frame frame_of(const FrameRule &rule, const Place &at) {
    Frame frame = {at.begin, at.end};
    if (rule.firsts != nullptr)
        frame.first = rule.firsts[at.row];
    else if (rule.start == FrameBound::Preceding)
        frame.first = back(at.row, at.begin, rule.start_offset);
    else if (rule.start == FrameBound::CurrentRow)
        frame.first = rule.peers ? at.first_peer : at.row;
    else if (rule.start == FrameBound::Following)
        frame.first = ahead(at.row, at.end, rule.start_offset);
    if (rule.ends != nullptr)
        frame.end = rule.ends[at.row];
    else if (rule.end == FrameBound::Preceding)
        frame.end = rule.end_offset > at.row - at.begin ? at.begin : at.row - rule.end_offset + 1;
    else if (rule.end == FrameBound::CurrentRow)
        frame.end = rule.peers ? at.end_of_peers : at.row + 1;
    else if (rule.end == FrameBound::Following)
        frame.end = ahead(at.row + 1, at.end, rule.end_offset);
    return frame;
}

// Partitions of one thread, or those that its rows are in.
struct Slice {
    const uint8_t *edges;              // of all rows
    const WorkArray<uint64_t> &starts; // of all partitions, and the number of rows behind them
    size_t first, last;                // partitions
    const std::atomic<uint32_t> *cancel;
    size_t from, to; // rows: the first and the last partition may be cut
    unsigned thread;

    // visit(begin, end)
    template <class Visit> void each_partition(const Visit &visit) const {
        CancelPoint point(cancel);
        for (size_t p = first; p < last; ++p) {
            visit(starts[p], starts[p + 1]);
            point.worked((starts[p + 1] - starts[p]) * 16);
        }
    }

    // visit(begin, end, from, to): a partition, and the rows of it that are the thread's: even one partition keeps all threads busy.
    template <class Visit> void each_piece(const Visit &visit) const {
        CancelPoint point(cancel);
        for (size_t p = first; p < last; ++p) {
            const size_t begin = starts[p], end = starts[p + 1];
            visit(begin, end, std::max(begin, from), std::min(end, to));
            point.worked((std::min(end, to) - std::max(begin, from)) * 16);
        }
    }

    // begin(partition, row): a partition begins, for the thread with that row of it; visit(place)
    template <class Begin, class Visit> void each_row(const Begin &begin, const Visit &visit) const {
        CancelPoint point(cancel);
        for (size_t p = first; p < last; ++p) {
            Place at{};
            at.begin = starts[p];
            at.end = starts[p + 1];
            const size_t first_row = std::max<size_t>(at.begin, from), end_of_rows = std::min<size_t>(at.end, to);
            at.end_of_peers = at.first_peer = first_row;
            while (at.first_peer > at.begin && edges[at.first_peer] == no_edge)
                --at.first_peer;
            begin(p, first_row);
            for (at.row = first_row; at.row < end_of_rows; ++at.row) {
                if (at.row == at.end_of_peers) {
                    if (at.row > first_row)
                        at.first_peer = at.row;
                    do {
                        ++at.end_of_peers;
                    } while (at.end_of_peers < at.end && edges[at.end_of_peers] == no_edge);
                }
                visit(at);
                point.worked(16);
            }
        }
    }
};

// ---- bounds that lie so many groups or values away ----

// Of each row's frame the first row, or the one behind its last: where the group begins, or ends, that lies so many
// groups before or behind the row's own.
void bound_by_groups(const Slice &slice, bool start, bool preceding, uint64_t offset, const WorkMemoryRef &memory,
                     uint64_t *bounds) {
    WorkArray<uint64_t> groups(memory); // their first rows, then the partition's end
    slice.each_partition([&](size_t begin, size_t end) {
        groups.resize(0);
        for (size_t i = begin; i < end; ++i)
            if (i == begin || slice.edges[i] != no_edge)
                groups.push_back(i);
        const size_t count = groups.size();
        groups.push_back(end);
        size_t own = 0;
        for (size_t i = begin; i < end; ++i) {
            own += i == groups[own + 1];
            const uint64_t other = preceding ? (offset > own ? count : own - offset) : ahead(own, count, offset);
            if (preceding && offset > own)
                bounds[i] = begin;
            else
                bounds[i] = start ? groups[other] : groups[std::min<size_t>(other + 1, count)];
        }
    });
}

// What in_range() of the key's type says in PostgreSQL: is the value at least (`less`: at most) what lies the offset behind
// (`back`: before) the base? Neither is NULL.
struct IntegerRange {
    int64_t offset;
    template <class T> bool holds(T value, T base, bool back, bool less) const {
        const int128 end = back ? static_cast<int128>(base) - offset : static_cast<int128>(base) + offset;
        return less ? value <= end : value >= end;
    }
};

struct FloatRange {
    double offset;
    template <class T> bool holds(T value, T base, bool back, bool less) const {
        if (std::isnan(value))
            return std::isnan(base) || !less;
        if (std::isnan(base))
            return less;
        if (std::isinf(offset) && std::isinf(base) && (back ? base > 0 : base < 0))
            return true;
        const double end = back ? static_cast<double>(base) - offset : static_cast<double>(base) + offset;
        return less ? static_cast<double>(value) <= end : static_cast<double>(value) >= end;
    }
};

// Days or microseconds since 2000 of which PostgreSQL makes timestamps.
template <class T> constexpr int64_t first_moment = sizeof(T) == 4 ? -2451545 : -211813488000000000;
template <class T> constexpr int64_t end_of_moments = sizeof(T) == 4 ? 106751983 : 9223371331200000000;

struct MomentRange {
    int64_t offset;
    template <class T> static bool is_finite(T value) {
        return value != std::numeric_limits<T>::min() && value != std::numeric_limits<T>::max();
    }
    template <class T> static int128 checked(int128 value) {
        if (value < first_moment<T> || value >= end_of_moments<T>)
            throw DeviceError("a bound of a frame is out of range");
        return value;
    }
    template <class T> bool holds(T value, T base, bool back, bool less) const {
        int128 end = base;
        if (is_finite(base))
            end = checked<T>(checked<T>(base) + (back ? -static_cast<int128>(offset) : offset));
        if (is_finite(value))
            checked<T>(value);
        return less ? value <= end : value >= end;
    }
};

// As PostgreSQL moves a frame's first row, or the one behind its last: on from where it was for the row before.
template <class T, class Distance>
void bound_by_values(const Slice &slice, const Column &key, const ir::OrderKey &order, bool start, bool preceding,
                     const Distance &distance, uint64_t *bounds) {
    const bool descending = order.descending != 0, nulls_first = order.nulls_first != 0;
    const bool back = preceding != descending, less = start == descending;
    const auto is_passed = [&](size_t other, size_t row) {
        const bool other_null = key.null(other), null = key.null(row);
        if (other_null || null)
            return start ? (nulls_first ? other_null && !null : !other_null && null)
                         : (nulls_first ? other_null || !null : !other_null || null);
        return distance.holds(key.at<T>(other), key.at<T>(row), back, less) != start;
    };
    slice.each_partition([&](size_t begin, size_t end) {
        size_t bound = begin;
        for (size_t i = begin; i < end; ++i) {
            while (bound < end && is_passed(bound, i))
                ++bound;
            bounds[i] = bound;
        }
    });
}

// ---- functions of the partition ----

void number_rows(const Slice &slice, const Result &to) {
    slice.each_piece([&](size_t begin, size_t, size_t from, size_t last) {
        for (size_t i = from; i < last; ++i)
            to.put<int64_t>(i, static_cast<int64_t>(i - begin + 1));
    });
}

void rank_rows(const Slice &slice, WindowKind kind, const Result &to) {
    int64_t dense = 0;
    const auto begin = [&](size_t partition, size_t row) { // (the first row of all has no edge)
        const uint8_t *const first = slice.edges + slice.starts[partition];
        const auto count = [&](size_t rows) {
            return rows - static_cast<size_t>(std::count(first, first + rows, uint8_t(no_edge)));
        };
        dense = 0;
        if (kind == WindowKind::DenseRank && row > slice.starts[partition])
            dense = static_cast<int64_t>(count(row - slice.starts[partition]) + (*first == no_edge));
    };
    slice.each_row(begin, [&](const Place &at) {
        dense += at.row == at.first_peer;
        const int64_t rank = static_cast<int64_t>(at.first_peer - at.begin) + 1;
        const size_t rows = at.end - at.begin;
        switch (kind) {
        case WindowKind::Rank:
            return to.put<int64_t>(at.row, rank);
        case WindowKind::DenseRank:
            return to.put<int64_t>(at.row, dense);
        case WindowKind::PercentRank:
            return to.put<double>(at.row,
                                  rows <= 1 ? 0.0 : static_cast<double>(rank - 1) / static_cast<double>(rows - 1));
        default:
            return to.put<double>(at.row, static_cast<double>(at.end_of_peers - at.begin) / static_cast<double>(rows));
        }
    });
}

// The first rows % buckets of them have a row more than the others.
void divide_rows(const Slice &slice, int64_t buckets, const Result &to) {
    slice.each_piece([&](size_t begin, size_t end, size_t from, size_t last) {
        const uint64_t rows = end - begin, n = static_cast<uint64_t>(buckets);
        const uint64_t size = rows / n, larger = rows % n;
        for (uint64_t i = from - begin; i < last - begin; ++i) {
            const uint64_t bucket =
                i < larger * (size + 1) ? i / (size + 1) : larger + (i - larger * (size + 1)) / size;
            to.put<int32_t>(begin + i, static_cast<int32_t>(bucket + 1));
        }
    });
}

// The row so many before, or with a negative number behind.
template <class T>
void shift(const Slice &slice, const Column &arg, const Column &other, int64_t back_by, const Result &to) {
    const auto put = [&](size_t i, const Column &from, size_t row) {
        if (from.values == nullptr || from.null(row))
            to.put_null<T>(i);
        else
            to.put<T>(i, from.at<T>(row));
    };
    const uint64_t distance = back_by < 0 ? -static_cast<uint64_t>(back_by) : static_cast<uint64_t>(back_by);
    slice.each_piece([&](size_t begin, size_t end, size_t from, size_t last) {
        for (size_t i = from; i < last; ++i) {
            const bool there = back_by >= 0 ? distance <= i - begin : distance < end - i;
            if (there)
                put(i, arg, back_by >= 0 ? i - distance : i + distance);
            else
                put(i, other, i);
        }
    });
}

// ---- functions of the frame ----

constexpr auto nothing = [](size_t, size_t) {};

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

template <class T>
void pick(const Slice &slice, const FrameRule &rule, WindowKind kind, const Column &arg, int64_t number,
          const Result &to) {
    slice.each_row(nothing, [&](const Place &at) {
        const Frame frame = frame_of(rule, at);
        const uint64_t nth = kind == WindowKind::LastValue  ? frame.rows()
                             : kind == WindowKind::NthValue ? static_cast<uint64_t>(number)
                                                            : 1;
        const size_t row = frame.first + nth - 1;
        if (nth == 0 || nth > frame.rows() || arg.null(row))
            to.put_null<T>(at.row);
        else
            to.put<T>(at.row, arg.at<T>(row));
    });
}

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

RowCount count_values(const Column &arg, size_t first, size_t end) {
    return {arg.nulls != nullptr ? std::count(arg.nulls + first, arg.nulls + end, uint8_t(0)) : 0};
}

void count_frames(const Slice &slice, const FrameRule &rule, const Column &arg, const Carry<RowCount> &carry,
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

[[noreturn]] void overflow() { throw DeviceError("a sum of a window overflows"); }

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

template <class T>
void sum_integers(const Slice &slice, const FrameRule &rule, const Column &arg, bool narrow,
                  const Carry<IntegerSum> &carry, const Result &to) {
    IntegerSum of;
    auto rows = moving([&](size_t i) { of.add<T>(arg, i); }, [&](size_t i) { of.remove<T>(arg, i); });
    slice.each_row([&](size_t partition,
                       size_t row) { rows.restart(slice.starts[partition], carry.begin(slice, partition, row, of)); },
                   [&](const Place &at) {
                       rows.move(frame_of(rule, at));
                       const int128 sum = of.sum;
                       if (narrow && sum != static_cast<int64_t>(sum))
                           overflow();
                       if (of.count == 0)
                           narrow ? to.put_null<int64_t>(at.row) : to.put_null<int128>(at.row);
                       else if (narrow)
                           to.put<int64_t>(at.row, static_cast<int64_t>(sum));
                       else
                           to.put<int128>(at.row, sum);
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

void put_sum(const FloatSum &sum, bool average, size_t row, const Result &to) {
    if (sum.count == 0)
        to.put_null<double>(row);
    else
        to.put<double>(row, average ? (sum.sum + 0.0) / static_cast<double>(sum.count) : sum.sum);
}

FloatSum add_floats(const Column &arg, size_t first, size_t end) {
    FloatSum sum;
    for (size_t i = first; i < end; ++i)
        sum.add(arg, i);
    return sum;
}

void sum_floats(const Slice &slice, const FrameRule &rule, const Column &arg, bool average,
                const Carry<FloatSum> &carry, const WorkMemoryRef &memory, const Result &to) {
    if (average)
        slice.each_piece([&](size_t, size_t, size_t first, size_t last) {
            for (size_t i = first; i < last; ++i)
                if (!arg.null(i) && std::isfinite(arg.at<double>(i)) && std::fabs(arg.at<double>(i)) > average_limit)
                    overflow();
        });
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
bool below(float a, float b) { return a < b || (a == a && b != b); }
bool below(double a, double b) { return a < b || (a == a && b != b); }

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

// ---- all of it ----

bool holds(ir::Op op, int64_t a, int64_t b) {
    switch (op) {
    case ir::Op::Eq:
        return a == b;
    case ir::Op::Ne:
        return a != b;
    case ir::Op::Lt:
        return a < b;
    case ir::Op::Le:
        return a <= b;
    case ir::Op::Gt:
        return a > b;
    default:
        return a >= b;
    }
}

class Windows {
  public:
    Windows(const Program &program, RowTable rows, const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel,
            unsigned threads)
        : p_(program), rows_(std::move(rows)), memory_(memory), cancel_(cancel),
          threads_(threads == 0 ? threads_worth(rows_.nrows)
                                : static_cast<unsigned>(std::clamp<size_t>(rows_.nrows, 1, threads))),
          edges_(memory), starts_(memory), firsts_(memory), ends_(memory) {
        const ir::Range payload = p_.main().payload;
        for (ir::Index c = 0; c < payload.count; ++c)
            types_.push_back(p_.exprs[p_.lists[payload.first + c]].type);
        place_of_function_.resize(p_.main().window_functions.count);
    }

    RowTable run() {
        const ir::Range windows = p_.main().windows;
        for (ir::Index w = 0; w < windows.count; ++w) // PostgreSQL looks at them even where there is no row
            rules_.push_back(rule_of(p_.windows[windows.first + w]));
        if (rows_.nrows == 0)
            return std::move(rows_);
        for (ir::Index w = 0; w < windows.count; ++w) {
            compute(w, p_.windows[windows.first + w]);
            if (w == last_with_functions())
                drop_rows();
        }
        for (RowBlock &block : rows_.blocks) {
            std::vector<RowBlock::Column> columns(
                block.columns.begin(), block.columns.begin() + static_cast<ptrdiff_t>(p_.main().result_keys));
            for (const size_t place : place_of_function_)
                columns.push_back(block.columns[place]);
            block.columns = std::move(columns);
        }
        return std::move(rows_);
    }

  private:
    ir::Index last_with_functions() const {
        ir::Index last = 0;
        const ir::Range functions = p_.main().window_functions;
        for (ir::Index f = 0; f < functions.count; ++f)
            last = std::max(last, p_.window_functions[functions.first + f].window);
        return last;
    }

    bool has_functions(ir::Index window) const {
        const auto first = p_.window_functions.begin() + p_.main().window_functions.first;
        return std::any_of(first, first + p_.main().window_functions.count,
                           [window](const ir::WindowFunction &function) { return function.window == window; });
    }

    // By the tests of functions, when all of them are there.
    void drop_rows() {
        struct Test {
            size_t column;
            ir::Op op;
            int64_t bound;
            bool null;
        };
        std::vector<Test> tests;
        const ir::Range functions = p_.main().window_functions;
        for (ir::Index f = 0; f < functions.count; ++f) {
            const ir::WindowFunction &function = p_.window_functions[functions.first + f];
            int64_t bound = 0;
            if (function.tested != 0) {
                const bool null = !number_of(function.bound, &bound);
                tests.push_back({place_of_function_[f], function.test, bound, null});
            }
        }
        if (tests.empty())
            return;
        WorkArray<RowEntry> kept(memory_);
        for (uint32_t b = 0; b < rows_.blocks.size(); ++b) {
            const RowBlock &block = rows_.blocks[b];
            for (uint32_t i = 0; i < block.nrows; ++i)
                if (std::all_of(tests.begin(), tests.end(), [&](const Test &test) {
                        const RowBlock::Column &column = block.columns[test.column];
                        const Column values = {Type::I64, column.values, column.nulls};
                        return !test.null && !values.null(i) && holds(test.op, values.at<int64_t>(i), test.bound);
                    }))
                    kept.push_back({0, b, i});
            stop_if(cancel_);
        }
        if (kept.size() == rows_.nrows)
            return;
        RowTable left;
        left.add(gather_rows(rows_, kept.data(), kept.size(), types_, memory_, cancel_));
        rows_ = std::move(left);
    }

    void compute(ir::Index number, const ir::Window &window) {
        sort(window);
        if (rows_.nrows == 0 || !has_functions(number))
            return;
        find_edges(window);
        find_bounds(number, window);
        const ir::Range functions = p_.main().window_functions;
        for (ir::Index f = 0; f < functions.count; ++f) {
            const ir::WindowFunction &function = p_.window_functions[functions.first + f];
            if (function.window == number)
                place_of_function_[f] = add(function);
        }
        flat_.clear();
        firsts_.resize(0);
        ends_.resize(0);
    }

    static bool has_offset(FrameBound bound) {
        return bound == FrameBound::Preceding || bound == FrameBound::Following;
    }

    // Of offsets that do not count rows.
    void find_bounds(ir::Index number, const ir::Window &window) {
        if (window.unit == ir::FrameUnit::Rows)
            return;
        if (has_offset(window.start))
            rules_[number].firsts = find_bound(window, true, firsts_);
        if (has_offset(window.end))
            rules_[number].ends = find_bound(window, false, ends_);
    }

    const uint64_t *find_bound(const ir::Window &window, bool start, WorkArray<uint64_t> &bounds) {
        bounds.resize(rows_.nrows);
        const bool preceding = (start ? window.start : window.end) == FrameBound::Preceding;
        const ir::Index constant = start ? window.start_offset : window.end_offset;
        if (window.unit == ir::FrameUnit::Groups) {
            each_slice([&](const Slice &slice) {
                bound_by_groups(slice, start, preceding, offset_of(constant), memory_, bounds.data());
            });
            return bounds.data();
        }
        const ir::OrderKey &order = p_.orders[window.keys.first + window.partition];
        const Column key = flat(sort_column(order).column);
        each_slice([&](const Slice &slice) {
            with_type(key.type, [&](auto value) {
                using T = decltype(value);
                const auto find = [&](const auto &distance) {
                    bound_by_values<T>(slice, key, order, start, preceding, distance, bounds.data());
                };
                if constexpr (std::is_floating_point_v<T>)
                    find(FloatRange{float_offset_of(constant)});
                else if (window.unit == ir::FrameUnit::Integers)
                    find(IntegerRange{static_cast<int64_t>(offset_of(constant))});
                else if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>)
                    find(MomentRange{static_cast<int64_t>(offset_of(constant))});
            });
        });
        return bounds.data();
    }

    SortColumn sort_column(const ir::OrderKey &key) const {
        const auto list = p_.lists.begin() + p_.main().payload.first;
        const auto column = static_cast<size_t>(std::find(list, list + p_.main().payload.count, key.expr) - list);
        return {column, p_.exprs[key.expr].type, key.descending != 0, key.nulls_first != 0};
    }

    void sort(const ir::Window &window) {
        std::vector<SortColumn> order;
        for (ir::Index k = 0; k < window.keys.count; ++k)
            order.push_back(sort_column(p_.orders[window.keys.first + k]));
        const auto same = [](const SortColumn &a, const SortColumn &b) {
            return a.column == b.column && a.descending == b.descending && a.nulls_first == b.nulls_first;
        };
        if (order.size() <= order_.size() && std::equal(order.begin(), order.end(), order_.begin(), same))
            return;
        rows_ = sort_rows(std::move(rows_), order, types_, memory_, cancel_);
        order_ = std::move(order);
    }

    // The column in one piece, while nothing is sorted.
    Column flat(size_t column) {
        Column all;
        all.type = types_[column];
        if (rows_.blocks.size() == 1) {
            const RowBlock::Column &only = rows_.blocks[0].columns[column];
            all.values = only.values;
            all.nulls = only.nulls;
            return all;
        }
        for (const auto &known : flat_)
            if (known.first == column) {
                all.values = known.second->values.data();
                all.nulls = known.second->nulls.empty() ? nullptr : known.second->nulls.data();
                return all;
            }
        auto own = std::make_unique<OwnColumn>(memory_);
        const size_t width = type_width(all.type);
        const bool nullable = std::any_of(rows_.blocks.begin(), rows_.blocks.end(), [&](const RowBlock &block) {
            return block.columns[column].nulls != nullptr;
        });
        own->values.resize(rows_.nrows * width);
        if (nullable)
            own->nulls.assign_zeros(rows_.nrows);
        size_t at = 0;
        for (const RowBlock &block : rows_.blocks) {
            memcpy(own->values.data() + at * width, block.columns[column].values, block.nrows * width);
            if (block.columns[column].nulls != nullptr)
                memcpy(own->nulls.data() + at, block.columns[column].nulls, block.nrows);
            at += block.nrows;
            stop_if(cancel_);
        }
        all.values = own->values.data();
        all.nulls = nullable ? own->nulls.data() : nullptr;
        flat_.emplace_back(column, std::move(own));
        return all;
    }

    void find_edges(const ir::Window &window) {
        edges_.assign_zeros(rows_.nrows);
        for (ir::Index k = 0; k < window.keys.count; ++k) {
            const Column key = flat(sort_column(p_.orders[window.keys.first + k]).column);
            const uint8_t edge = k < window.partition ? partition_edge : peers_edge;
            in_slices(threads_, rows_.nrows, [&](unsigned, uint64_t first, uint64_t last) {
                with_type(key.type, [&](auto value) {
                    gpuscan::find_edges<decltype(value)>(key, edge, first, last, edges_.data());
                });
            });
            stop_if(cancel_);
        }
        starts_.resize(0);
        starts_.push_back(0);
        for (size_t i = 1; i < rows_.nrows; ++i)
            if (edges_[i] == partition_edge)
                starts_.push_back(i);
        starts_.push_back(rows_.nrows);
    }

    // NULL: false.
    bool number_of(ir::Index constant, int64_t *number) const {
        *number = static_cast<int64_t>(p_.constants[constant].low);
        return p_.constants[constant].null == 0;
    }

    uint64_t offset_of(ir::Index constant) const {
        int64_t offset = 0;
        if (constant != ir::none && (!number_of(constant, &offset) || offset < 0))
            throw DeviceError("an offset of a frame is NULL or negative");
        return static_cast<uint64_t>(offset);
    }

    double float_offset_of(ir::Index constant) const {
        double offset = 0;
        if (constant != ir::none)
            memcpy(&offset, &p_.constants[constant].low, sizeof offset);
        if (constant != ir::none && (p_.constants[constant].null != 0 || !(offset >= 0)))
            throw DeviceError("an offset of a frame is NULL or negative");
        return offset;
    }

    FrameRule rule_of(const ir::Window &window) const {
        if (window.unit == ir::FrameUnit::Floats) {
            float_offset_of(window.start_offset);
            float_offset_of(window.end_offset);
            return {window.start, window.end, true, 0, 0};
        }
        return {window.start, window.end, window.peers != 0, offset_of(window.start_offset),
                offset_of(window.end_offset)};
    }

    // Of rows, wherever their partitions begin.
    template <class Work> void each_piece(const Work &work) const {
        const auto holder_of = [&](uint64_t row) {
            return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), row) - starts_.begin()) - 1;
        };
        in_slices(threads_, rows_.nrows, [&](unsigned thread, uint64_t first, uint64_t last) {
            if (first < last)
                work(Slice{edges_.data(), starts_, holder_of(first), holder_of(last - 1) + 1, cancel_, first, last,
                           thread});
        });
    }

    // Of whole partitions.
    template <class Work> void each_slice(const Work &work) const {
        const auto partition_of = [&](uint64_t row) {
            return static_cast<size_t>(std::lower_bound(starts_.begin(), starts_.end() - 1, row) - starts_.begin());
        };
        in_slices(threads_, rows_.nrows, [&](unsigned thread, uint64_t first, uint64_t last) {
            const size_t end = last == rows_.nrows ? starts_.size() - 1 : partition_of(last);
            work(Slice{edges_.data(), starts_, partition_of(first), end, cancel_, 0, rows_.nrows, thread});
        });
    }

    // The column that the function makes.
    size_t add(const ir::WindowFunction &function) {
        const WindowKind kind = function.kind;
        const Type type = p_.window_type(function);
        auto own = std::make_shared<OwnColumn>(memory_);
        own->values.resize(rows_.nrows * type_width(type));
        const bool nullable = kind > WindowKind::CumeDist && kind != WindowKind::CountRows && kind != WindowKind::Count;
        if (nullable)
            own->nulls.assign_zeros(rows_.nrows);
        const Result to = {own->values.data(), nullable ? own->nulls.data() : nullptr};
        int64_t number = 0;
        if (function.number != ir::none && !number_of(function.number, &number)) {
            memset(to.values, 0, rows_.nrows * type_width(type));
            memset(to.nulls, 1, rows_.nrows);
        } else {
            evaluate(function, number, to);
        }
        size_t at = 0;
        for (RowBlock &block : rows_.blocks) {
            block.columns.push_back({to.values + at * type_width(type), nullable ? to.nulls + at : nullptr});
            block.memory = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(block.memory, own);
            at += block.nrows;
        }
        types_.push_back(type);
        return types_.size() - 1;
    }

    void evaluate(const ir::WindowFunction &function, int64_t number, const Result &to) {
        const WindowKind kind = function.kind;
        if ((kind == WindowKind::Ntile || kind == WindowKind::NthValue) && number <= 0)
            throw DeviceError("a window function's number is not positive");
        const FrameRule &rule = rules_[function.window];
        const Column arg = function.arg != ir::none ? flat(function.arg) : Column();
        const Column other = function.other != ir::none ? flat(function.other) : Column();
        const auto work = [&](const Slice &slice) {
            switch (kind) {
            case WindowKind::RowNumber:
                return number_rows(slice, to);
            case WindowKind::Rank:
            case WindowKind::DenseRank:
            case WindowKind::PercentRank:
            case WindowKind::CumeDist:
                return rank_rows(slice, kind, to);
            case WindowKind::Ntile:
                return divide_rows(slice, number, to);
            case WindowKind::Lag:
            case WindowKind::Lead:
                return with_type(arg.type, [&](auto value) {
                    // (There is no row so far before or behind either way.)
                    const int64_t back_by = kind == WindowKind::Lag ? number : -std::max(number, -INT64_MAX);
                    shift<decltype(value)>(slice, arg, other, back_by, to);
                });
            case WindowKind::FirstValue:
            case WindowKind::LastValue:
            case WindowKind::NthValue:
                return with_type(arg.type,
                                 [&](auto value) { pick<decltype(value)>(slice, rule, kind, arg, number, to); });
            default:
                break;
            }
        };
        if (kind < WindowKind::CountRows)
            each_piece(work);
        else
            aggregate(function, rule, arg, other, to);
    }

    template <class Sum, class Of> Carry<Sum> carry(const FrameRule &rule, const Of &of) const {
        return Carry<Sum>(
            rule, threads_, [&](const auto &work) { each_piece(work); }, of);
    }

    void aggregate(const ir::WindowFunction &function, const FrameRule &rule, const Column &arg, const Column &other,
                   const Result &to) const {
        const bool floats = arg.type == Type::F64, average = function.kind == WindowKind::Average;
        if (function.kind == WindowKind::CountRows || function.kind == WindowKind::Count) {
            const auto before =
                carry<RowCount>(rule, [&](size_t first, size_t end) { return count_values(arg, first, end); });
            each_piece([&](const Slice &slice) { count_frames(slice, rule, arg, before, to); });
        } else if (average || (function.kind == WindowKind::Sum && floats)) {
            const auto before =
                carry<FloatSum>(rule, [&](size_t first, size_t end) { return add_floats(arg, first, end); });
            each_piece([&](const Slice &slice) { sum_floats(slice, rule, arg, average, before, memory_, to); });
        } else {
            with_type(arg.type, [&](auto value) {
                using T = decltype(value);
                if (function.kind != WindowKind::Sum)
                    aggregate_ends<T>(function, rule, arg, other, to);
                else if constexpr (!std::is_floating_point_v<T>)
                    aggregate_integers<T>(function, rule, arg, to);
            });
        }
    }

    template <class T>
    void aggregate_integers(const ir::WindowFunction &function, const FrameRule &rule, const Column &arg,
                            const Result &to) const {
        const auto before =
            carry<IntegerSum>(rule, [&](size_t first, size_t end) { return add_integers<T>(arg, first, end); });
        each_piece([&](const Slice &slice) { sum_integers<T>(slice, rule, arg, function.narrow != 0, before, to); });
    }

    template <class T>
    void aggregate_ends(const ir::WindowFunction &function, const FrameRule &rule, const Column &arg,
                        const Column &other, const Result &to) const {
        const Ends<T> ends = {arg, other, edges_.data(), function.kind == WindowKind::Max};
        const auto before =
            carry<EndRow<T>>(rule, [&](size_t first, size_t end) { return end_of_rows<T>(ends, first, end); });
        each_piece([&](const Slice &slice) { find_ends<T>(slice, rule, ends, before, memory_, to); });
    }

    const Program &p_;
    RowTable rows_; // the payload's columns, then those of functions as they have come
    const WorkMemoryRef &memory_;
    const std::atomic<uint32_t> *const cancel_;
    const unsigned threads_;
    std::vector<Type> types_;
    std::vector<FrameRule> rules_;          // by window
    std::vector<size_t> place_of_function_; // columns
    std::vector<SortColumn> order_;         // of the rows now
    WorkArray<uint8_t> edges_;
    WorkArray<uint64_t> starts_;
    WorkArray<uint64_t> firsts_, ends_; // of the window's frames, where offsets do not count rows
    std::vector<std::pair<size_t, std::unique_ptr<OwnColumn>>> flat_;
};

} // namespace

RowTable apply_windows(const Program &program, RowTable rows, const WorkMemoryRef &memory,
                       const std::atomic<uint32_t> *cancel, unsigned threads) {
    return Windows(program, std::move(rows), memory, cancel, threads).run();
}

} // namespace gpuscan
