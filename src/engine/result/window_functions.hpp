// What are a row's number and rank in its partition, and which other row does it show (window.hpp)?
#pragma once

#include "engine/result/window_frames.hpp"

namespace gpuscan::window_parts {

inline void number_rows(const Slice &slice, const Result &to) {
    slice.each_piece([&](size_t begin, size_t, size_t from, size_t last) {
        for (size_t i = from; i < last; ++i)
            to.put<int64_t>(i, static_cast<int64_t>(i - begin + 1));
    });
}

inline void rank_rows(const Slice &slice, WindowKind kind, const Result &to) {
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
inline void divide_rows(const Slice &slice, int64_t buckets, const Result &to) {
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

template <class T>
void pick(const Slice &slice, const FrameRule &rule, WindowKind kind, const Column &arg, int64_t number,
          const Result &to) {
    slice.each_row(nothing, [&](const Place &at) {
        const frames::FrameParts parts = frames::parts_of(rule, at);
        const uint64_t rows = parts.rows();
        const uint64_t nth = kind == WindowKind::LastValue  ? rows
                             : kind == WindowKind::NthValue ? static_cast<uint64_t>(number)
                                                            : 1;
        const bool there = nth != 0 && nth <= rows;
        const size_t row = there ? parts.row(nth) : 0;
        if (!there || arg.null(row))
            to.put_null<T>(at.row);
        else
            to.put<T>(at.row, arg.at<T>(row));
    });
}

} // namespace gpuscan::window_parts
