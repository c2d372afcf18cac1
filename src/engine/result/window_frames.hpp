// Which rows are in the frame of a row, and how do threads go over partitions (window.hpp)?
//
// A byte before each row tells whether a partition, or a group of rows that tie, begins there. A thread has a range of rows, wherever
// partitions begin, and goes over them in their order.
#pragma once

#include <algorithm>
#include <cstring>

#include "engine/device.hpp"
#include "engine/util/cancel_point.hpp"

namespace gpuscan::window_parts {

using frames::Frame;
using frames::frame_of;
using frames::FrameRule;
using frames::Place;
using ir::FrameBound;
using ir::WindowKind;

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
inline bool differ(float a, float b) { return a != b && (a == a || b == b); }
inline bool differ(double a, double b) { return a != b && (a == a || b == b); }

template <class T> void find_edges(const Column &key, uint8_t edge, size_t first, size_t last, uint8_t *edges) {
    for (size_t i = std::max<size_t>(first, 1); i < last; ++i) {
        const bool null = key.null(i);
        const bool other = null != key.null(i - 1) || (!null && differ(key.at<T>(i - 1), key.at<T>(i)));
        edges[i] = std::max(edges[i], other ? edge : uint8_t(no_edge));
    }
}

// ---- rows and their frames ----

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

// For each_row: nothing has to be done where a partition begins.
constexpr auto nothing = [](size_t, size_t) {};

} // namespace gpuscan::window_parts
