// Rows with windows over them, and what every device must make of them: every function, frame and type, NULLs, ties, several windows;
// against a reference that goes over the whole partition for each row.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>

#include "cell.hpp"
#include "engine/device.hpp"

namespace gpuscan::window_cases {

using namespace ir;
using test::Cell;
using test::store;

// The columns of the rows. `Id` is unique.
enum : Index { Part, Order, Id, Small, Long, Wide, Float, Single, Flag, Text, Filled, ncolumns };
constexpr Type types[] = {Type::I32, Type::F64, Type::I64,  Type::I16,  Type::I64, Type::I128,
                          Type::F64, Type::F32, Type::Bool, Type::Code, Type::I64};

using Row = std::vector<Cell>;

inline bool is_real(Type type) { return type == Type::F64 || type == Type::F32; }

inline Cell random_cell(Index column, size_t row, std::mt19937_64 &random) {
    Cell cell = {column != Id && column != Filled && random() % 8 == 0, 0, 0};
    if (cell.null)
        return cell;
    const double special[] = {NAN, INFINITY, -0.0, 0.0};
    switch (column) {
    case Part:
        cell.i = static_cast<int>(random() % 5) - 2;
        break;
    case Order:
        cell.f = random() % 10 == 0 ? special[random() % 4] : static_cast<double>(random() % 12) / 4;
        break;
    case Id:
        cell.i = static_cast<int64_t>(row);
        break;
    case Wide:
        cell.i = (static_cast<int128>(random() % 2000) - 1000) << 80;
        break;
    case Float:
    case Single:
        cell.f = (static_cast<double>(random() % 4000) - 2000) / 8; // sums are exact
        break;
    case Flag:
        cell.i = random() % 2;
        break;
    case Text:
        cell.i = random() % 9;
        break;
    default:
        cell.i = static_cast<int>(random() % 2000) - 1000;
    }
    return cell;
}

inline Cell load(const RowBlock::Column &column, Type type, size_t row) {
    Cell cell = {column.nulls != nullptr && column.nulls[row] != 0, 0, 0};
    const uint8_t *from = column.values + row * type_width(type);
    const auto get = [from](auto value) {
        memcpy(&value, from, sizeof value);
        return value;
    };
    if (type == Type::F64)
        cell.f = get(double());
    else if (type == Type::F32)
        cell.f = static_cast<double>(get(float()));
    else if (type == Type::I128)
        cell.i = get(int128());
    else if (type == Type::I64)
        cell.i = get(int64_t());
    else if (type == Type::I32)
        cell.i = get(int32_t());
    else if (type == Type::Code)
        cell.i = get(uint32_t());
    else if (type == Type::I16)
        cell.i = get(int16_t());
    else
        cell.i = get(uint8_t());
    return cell;
}

inline int compare_cells(Type type, const Cell &a, const Cell &b) {
    if (!is_real(type))
        return a.i < b.i ? -1 : b.i < a.i ? 1 : 0;
    if (a.f != a.f || b.f != b.f)
        return (a.f != a.f) - (b.f != b.f);
    return a.f < b.f ? -1 : b.f < a.f ? 1 : 0;
}

struct Case {
    Program program;
    std::vector<Row> rows;

    Case(size_t n, uint64_t seed) : random(seed) {
        Pipeline main;
        main.sink = SinkKind::Rows;
        main.source = 0;
        program.sources.push_back({{0, ncolumns}, 0, {}});
        for (Index c = 0; c < ncolumns; ++c) {
            program.source_columns.push_back({types[c], 1, {}});
            program.exprs.push_back({Op::Column, types[c], 0, 0, c, none});
            program.lists.push_back(c);
        }
        main.payload = {0, ncolumns};
        main.result_keys = Id + 1; // the others are for the windows
        program.pipelines.push_back(main);
        for (size_t i = 0; i < n; ++i) {
            Row row;
            for (Index c = 0; c < ncolumns; ++c)
                row.push_back(random_cell(c, i, random));
            rows.push_back(std::move(row));
        }
    }

    Index number(int64_t value, bool null = false) {
        Constant constant{};
        constant.type = Type::I64;
        constant.null = null;
        constant.low = static_cast<uint64_t>(value);
        constant.high = value < 0 ? -1 : 0;
        program.constants.push_back(constant);
        return static_cast<Index>(program.constants.size() - 1);
    }

    void window(const std::vector<Index> &partition, const std::vector<Index> &order, Window window) {
        window.keys = {static_cast<Index>(program.orders.size()), static_cast<Index>(partition.size() + order.size())};
        window.partition = static_cast<Index>(partition.size());
        for (const auto *keys : {&partition, &order})
            for (const Index key : *keys)
                program.orders.push_back(
                    {key, static_cast<uint8_t>(random() % 2), static_cast<uint8_t>(random() % 2), {}});
        program.windows.push_back(window);
        ++program.pipelines[0].windows.count;
    }

    void function(WindowKind kind, Index arg = none, Index other = none, Index number = none, bool narrow = false) {
        program.window_functions.push_back(
            {kind, narrow, 0, Op::Le, static_cast<Index>(program.windows.size() - 1), arg, other, number, none});
        ++program.pipelines[0].window_functions.count;
    }

    std::mt19937_64 random;
};

struct Storage {
    std::vector<std::vector<uint8_t>> values, nulls;
};

inline RowTable table_of(const std::vector<Row> &rows, size_t block_rows, Storage &storage) {
    for (Index c = 0; c < ncolumns; ++c) {
        const size_t width = type_width(types[c]);
        storage.values.emplace_back(rows.size() * width + 1);
        storage.nulls.emplace_back(rows.size() + 1);
        for (size_t i = 0; i < rows.size(); ++i) {
            storage.nulls[c][i] = rows[i][c].null;
            store(rows[i][c], types[c], storage.values[c].data() + i * width);
        }
    }
    RowTable table;
    for (size_t first = 0; first < rows.size(); first += block_rows) {
        RowBlock block;
        block.nrows = std::min(block_rows, rows.size() - first);
        for (Index c = 0; c < ncolumns; ++c)
            block.columns.push_back({storage.values[c].data() + first * type_width(types[c]),
                                     c == Filled || c == Id ? nullptr : storage.nulls[c].data() + first});
        table.add(std::move(block));
    }
    return table;
}

// ---- the reference ----

class Reference {
  public:
    explicit Reference(const Case &tried) : c_(tried), p_(tried.program) {}

    int compare(const Row &a, const Row &b, Range keys) const {
        for (Index k = 0; k < keys.count; ++k) {
            const OrderKey &key = p_.orders[keys.first + k];
            const Cell &x = a[key.expr], &y = b[key.expr];
            if (x.null || y.null) {
                if (x.null != y.null)
                    return x.null == (key.nulls_first != 0) ? -1 : 1;
                continue;
            }
            if (const int c = compare_cells(types[key.expr], x, y))
                return key.descending ? -c : c;
        }
        return 0;
    }

    // Rows of the partition in their order.
    std::vector<const Row *> partition_of(const Window &w, const Row &row) const {
        std::vector<const Row *> out;
        for (const Row &other : c_.rows)
            if (compare(row, other, {w.keys.first, w.partition}) == 0)
                out.push_back(&other);
        std::stable_sort(out.begin(), out.end(),
                         [&](const Row *a, const Row *b) { return compare(*a, *b, w.keys) < 0; });
        return out;
    }

    int64_t constant(Index index) const { return static_cast<int64_t>(p_.constants[index].low); }

    // How far row i is behind row `at`, in what the frame's offsets count; `none`: both have no value, which is neither near nor far.
    int128 distance_of(const Window &w, const std::vector<const Row *> &rows, size_t at, size_t i, bool *none) const {
        const int128 behind = static_cast<int128>(i) - static_cast<int128>(at);
        *none = false;
        if (w.unit == FrameUnit::Rows)
            return behind;
        int128 groups = 0;
        for (size_t k = std::min(at, i) + 1; k <= std::max(at, i); ++k)
            groups += compare(*rows[k - 1], *rows[k], w.keys) != 0;
        if (w.unit == FrameUnit::Groups)
            return behind < 0 ? -groups : groups;
        const OrderKey &key = p_.orders[w.keys.first + w.partition];
        const Cell &own = (*rows[at])[key.expr], &other = (*rows[i])[key.expr];
        *none = own.null && other.null;
        if (own.null || other.null)
            return behind < 0 ? -(static_cast<int128>(1) << 120) : static_cast<int128>(1) << 120;
        return key.descending ? own.i - other.i : other.i - own.i;
    }

    bool in_frame(const Window &w, const std::vector<const Row *> &rows, size_t at, size_t i) const {
        const bool tie = compare(*rows[at], *rows[i], w.keys) == 0;
        const int128 behind = static_cast<int128>(i) - static_cast<int128>(at);
        bool none;
        const int128 distance = distance_of(w, rows, at, i, &none);
        const auto after_start = [&] {
            switch (w.start) {
            case FrameBound::UnboundedPreceding:
                return true;
            case FrameBound::Preceding:
                return none || distance >= -static_cast<int128>(constant(w.start_offset));
            case FrameBound::Following:
                return none || distance >= static_cast<int128>(constant(w.start_offset));
            default:
                return behind >= 0 || (w.peers && tie);
            }
        };
        const auto before_end = [&] {
            switch (w.end) {
            case FrameBound::UnboundedFollowing:
                return true;
            case FrameBound::Preceding:
                return none || distance <= -static_cast<int128>(constant(w.end_offset));
            case FrameBound::Following:
                return none || distance <= static_cast<int128>(constant(w.end_offset));
            default:
                return behind <= 0 || (w.peers && tie);
            }
        };
        const bool excluded = w.exclusion == FrameExclusion::CurrentRow ? i == at
                              : w.exclusion == FrameExclusion::Group    ? tie
                              : w.exclusion == FrameExclusion::Ties     ? tie && i != at
                                                                        : false;
        return after_start() && before_end() && !excluded;
    }

    Cell result(const WindowFunction &f, const Row &row) const {
        const Window &w = p_.windows[f.window];
        const std::vector<const Row *> rows = partition_of(w, row);
        const size_t at = static_cast<size_t>(std::find(rows.begin(), rows.end(), &row) - rows.begin());
        const size_t n = rows.size();
        std::vector<const Row *> frame;
        size_t smaller = 0, groups = 1, ties = 0;
        for (size_t i = 0; i < n; ++i) {
            if (in_frame(w, rows, at, i))
                frame.push_back(rows[i]);
            const int c = compare(*rows[i], row, w.keys);
            smaller += c < 0;
            ties += c == 0;
            groups += i > 0 && i <= at && compare(*rows[i - 1], *rows[i], w.keys) != 0;
        }
        const Cell null = {true, 0, 0};
        const auto whole = [](size_t value) { return Cell{false, static_cast<int128>(value), 0}; };
        if (f.number != none && p_.constants[f.number].null)
            return null;
        const int64_t number = f.number != none ? constant(f.number) : 0;
        switch (f.kind) {
        case WindowKind::RowNumber:
            return whole(at + 1);
        case WindowKind::Rank:
            return whole(smaller + 1);
        case WindowKind::DenseRank:
            return whole(groups);
        case WindowKind::PercentRank:
            return {false, 0, n == 1 ? 0.0 : static_cast<double>(smaller) / static_cast<double>(n - 1)};
        case WindowKind::CumeDist:
            return {false, 0, static_cast<double>(smaller + ties) / static_cast<double>(n)};
        case WindowKind::Ntile: { // as PostgreSQL's code goes through the rows
            int64_t bucket = 1, in_bucket = 0;
            int64_t boundary = static_cast<int64_t>(n) / number, rest = 0;
            if (boundary <= 0)
                boundary = 1;
            else if ((rest = static_cast<int64_t>(n) % number) != 0)
                ++boundary;
            for (size_t i = 0; i <= at; ++i)
                if (boundary < ++in_bucket) {
                    if (rest != 0 && bucket == rest) {
                        rest = 0;
                        --boundary;
                    }
                    ++bucket;
                    in_bucket = 1;
                }
            return whole(static_cast<size_t>(bucket));
        }
        case WindowKind::Lag:
        case WindowKind::Lead: {
            const int128 from = static_cast<int128>(at) + (f.kind == WindowKind::Lag ? -1 : 1) * int128(number);
            if (from < 0 || from >= static_cast<int128>(n))
                return f.other == none ? null : row[f.other];
            return (*rows[static_cast<size_t>(from)])[f.arg];
        }
        case WindowKind::FirstValue:
            return frame.empty() ? null : (*frame.front())[f.arg];
        case WindowKind::LastValue:
            return frame.empty() ? null : (*frame.back())[f.arg];
        case WindowKind::NthValue:
            return static_cast<int64_t>(frame.size()) < number ? null
                                                               : (*frame[static_cast<size_t>(number - 1)])[f.arg];
        case WindowKind::CountRows:
            return whole(frame.size());
        default:
            return of_values(f, frame);
        }
    }

    Cell of_values(const WindowFunction &f, const std::vector<const Row *> &frame) const {
        Cell out = {true, 0, 0}, shown = out;
        int64_t count = 0;
        for (const Row *row : frame) {
            const Cell &cell = (*row)[f.arg];
            if (cell.null)
                continue;
            ++count;
            const int c = out.null ? 0 : compare_cells(types[f.arg], cell, out);
            if (f.kind == WindowKind::Min || f.kind == WindowKind::Max) {
                const bool wins = c == 0 || (c < 0) == (f.kind == WindowKind::Min);
                out = wins ? cell : out;
                shown = wins && f.other != none ? (*row)[f.other] : shown;
                continue;
            }
            out = {false, out.i + cell.i, out.null ? cell.f : out.f + cell.f};
        }
        if (f.kind == WindowKind::Count)
            return {false, count, 0};
        if (f.other != none)
            return shown;
        if (f.kind == WindowKind::Average && count > 0)
            out.f /= static_cast<double>(count);
        return out;
    }

  private:
    const Case &c_;
    const Program &p_;
};

// As a device gets it.
inline Program parsed(const Case &tried) {
    const std::string bytes = serialize_program(tried.program);
    return parse_program(bytes.data(), bytes.size());
}

// What each function shows of each row.
inline std::vector<std::vector<Cell>> wanted_of(const Case &tried) {
    const Reference reference(tried);
    std::vector<std::vector<Cell>> wanted;
    for (const Row &row : tried.rows) {
        wanted.emplace_back();
        for (const WindowFunction &function : tried.program.window_functions)
            wanted.back().push_back(reference.result(function, row));
    }
    return wanted;
}

// Is that the result? In the order of the last window.
inline void check_result(const Case &tried, const std::vector<std::vector<Cell>> &wanted, const RowTable &got) {
    const Program &program = tried.program;
    const std::vector<Type> result_types = program.row_types();
    const Reference reference(tried);
    ASSERT_EQ(got.nrows, tried.rows.size());
    const Row *before = nullptr;
    size_t n = 0;
    for (const RowBlock &block : got.blocks) {
        ASSERT_EQ(block.columns.size(), result_types.size());
        for (size_t i = 0; i < block.nrows; ++i, ++n) {
            const size_t id = static_cast<size_t>(load(block.columns[Id], Type::I64, i).i);
            ASSERT_LT(id, tried.rows.size());
            const Row &row = tried.rows[id];
            if (before != nullptr) {
                ASSERT_LE(reference.compare(*before, row, program.windows.back().keys), 0);
            }
            before = &row;
            for (size_t f = 0; f < program.window_functions.size(); ++f) {
                const Type type = result_types[Id + 1 + f];
                const Cell have = load(block.columns[Id + 1 + f], type, i);
                const Cell want = wanted[id][f];
                ASSERT_EQ(have.null, want.null) << "function " << int(program.window_functions[f].kind);
                if (want.null)
                    continue;
                if (is_real(type) && !(want.f != want.f && have.f != have.f))
                    ASSERT_EQ(have.f, want.f) << "function " << int(program.window_functions[f].kind);
                else
                    ASSERT_TRUE(is_real(type) || have.i == want.i)
                        << "function " << int(program.window_functions[f].kind) << " of row " << int64_t(row[Id].i)
                        << ": " << int64_t(have.i) << ", not " << int64_t(want.i);
            }
        }
    }
    ASSERT_EQ(n, tried.rows.size());
}

inline Window rows_frame(Case &tried, FrameBound start, int64_t from, FrameBound end, int64_t to) {
    Window window;
    window.start = start;
    window.end = end;
    window.peers = 0;
    if (start == FrameBound::Preceding || start == FrameBound::Following)
        window.start_offset = tried.number(from);
    if (end == FrameBound::Preceding || end == FrameBound::Following)
        window.end_offset = tried.number(to);
    return window;
}

// All functions, those that look at single rows where the order is unique.
inline void add_functions(Case &tried, bool unique) {
    if (unique) {
        tried.function(WindowKind::RowNumber);
        tried.function(WindowKind::Ntile, none, none, tried.number(1 + static_cast<int64_t>(tried.random() % 9)));
        for (const Index arg : {Small, Long, Wide, Float, Single, Flag, Text, Filled}) {
            tried.function(WindowKind::Lag, arg, none, tried.number(static_cast<int64_t>(tried.random() % 4)));
            tried.function(WindowKind::Lead, arg, tried.random() % 2 == 0 ? arg : Index(none),
                           tried.number(static_cast<int64_t>(tried.random() % 5) - 2));
            tried.function(WindowKind::FirstValue, arg);
            tried.function(WindowKind::LastValue, arg);
            tried.function(WindowKind::NthValue, arg, none, tried.number(1 + static_cast<int64_t>(tried.random() % 3)));
        }
    }
    for (const WindowKind kind : {WindowKind::Rank, WindowKind::DenseRank, WindowKind::PercentRank,
                                  WindowKind::CumeDist, WindowKind::CountRows})
        tried.function(kind);
    for (const Index arg : {Small, Long, Wide, Float})
        tried.function(WindowKind::Sum, arg, none, none, arg == Small || arg == Long);
    tried.function(WindowKind::Average, Float);
    for (const Index arg : {Small, Text, Filled})
        tried.function(WindowKind::Count, arg);
    for (const Index arg : {Small, Long, Wide, Float, Single, Flag, Filled}) {
        tried.function(WindowKind::Min, arg);
        tried.function(WindowKind::Max, arg);
    }
    for (const WindowKind kind : {WindowKind::Min, WindowKind::Max})
        tried.function(kind, Id, Text);
}

constexpr FrameBound starts[] = {FrameBound::UnboundedPreceding, FrameBound::Preceding, FrameBound::CurrentRow,
                                 FrameBound::Following};
constexpr FrameBound ends[] = {FrameBound::Preceding, FrameBound::CurrentRow, FrameBound::Following,
                               FrameBound::UnboundedFollowing};

// What is done with a case; its rows come in blocks of so many.
using Visit = std::function<void(const Case &tried, size_t block_rows)>;

inline void each_case_of_frames_of_rows(const Visit &visit) {
    uint64_t seed = 0;
    for (const FrameBound start : starts)
        for (const FrameBound end : ends)
            for (const int64_t offset : {0, 1, 3, 70, 1000}) {
                Case tried(300, ++seed);
                tried.window({Part}, {Order, Id},
                             rows_frame(tried, start, offset, end, tried.random() % 2 ? 2 : offset));
                add_functions(tried, true);
                visit(tried, 77);
            }
}

inline void each_case_of_frames_of_ties(const Visit &visit) {
    uint64_t seed = 100;
    for (const FrameBound start : {FrameBound::UnboundedPreceding, FrameBound::CurrentRow})
        for (const FrameBound end : {FrameBound::CurrentRow, FrameBound::UnboundedFollowing})
            for (const std::vector<Index> &order : {std::vector<Index>{}, {Order}, {Small, Flag}}) {
                Case tried(250, ++seed);
                Window window;
                window.start = start;
                window.end = end;
                tried.window({Part, Flag}, order, window);
                add_functions(tried, false);
                visit(tried, 1000);
            }
}

inline void each_case_of_offsets(const Visit &visit) {
    uint64_t seed = 1000;
    for (const FrameBound start : starts)
        for (const FrameBound end : ends)
            for (const int64_t offset : {0, 1, 400})
                for (const Index order : {Order, Small, Wide}) {
                    Case tried(200, ++seed);
                    Window window = rows_frame(tried, start, offset, end, tried.random() % 2 ? 2 : offset);
                    window.peers = 1;
                    window.unit = order == Order ? FrameUnit::Groups : FrameUnit::Integers;
                    tried.window({Part}, {order}, window);
                    add_functions(tried, false);
                    visit(tried, 77);
                }
}

inline void each_case_of_exclusions(const Visit &visit) {
    uint64_t seed = 2000;
    for (const FrameExclusion exclusion : {FrameExclusion::CurrentRow, FrameExclusion::Group, FrameExclusion::Ties})
        for (const FrameBound start : starts)
            for (const FrameBound end : ends)
                for (const FrameUnit unit : {FrameUnit::Rows, FrameUnit::Groups}) {
                    Case tried(300, ++seed);
                    const bool unique =
                        unit == FrameUnit::Rows; // (of rows that tie, which are in such a frame is open)
                    const auto offset = [&] {
                        return static_cast<int64_t>(tried.random() % 8 ? tried.random() % 4 : 90);
                    };
                    Window window = rows_frame(tried, start, offset(), end, offset());
                    window.peers = unit == FrameUnit::Rows ? 0 : 1;
                    window.unit = unit;
                    window.exclusion = exclusion;
                    std::vector<Index> order = {Order};
                    if (unique)
                        order.push_back(Id);
                    tried.window({Part}, order, window);
                    add_functions(tried, unique);
                    visit(tried, 77);
                }
}

inline void each_case_of_several_windows(const Visit &visit) {
    for (uint64_t seed = 200; seed < 220; ++seed) {
        Case tried(200, seed);
        tried.window({Part}, {Id}, rows_frame(tried, FrameBound::Preceding, 3, FrameBound::Following, 100));
        add_functions(tried, true);
        tried.window({Part}, {}, Window());
        add_functions(tried, false);
        tried.window({}, {Wide, Id}, rows_frame(tried, FrameBound::UnboundedPreceding, 0, FrameBound::CurrentRow, 0));
        add_functions(tried, true);
        tried.window({}, {}, Window());
        add_functions(tried, false);
        if (seed % 2 == 0)
            tried.window({}, {Single, Id}, Window()); // an order
        visit(tried, 1 + seed % 3 * 90);
    }
}

// Rows of one partition and of many, and ties across threads.
inline void each_case_of_shared_partitions(const Visit &visit) {
    uint64_t seed = 2000;
    for (const FrameBound start : {FrameBound::UnboundedPreceding, FrameBound::CurrentRow})
        for (const FrameBound end : {FrameBound::CurrentRow, FrameBound::UnboundedFollowing})
            for (const std::vector<Index> &partition : {std::vector<Index>{}, {Flag}, {Part}})
                for (const std::vector<Index> &order : {std::vector<Index>{}, {Flag}, {Order}, {Id}}) {
                    Case tried(160, ++seed);
                    Window window;
                    window.start = start;
                    window.end = end;
                    tried.window(partition, order, window);
                    add_functions(tried, !order.empty() && order[0] == Id);
                    visit(tried, 50);
                }
}

inline void each_case_of_few_rows(const Visit &visit) {
    for (const size_t n : {0, 1, 2}) {
        Case tried(n, 300 + n);
        tried.window({Part}, {Id}, rows_frame(tried, FrameBound::Preceding, 1, FrameBound::CurrentRow, 0));
        add_functions(tried, true);
        visit(tried, 1);
    }
}

} // namespace gpuscan::window_cases
