// Window functions over rows in device memory: order, edges, frames, functions. Which kernels run, and when: cuda/windows.
//
// Rows stay where they are; an order is a list of their numbers. What functions read is gathered in that order once, and their results
// come in it. In order, a row knows its partition and the rows that tie with it by their numbers, of which lists tell where each begins.
//
// Functions of frames look up two rows of a prefix sum: exact sums and counts take away what lies before the frame, so that frames may move;
// floats and extremes begin anew with each partition and are looked up at the frame's end, or added up row by row where frames are narrow.
#pragma once

#include "device/radix_sort.cuh"
#include "device/status.cuh"
#include "device/window_frame.cuh"

namespace gpuscan {
namespace windows {

// ---- order ----

// A part of the word by which rows are sorted: how far a value is from the end of its column's range, or whether it is NULL.
struct WordField {
    FlatColumn column;
    uint64_t low, high; // order numbers of the column's values
    uint32_t shift;
    uint8_t of_null, descending, nulls_first, unused;
};
constexpr uint32_t max_fields = 16;

struct WordsArgument {
    uint64_t rows;
    const uint32_t *numbers; // of rows in order; null pointer: they stand in it
    uint64_t *words;
    uint32_t nfields, unused;
    WordField fields[max_fields];
};

struct OrderRange {
    unsigned long long low, high; // of the order numbers; low > high: there is no value
    uint32_t wide, unused;        // some value has more than 64 bits
};
struct OrderRangeArgument {
    uint64_t rows;
    FlatColumn column;
    OrderRange *range;
};

enum Edge : uint8_t { no_edge, peers_edge, partition_edge };
struct EdgesArgument {
    uint64_t rows;
    const uint64_t *words;   // in order
    uint64_t partition_bits; // in which rows of different partitions may differ
    uint8_t *edges;
};

struct GatherArgument {
    uint64_t rows;
    const uint32_t *numbers;
    const void *from;
    void *to;
    uint32_t bytes, unused; // of a value
};

// ---- places ----

// Of partitions and of groups of rows that tie.
struct Ordinals {
    struct Sum {
        uint32_t partitions, groups;
    };
    uint64_t rows;
    const uint8_t *edges;
    uint32_t *partitions, *groups;     // by row
    uint32_t *partition_at, *group_at; // their first rows, and behind them the number of rows
    Sum *totals;
#ifdef __CUDACC__
    __device__ Sum nothing() const { return {0, 0}; }
    __device__ Sum add(Sum a, Sum b) const { return {a.partitions + b.partitions, a.groups + b.groups}; }
    __device__ Sum at(uint64_t row) const { return {edges[row] == partition_edge, edges[row] != no_edge}; }
    __device__ void put(uint64_t row, Sum before, Sum with) const {
        partitions[row] = with.partitions - 1;
        groups[row] = with.groups - 1;
        if (with.partitions > before.partitions)
            partition_at[before.partitions] = (uint32_t)row;
        if (with.groups > before.groups)
            group_at[before.groups] = (uint32_t)row;
        if (row + 1 == rows)
            partition_at[with.partitions] = group_at[with.groups] = (uint32_t)rows;
    }
#endif
};

struct Places {
    const uint32_t *partitions, *groups, *partition_at, *group_at;
#ifdef __CUDACC__
    __device__ frames::Place at(uint64_t row) const {
        const uint32_t partition = partitions[row], group = groups[row];
        return {row, partition_at[partition], partition_at[partition + 1], group_at[group], group_at[group + 1]};
    }
#endif
};

// ---- bounds of frames ----

struct BoundsArgument {
    uint64_t rows;
    Places places;
    FlatColumn key; // of values
    uint64_t *bounds;
    uint32_t *status;
    uint64_t offset;
    double float_offset;
    frames::ValueBound bound;
    FrameUnit unit;
    bool preceding;
};

// ---- functions ----

struct FunctionArgument {
    uint64_t rows;
    Places places;
    frames::FrameRule rule;
    FlatColumn arg, other; // in order; values are null pointers where there is none
    void *values;
    uint8_t *nulls;
    const void *sums;       // of the prefix sum
    const uint32_t *counts; // likewise, of values that are not NULL; null pointer: all are
    uint32_t *status;
    int64_t number;
    WindowKind kind;
    bool narrow;   // the result has 64 bits
    bool by_frame; // the frame's rows are looked at one by one
    uint8_t bytes; // of a value of the argument
};

// Of integers of at most 64 bits, and how many there are.
struct IntegerSums {
    struct Sum {
        sem::u128 sum;
        uint64_t count;
    };
    uint64_t rows;
    FlatColumn arg; // values are a null pointer: they are only counted
    sem::u128 *sums;
    uint32_t *counts;
    Sum *totals;
    uint32_t *status;
#ifdef __CUDACC__
    __device__ Sum nothing() const { return {0, 0}; }
    __device__ Sum add(const Sum &a, const Sum &b) const { return {a.sum + b.sum, a.count + b.count}; }
    __device__ Sum at(uint64_t row) const {
        if (is_null(arg, row))
            return {0, 0};
        if (!sums)
            return {0, 1};
        if (arg.type != 4)
            return {(sem::u128)(sem::i128)integer_at(arg, row), 1};
        const sem::i128 value = value_at<sem::i128>(arg, row);
        if (value != (int64_t)value)
            atomicOr(status, status_wide); // sums of such values might have more than 128 bits
        return {(sem::u128)value, 1};
    }
    __device__ void put(uint64_t row, const Sum &, const Sum &with) const {
        if (sums)
            sums[row] = with.sum;
        if (counts)
            counts[row] = (uint32_t)with.count;
    }
#endif
};

// Of each partition anew.
struct FloatSums {
    struct Sum {
        double sum;
        uint32_t count, begins;
    };
    uint64_t rows;
    FlatColumn arg;
    const uint8_t *edges;
    double *sums;
    uint32_t *counts;
    Sum *totals;
    uint32_t *status;
#ifdef __CUDACC__
    __device__ Sum nothing() const { return {0, 0, 0}; }
    __device__ Sum add(const Sum &a, const Sum &b) const {
        if (b.begins)
            return b;
        if (a.count == 0 || b.count == 0)
            return {a.count == 0 ? b.sum : a.sum, a.count + b.count, a.begins};
        int error = 0;
        const Sum sum = {sem::float_add(a.sum, b.sum, error), a.count + b.count, a.begins};
        if (error)
            atomicOr(status, status_row_error);
        return sum;
    }
    __device__ Sum at(uint64_t row) const {
        const bool null = is_null(arg, row);
        return {null ? 0 : float_at(arg, row), !null, edges[row] == partition_edge};
    }
    __device__ void put(uint64_t row, const Sum &, const Sum &with) const {
        sums[row] = with.sum;
        counts[row] = with.count;
    }
#endif
};

#ifdef __CUDACC__

// Unsigned numbers that order as the values of a column do; of I128 only those that 64 bits hold.
__device__ __forceinline__ uint64_t order_number(const FlatColumn &column, uint64_t row) {
    if (column.type == 4)
        return (uint64_t)(int64_t)value_at<sem::i128>(column, row) ^ (1ULL << 63);
    if (column.type != 5 && column.type != 6)
        return (uint64_t)integer_at(column, row) ^ (1ULL << 63);
    const double value = sem::canonical(float_at(column, row));
    if (value != value)
        return ~0ULL;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ULL << 63;
}

__device__ __forceinline__ bool is_below(const FlatColumn &column, uint64_t a, uint64_t b) {
    if (column.type == 4)
        return value_at<sem::i128>(column, a) < value_at<sem::i128>(column, b);
    return order_number(column, a) < order_number(column, b);
}

#endif

// The row that has the least (or largest) value, of equal ones the last, of each partition anew.
struct Extremes {
    struct Sum {
        uint32_t row, begins; // and one more; 0: none
    };
    uint64_t rows;
    FlatColumn arg;
    const uint8_t *edges;
    uint32_t *found; // Sum::row
    Sum *totals;
    uint32_t largest, unused;
#ifdef __CUDACC__
    __device__ Sum nothing() const { return {0, 0}; }
    __device__ uint32_t better(uint32_t a, uint32_t b) const {
        if (a == 0 || b == 0)
            return a | b;
        return (largest ? is_below(arg, b - 1, a - 1) : is_below(arg, a - 1, b - 1)) ? a : b;
    }
    __device__ Sum add(Sum a, Sum b) const {
        if (b.begins)
            return b;
        return {better(a.row, b.row), a.begins};
    }
    __device__ Sum at(uint64_t row) const {
        return {is_null(arg, row) ? 0 : (uint32_t)row + 1, edges[row] == partition_edge};
    }
    __device__ void put(uint64_t row, Sum, Sum with) const { found[row] = with.row; }
#endif
};

// ---- rows that are left ----

struct TestArgument {
    uint64_t rows;
    const int64_t *values;
    const uint8_t *nulls;
    int64_t bound;
    uint8_t *kept;     // 1 before
    uint32_t outcomes; // of a comparison with the bound, with which a row is kept
    uint32_t unused;
};
enum Outcome : uint32_t { less = 1, equal = 2, greater = 4 };

struct Kept : scan::Count {
    uint64_t rows;
    const uint8_t *kept;
    uint32_t *numbers; // of the rows, one after the other
    uint64_t *count;
    Sum *totals;
#ifdef __CUDACC__
    __device__ Sum at(uint64_t row) const { return kept[row]; }
    __device__ void put(uint64_t row, Sum before, Sum with) const {
        if (with > before)
            numbers[before] = (uint32_t)row;
        if (row + 1 == rows)
            *count = with;
    }
#endif
};

struct CastArgument {
    uint64_t rows;
    FlatColumn from;
    void *to;
    uint32_t type, unused;
    sem::i128 limit; // 0, or what every value stays below
    uint32_t *status;
};

#ifdef __CUDACC__

// ---- order ----

extern "C" __global__ void order_range(const OrderRangeArgument a) {
    unsigned long long low = ~0ULL, high = 0;
    bool wide = false;
    for (uint64_t row = first_index(); row < a.rows; row += index_step()) {
        if (is_null(a.column, row))
            continue;
        wide |= a.column.type == 4 && value_at<sem::i128>(a.column, row) != (int64_t)value_at<sem::i128>(a.column, row);
        const unsigned long long number = order_number(a.column, row);
        low = number < low ? number : low;
        high = number > high ? number : high;
    }
    for (int by = 16; by > 0; by /= 2) {
        const unsigned long long l = __shfl_down_sync(0xffffffffu, low, by),
                                 h = __shfl_down_sync(0xffffffffu, high, by);
        low = l < low ? l : low;
        high = h > high ? h : high;
    }
    if ((threadIdx.x & 31) == 0 && low <= high) {
        atomicMin(&a.range->low, low);
        atomicMax(&a.range->high, high);
    }
    if (wide)
        atomicOr(&a.range->wide, 1u);
}

extern "C" __global__ void make_words(const WordsArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        const uint64_t row = a.numbers ? a.numbers[i] : i;
        uint64_t word = 0;
        for (uint32_t f = 0; f < a.nfields; ++f) {
            const WordField &field = a.fields[f];
            const bool null = is_null(field.column, row);
            uint64_t bits = 0;
            if (field.of_null)
                bits = null != (field.nulls_first != 0);
            else if (!null && field.descending)
                bits = field.high - order_number(field.column, row);
            else if (!null)
                bits = order_number(field.column, row) - field.low;
            word |= bits << field.shift;
        }
        a.words[i] = word;
    }
}

extern "C" __global__ void mark_edges(const EdgesArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        const uint64_t differ = i == 0 ? 0 : a.words[i] ^ a.words[i - 1];
        const uint8_t edge = i == 0 || (differ & a.partition_bits) ? partition_edge : differ ? peers_edge : no_edge;
        if (edge > a.edges[i])
            a.edges[i] = edge;
    }
}

template <class T> __device__ __forceinline__ void gather_values(const GatherArgument &a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step())
        ((T *)a.to)[i] = ((const T *)a.from)[a.numbers[i]];
}

extern "C" __global__ void gather_rows(const GatherArgument a) {
    switch (a.bytes) {
    case 1:
        return gather_values<uint8_t>(a);
    case 2:
        return gather_values<uint16_t>(a);
    case 4:
        return gather_values<uint32_t>(a);
    case 8:
        return gather_values<uint64_t>(a);
    default:
        return gather_values<sem::i128>(a);
    }
}

extern "C" __global__ void radix_count(const radix::Argument a) { radix::count_digits(a); }
extern "C" __global__ void radix_scatter(const radix::Argument a) { radix::scatter_rows(a); }

GPUSCAN_SCAN(radix_places, radix::Places)
GPUSCAN_SCAN(ordinals, Ordinals)
GPUSCAN_SCAN(integer_sums, IntegerSums)
GPUSCAN_SCAN(float_sums, FloatSums)
GPUSCAN_SCAN(extremes, Extremes)
GPUSCAN_SCAN(kept, Kept)

// ---- bounds of frames ----

__device__ __forceinline__ uint64_t bound_by_groups(const BoundsArgument &a, const frames::Place &at) {
    const uint64_t first = a.places.groups[at.begin], end = (uint64_t)a.places.groups[at.end - 1] + 1;
    const uint64_t own = a.places.groups[at.row];
    if (a.preceding && a.offset > own - first)
        return at.begin;
    const uint64_t other = a.preceding ? own - a.offset : frames::ahead(own, end, a.offset);
    if (a.bound.start)
        return other < end ? a.places.group_at[other] : at.end;
    return other + 1 < end ? a.places.group_at[other + 1] : at.end;
}

// Rows whose bound lies behind them come first, so the search divides them from the others.
template <class T, class Distance, class Value>
__device__ __forceinline__ uint64_t search_bound(const BoundsArgument &a, const frames::Place &at,
                                                 const Distance &distance, const Value &value, int &error) {
    const bool null = is_null(a.key, at.row);
    const T own = null ? 0 : value(at.row);
    uint64_t low = at.begin, high = at.end;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const bool other_null = is_null(a.key, middle);
        const T other = other_null ? 0 : value(middle);
        if (frames::is_passed(a.bound, distance, other, other_null, own, null, error))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

extern "C" __global__ void frame_bounds(const BoundsArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        const frames::Place at = a.places.at(i);
        const auto integer = [&](uint64_t row) {
            return a.key.type == 4 ? (int64_t)value_at<sem::i128>(a.key, row) : integer_at(a.key, row);
        };
        int error = 0;
        if (a.unit == FrameUnit::Groups)
            a.bounds[i] = bound_by_groups(a, at);
        else if (a.unit == FrameUnit::Floats)
            a.bounds[i] = search_bound<double>(
                a, at, frames::FloatRange{a.float_offset}, [&](uint64_t row) { return float_at(a.key, row); }, error);
        else if (a.unit == FrameUnit::Integers)
            a.bounds[i] = search_bound<int64_t>(a, at, frames::IntegerRange{(int64_t)a.offset}, integer, error);
        else if (a.key.type == 2)
            a.bounds[i] = search_bound<int32_t>(
                a, at, frames::MomentRange{(int64_t)a.offset},
                [&](uint64_t row) { return value_at<int32_t>(a.key, row); }, error);
        else
            a.bounds[i] = search_bound<int64_t>(a, at, frames::MomentRange{(int64_t)a.offset}, integer, error);
        if (error)
            atomicOr(a.status, status_row_error);
    }
}

// ---- functions ----

// Numbers of rows within their partition, and what follows from them.
extern "C" __global__ void rank_rows(const FunctionArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        const frames::Place at = a.places.at(i);
        const uint64_t size = at.end - at.begin, before = i - at.begin;
        switch (a.kind) {
        case WindowKind::RowNumber:
            ((int64_t *)a.values)[i] = (int64_t)before + 1;
            break;
        case WindowKind::Rank:
            ((int64_t *)a.values)[i] = (int64_t)(at.first_peer - at.begin) + 1;
            break;
        case WindowKind::DenseRank:
            ((int64_t *)a.values)[i] = (int64_t)a.places.groups[i] - a.places.groups[at.begin] + 1;
            break;
        case WindowKind::PercentRank:
            ((double *)a.values)[i] = size <= 1 ? 0.0 : (double)(at.first_peer - at.begin) / (double)(size - 1);
            break;
        case WindowKind::CumeDist:
            ((double *)a.values)[i] = (double)(at.end_of_peers - at.begin) / (double)size;
            break;
        default: { // Ntile: the first size % number buckets have a row more than the others
            const uint64_t n = (uint64_t)a.number, least = size / n, larger = size % n;
            const uint64_t bucket =
                before < larger * (least + 1) ? before / (least + 1) : larger + (before - larger * (least + 1)) / least;
            ((int32_t *)a.values)[i] = (int32_t)(bucket + 1);
            a.nulls[i] = 0;
        }
        }
    }
}

template <class T>
__device__ __forceinline__ void show_value(const FunctionArgument &a, const FlatColumn &from, uint64_t row, bool there,
                                           uint64_t i) {
    const bool null = !there || is_null(from, row);
    ((T *)a.values)[i] = null ? T(0) : value_at<T>(from, row);
    a.nulls[i] = null;
}

__device__ __forceinline__ void show(const FunctionArgument &a, const FlatColumn &from, uint64_t row, bool there,
                                     uint64_t i) {
    switch (a.bytes) {
    case 1:
        return show_value<uint8_t>(a, from, row, there, i);
    case 2:
        return show_value<uint16_t>(a, from, row, there, i);
    case 4:
        return show_value<uint32_t>(a, from, row, there, i);
    case 8:
        return show_value<uint64_t>(a, from, row, there, i);
    default:
        return show_value<sem::u128>(a, from, row, there, i);
    }
}

// Values of other rows.
extern "C" __global__ void pick_rows(const FunctionArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        const frames::Place at = a.places.at(i);
        if (a.kind == WindowKind::Lag || a.kind == WindowKind::Lead) {
            const bool back = (a.kind == WindowKind::Lag) == (a.number >= 0);
            const uint64_t by = a.number < 0 ? 0 - (uint64_t)a.number : (uint64_t)a.number;
            if (back ? by <= i - at.begin : by < at.end - i)
                show(a, a.arg, back ? i - by : i + by, true, i);
            else
                show(a, a.other, i, a.other.values != nullptr, i);
            continue;
        }
        const frames::FrameParts parts = frames::parts_of(a.rule, at);
        const uint64_t rows = parts.rows();
        const uint64_t nth = a.kind == WindowKind::LastValue  ? rows
                             : a.kind == WindowKind::NthValue ? (uint64_t)a.number
                                                              : 1;
        const bool there = nth != 0 && nth <= rows;
        show(a, a.arg, there ? parts.row(nth) : 0, there, i);
    }
}

// Between rows of a prefix sum.
template <class T> __device__ __forceinline__ T between(const T *sums, const frames::FrameParts &parts) {
    T sum = 0;
    for (int p = 0; p < 3; ++p) {
        const frames::Frame &part = parts.part[p];
        if (part.rows() > 0)
            sum += sums[part.end - 1] - (part.first > 0 ? sums[part.first - 1] : T(0));
    }
    return sum;
}

extern "C" __global__ void sum_frames(const FunctionArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        const frames::FrameParts parts = frames::parts_of(a.rule, a.places.at(i));
        const uint64_t count = a.counts ? between(a.counts, parts) : parts.rows();
        if (a.kind == WindowKind::CountRows || a.kind == WindowKind::Count) {
            ((int64_t *)a.values)[i] = (int64_t)count;
            continue;
        }
        const sem::i128 sum = count == 0 ? 0 : (sem::i128)between((const sem::u128 *)a.sums, parts);
        a.nulls[i] = count == 0;
        if (a.narrow && sum != (int64_t)sum)
            atomicOr(a.status, status_row_error);
        if (a.narrow)
            ((int64_t *)a.values)[i] = (int64_t)sum;
        else
            ((sem::i128 *)a.values)[i] = sum;
    }
}

extern "C" __global__ void sum_frames_of_floats(const FunctionArgument a) {
    const double average_limit = 1e140; // the squares that PostgreSQL's avg keeps beside its sum overflow beyond
    FloatSums of = {};
    of.arg = a.arg;
    of.status = a.status;
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        const frames::FrameParts parts = frames::parts_of(a.rule, a.places.at(i));
        FloatSums::Sum sum = of.nothing();
        if (a.by_frame) {
            for (const frames::Frame &part : parts.part)
                for (uint64_t row = part.first; row < part.end; ++row) {
                    const bool null = is_null(a.arg, row);
                    sum = of.add(sum, {null ? 0 : float_at(a.arg, row), !null, 0});
                }
        } else if (parts.part[0].rows() > 0) {
            const uint64_t last = parts.part[0].end - 1;
            sum = {((const double *)a.sums)[last], a.counts[last], 0};
        }
        const bool average = a.kind == WindowKind::Average;
        if (average && !is_null(a.arg, i)) {
            const double value = float_at(a.arg, i);
            if (!sem::is_inf(value) && (value > average_limit || value < -average_limit))
                atomicOr(a.status, status_row_error);
        }
        a.nulls[i] = sum.count == 0;
        ((double *)a.values)[i] = sum.count == 0 ? 0 : average ? (sum.sum + 0.0) / sum.count : sum.sum;
    }
}

extern "C" __global__ void extremes_of_frames(const FunctionArgument a) {
    Extremes of = {};
    of.arg = a.arg;
    of.largest = a.kind == WindowKind::Max;
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        const frames::FrameParts parts = frames::parts_of(a.rule, a.places.at(i));
        uint32_t found = 0;
        if (a.by_frame) {
            for (const frames::Frame &part : parts.part)
                for (uint64_t row = part.first; row < part.end; ++row)
                    found = of.better(found, is_null(a.arg, row) ? 0 : (uint32_t)row + 1);
        } else if (parts.part[0].rows() > 0) {
            found = ((const uint32_t *)a.sums)[parts.part[0].end - 1];
        }
        show(a, a.arg, found - 1, found != 0, i);
    }
}

// ---- rows that are left ----

extern "C" __global__ void test_rows(const TestArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        const int64_t value = a.values[i];
        const uint32_t outcome = value < a.bound ? less : value == a.bound ? equal : greater;
        if ((a.nulls && a.nulls[i]) || !(outcome & a.outcomes))
            a.kept[i] = 0;
    }
}

// Integers as others who read them want them.
extern "C" __global__ void cast_rows(const CastArgument a) {
    for (uint64_t i = first_index(); i < a.rows; i += index_step()) {
        if (!store_integer(a.to, a.type, i, is_null(a.from, i) ? (sem::i128)0 : wide_at(a.from, i), a.limit))
            atomicOr(a.status, status_row_error);
    }
}

#endif

} // namespace windows
} // namespace gpuscan
