// Which numbers and columns do a program's windows name? PostgreSQL looks at offsets and numbers when a query runs.
#pragma once

#include <algorithm>
#include <cstring>

#include "engine/device.hpp"
#include "engine/result/row_order.hpp"

namespace gpuscan::window_parts {

// NULL: false.
inline bool number_of(const Program &program, ir::Index constant, int64_t *number) {
    *number = static_cast<int64_t>(program.constants[constant].low);
    return program.constants[constant].null == 0;
}

// Of a frame's start or end; none: 0. Throws DeviceError where PostgreSQL would call it an error.
inline uint64_t offset_of(const Program &program, ir::Index constant) {
    int64_t offset = 0;
    if (constant != ir::none && (!number_of(program, constant, &offset) || offset < 0))
        throw DeviceError("an offset of a frame is NULL or negative");
    return static_cast<uint64_t>(offset);
}

inline double float_offset_of(const Program &program, ir::Index constant) {
    double offset = 0;
    if (constant != ir::none)
        memcpy(&offset, &program.constants[constant].low, sizeof offset);
    if (constant != ir::none && (program.constants[constant].null != 0 || !(offset >= 0)))
        throw DeviceError("an offset of a frame is NULL or negative");
    return offset;
}

inline frames::FrameRule rule_of(const Program &program, const ir::Window &window) {
    if (window.unit == FrameUnit::Floats) {
        float_offset_of(program, window.start_offset);
        float_offset_of(program, window.end_offset);
        return {window.start, window.end, true, 0, 0, nullptr, nullptr, window.exclusion};
    }
    return {window.start,
            window.end,
            window.peers != 0,
            offset_of(program, window.start_offset),
            offset_of(program, window.end_offset),
            nullptr,
            nullptr,
            window.exclusion};
}

constexpr bool has_offset(FrameBound bound) { return bound == FrameBound::Preceding || bound == FrameBound::Following; }

// Where the key's values are among the payload's columns, and how they are ordered.
inline SortColumn sort_column(const Program &program, const ir::OrderKey &key) {
    const auto list = program.lists.begin() + program.main().payload.first;
    const auto column = static_cast<size_t>(std::find(list, list + program.main().payload.count, key.expr) - list);
    return {column, program.exprs[key.expr].type, key.descending != 0, key.nulls_first != 0};
}

inline std::vector<SortColumn> sort_columns(const Program &program, const ir::Window &window) {
    std::vector<SortColumn> order;
    for (ir::Index k = 0; k < window.keys.count; ++k)
        order.push_back(sort_column(program, program.orders[window.keys.first + k]));
    return order;
}

// Rows in the second order are in the first one, too.
inline bool begins_with(const std::vector<SortColumn> &order, const std::vector<SortColumn> &present) {
    const auto same = [](const SortColumn &a, const SortColumn &b) {
        return a.column == b.column && a.descending == b.descending && a.nulls_first == b.nulls_first;
    };
    return order.size() <= present.size() && std::equal(order.begin(), order.end(), present.begin(), same);
}

inline bool has_functions(const Program &program, ir::Index window) {
    const auto first = program.window_functions.begin() + program.main().window_functions.first;
    return std::any_of(first, first + program.main().window_functions.count,
                       [window](const ir::WindowFunction &function) { return function.window == window; });
}

// When the functions of this window are there, rows may be dropped by the tests of all.
inline ir::Index last_with_functions(const Program &program) {
    ir::Index last = 0;
    const ir::Range functions = program.main().window_functions;
    for (ir::Index f = 0; f < functions.count; ++f)
        last = std::max(last, program.window_functions[functions.first + f].window);
    return last;
}

constexpr bool may_be_null(ir::WindowKind kind) {
    return kind > ir::WindowKind::CumeDist && kind != ir::WindowKind::CountRows && kind != ir::WindowKind::Count;
}

} // namespace gpuscan::window_parts
