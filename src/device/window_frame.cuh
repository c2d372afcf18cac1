// What are windows made of, and which rows of its partition are in a row's frame? One answer for both devices (engine/result/window.hpp, cuda/windows).
#pragma once

#include "device/semantics.cuh"

namespace gpuscan {

// Where a frame begins or ends. CurrentRow: the row, or with `peers` the first or last of those that tie with it.
enum class FrameBound : uint8_t { UnboundedPreceding, Preceding, CurrentRow, Following, UnboundedFollowing };

// What the offsets of a frame count: rows, groups of rows that tie, or the distance of the only order key's value. `Moments` are
// dates (I32) and timestamps (I64), whose ends are infinities.
enum class FrameUnit : uint8_t { Rows, Groups, Integers, Floats, Moments };

// Which rows of a frame do not count (EXCLUDE): the row itself, all that tie with it, or those but the row itself.
enum class FrameExclusion : uint8_t { None, CurrentRow, Group, Ties };

enum class WindowKind : uint8_t {
    RowNumber, // I64
    Rank,
    DenseRank,
    PercentRank, // F64
    CumeDist,
    Ntile,      // I32
    Lag,        // the argument's type, as all below but counts and sums
    Lead,       //
    FirstValue, // of the frame
    LastValue,
    NthValue,
    CountRows, // of the frame; I64
    Count,
    Sum,     // integers: I128, or I64 where `narrow`, and an error beyond; F64
    Average, // F64
    Min,     // Of floats that are equal the last one
    Max,
};

namespace frames {

struct Frame {
    uint64_t first, end; // none: end <= first
    GPUSCAN_HD uint64_t rows() const { return end > first ? end - first : 0; }
};

struct FrameRule {
    FrameBound start, end;
    bool peers;
    uint64_t start_offset, end_offset;
    const uint64_t *firsts, *ends; // by row, where offsets do not count rows; else null pointers
    FrameExclusion exclusion;
};

// A row: its partition, and the rows that tie with it.
struct Place {
    uint64_t row, begin, end, first_peer, end_of_peers;
};

GPUSCAN_HD uint64_t back(uint64_t row, uint64_t begin, uint64_t offset) {
    return offset > row - begin ? begin : row - offset;
}
GPUSCAN_HD uint64_t ahead(uint64_t row, uint64_t end, uint64_t offset) {
    return offset > end - row ? end : row + offset;
}

GPUSCAN_HD Frame frame_of(const FrameRule &rule, const Place &at) {
    Frame frame = {at.begin, at.end};
    if (rule.firsts)
        frame.first = rule.firsts[at.row];
    else if (rule.start == FrameBound::Preceding)
        frame.first = back(at.row, at.begin, rule.start_offset);
    else if (rule.start == FrameBound::CurrentRow)
        frame.first = rule.peers ? at.first_peer : at.row;
    else if (rule.start == FrameBound::Following)
        frame.first = ahead(at.row, at.end, rule.start_offset);
    if (rule.ends)
        frame.end = rule.ends[at.row];
    else if (rule.end == FrameBound::Preceding)
        frame.end = rule.end_offset > at.row - at.begin ? at.begin : at.row - rule.end_offset + 1;
    else if (rule.end == FrameBound::CurrentRow)
        frame.end = rule.peers ? at.end_of_peers : at.row + 1;
    else if (rule.end == FrameBound::Following)
        frame.end = ahead(at.row + 1, at.end, rule.end_offset);
    return frame;
}

// What is left of a frame, in the order of its rows; parts may be empty.
struct FrameParts {
    Frame part[3];

    GPUSCAN_HD uint64_t rows() const { return part[0].rows() + part[1].rows() + part[2].rows(); }
    // The number of the n-th of them, 1 <= n <= rows().
    GPUSCAN_HD uint64_t row(uint64_t n) const {
        int i = 0;
        for (; n > part[i].rows(); ++i)
            n -= part[i].rows();
        return part[i].first + n - 1;
    }
};

GPUSCAN_HD FrameParts parts_of(const FrameRule &rule, const Place &at) {
    const Frame frame = frame_of(rule, at);
    if (rule.exclusion == FrameExclusion::None)
        return {{frame, {}, {}}};
    const bool one = rule.exclusion == FrameExclusion::CurrentRow;
    const uint64_t out = one ? at.row : at.first_peer, in = one ? at.row + 1 : at.end_of_peers;
    const bool stays = rule.exclusion == FrameExclusion::Ties && frame.first <= at.row && at.row < frame.end;
    return {{{frame.first, frame.end < out ? frame.end : out},
             {at.row, stays ? at.row + 1 : at.row},
             {frame.first > in ? frame.first : in, frame.end}}};
}

// What in_range() of the key's type says in PostgreSQL: is the value at least (`less`: at most) what lies the offset behind
// (`back`: before) the base? Neither is NULL. `error`: PostgreSQL might call the bound one.
struct IntegerRange {
    int64_t offset;
    template <class T> GPUSCAN_HD bool holds(T value, T base, bool back, bool less, int &) const {
        const sem::i128 end = back ? (sem::i128)base - offset : (sem::i128)base + offset;
        return less ? value <= end : value >= end;
    }
};

struct FloatRange {
    double offset;
    template <class T> GPUSCAN_HD bool holds(T value, T base, bool back, bool less, int &) const {
        if (sem::is_nan(value))
            return sem::is_nan(base) || !less;
        if (sem::is_nan(base))
            return less;
        if (sem::is_inf(offset) && sem::is_inf(base) && (back ? base > 0 : base < 0))
            return true;
        const double end = back ? (double)base - offset : (double)base + offset;
        return less ? (double)value <= end : (double)value >= end;
    }
};

// Days or microseconds since 2000 of which PostgreSQL makes timestamps; T is int32_t or int64_t.
struct MomentRange {
    int64_t offset;
    template <class T> static GPUSCAN_HD bool is_finite(T value) {
        return value != sem::Limits<T>::min && value != sem::Limits<T>::max;
    }
    template <class T> static GPUSCAN_HD void check(sem::i128 value, int &error) {
        const int64_t first = sizeof(T) == 4 ? -2451545 : -211813488000000000;
        const int64_t end = sizeof(T) == 4 ? 106751983 : 9223371331200000000;
        error |= value < first || value >= end;
    }
    template <class T> GPUSCAN_HD bool holds(T value, T base, bool back, bool less, int &error) const {
        sem::i128 end = base;
        if (is_finite(base)) {
            check<T>(end, error);
            end += back ? -(sem::i128)offset : offset;
            check<T>(end, error);
        }
        if (is_finite(value))
            check<T>(value, error);
        return less ? value <= end : value >= end;
    }
};

// How far the frames of one window reach by the values of its only order key.
struct ValueBound {
    bool start;       // the frame's first row, not the one behind its last
    bool back, less;  // of in_range()
    bool nulls_first; // where NULLs are in the order
};
GPUSCAN_HD ValueBound value_bound(bool start, bool preceding, bool descending, bool nulls_first) {
    return {start, preceding != descending, start == descending, nulls_first};
}

// Does the bound of `row` lie behind row `other`? PostgreSQL moves it on for as long as it does.
template <class Distance, class T>
GPUSCAN_HD bool is_passed(const ValueBound &bound, const Distance &distance, T other, bool other_null, T row,
                          bool row_null, int &error) {
    if (other_null || row_null) {
        if (bound.start)
            return bound.nulls_first ? other_null && !row_null : !other_null && row_null;
        return bound.nulls_first ? other_null || !row_null : !other_null || row_null;
    }
    return distance.holds(other, row, bound.back, bound.less, error) != bound.start;
}

} // namespace frames
} // namespace gpuscan
