// Where do frames begin and end whose bounds lie so many groups or values away (window.hpp)?
#pragma once

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
            const uint64_t other =
                preceding ? (offset > own ? count : own - offset) : frames::ahead(own, count, offset);
            if (preceding && offset > own)
                bounds[i] = begin;
            else
                bounds[i] = start ? groups[other] : groups[std::min<size_t>(other + 1, count)];
        }
    });
}

// As PostgreSQL moves a frame's first row, or the one behind its last: on from where it was for the row before.
template <class T, class Distance>
void bound_by_values(const Slice &slice, const Column &key, const ir::OrderKey &order, bool start, bool preceding,
                     const Distance &distance, uint64_t *bounds) {
    const frames::ValueBound bound_of =
        frames::value_bound(start, preceding, order.descending != 0, order.nulls_first != 0);
    int error = 0;
    const auto is_passed = [&](size_t other, size_t row) {
        const bool passed = frames::is_passed(bound_of, distance, key.at<T>(other), key.null(other), key.at<T>(row),
                                              key.null(row), error);
        if (error)
            throw DeviceError("a bound of a frame is out of range");
        return passed;
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
