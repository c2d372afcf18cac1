// Where do frames begin and end whose bounds lie so many groups or values away (window.hpp)?
#pragma once

#include <limits>

#include "engine/result/window_frames.hpp"

namespace gpuscan::window_parts {

// Of each row's frame the first row, or the one behind its last: where the group begins, or ends, that lies so many
// groups before or behind the row's own.
inline void bound_by_groups(const Slice &slice, bool start, bool preceding, uint64_t offset,
                            const WorkMemoryRef &memory, uint64_t *bounds) {
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

} // namespace gpuscan::window_parts
