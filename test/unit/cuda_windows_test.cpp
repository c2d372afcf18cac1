// Window functions over rows in device memory; skipped where there is no GPU.
//
// GPUSCAN_TEST_SEEDS sets how many of the cases are run.
#include "cuda_fixture.hpp"
#include "window_cases.hpp"

namespace gpuscan {
namespace {

using namespace window_cases;

class CudaWindowsTest : public test::CudaTest {
  protected:
    // What the device makes of the rows; false: it leaves it to the host.
    static bool run(const Case &tried, DeviceRows &rows, std::unique_ptr<Execution> &execution) {
        Storage storage;
        const RowTable table = table_of(tried.rows, std::max<size_t>(tried.rows.size(), 1), storage);
        ChunkView chunk;
        chunk.nrows = static_cast<uint32_t>(tried.rows.size());
        std::vector<BufferRef> held;
        const auto put = [&](const void *from, size_t bytes) {
            held.push_back(device().allocate(bytes + 64));
            device().upload(*held.back(), 0, from, bytes);
            return held.back()->data;
        };
        for (Index c = 0; c < ncolumns; ++c) {
            ColumnView view;
            view.type = types[c];
            view.values = put(storage.values[c].data(), storage.values[c].size());
            if (c != Filled && c != Id)
                view.nulls = static_cast<const uint8_t *>(put(storage.nulls[c].data(), storage.nulls[c].size()));
            chunk.columns.push_back(view);
        }
        execution = device().prepare(parsed(tried), nullptr);
        return execution->run_windows({chunk}, rows);
    }

    // In pieces.
    static RowTable copy(Execution &execution, const DeviceRows &rows, size_t piece) {
        RowTable table;
        for (size_t first = 0; first < rows.nrows; first += piece)
            for (RowBlock &block : execution.copy_rows(rows, first, std::min(piece, rows.nrows - first)).blocks)
                table.add(std::move(block));
        return table;
    }

    // Some of the cases, as many as there should be of each kind.
    void each(const std::function<void(const Visit &)> &cases) {
        size_t all = 0, done = 0;
        cases([&](const Case &, size_t) { ++all; });
        const char *wish = getenv("GPUSCAN_TEST_SEEDS");
        const size_t wanted = wish ? static_cast<size_t>(atoll(wish)) : all,
                     step = std::max<size_t>(1, all / std::max<size_t>(1, wanted));
        size_t number = 0;
        cases([&](const Case &tried, size_t block_rows) {
            if (number++ % step != 0 || HasFatalFailure())
                return;
            DeviceRows rows;
            std::unique_ptr<Execution> execution;
            const Case asked = only(tried);
            if (asked.rows.empty()) // the host's
                return;
            ASSERT_TRUE(run(asked, rows, execution));
            ++done;
            check_result(asked, wanted_of(asked), copy(*execution, rows, block_rows));
            check_stats(rows, *execution);
        });
        EXPECT_GT(done, 0u);
    }

    // The case with those functions and values alone that a GPU computes. (It is all or nothing.)
    static Case only(const Case &tried) {
        Case some = tried;
        for (Row &row : some.rows)
            row[Wide].i >>= 60;
        some.program.window_functions.clear();
        for (const WindowFunction &function : tried.program.window_functions) {
            const Window &window = tried.program.windows[function.window];
            const Type type = function.arg == none ? Type::I64 : types[function.arg];
            const bool extreme = function.kind == WindowKind::Min || function.kind == WindowKind::Max;
            const bool floats = function.kind >= WindowKind::Sum && is_real(type);
            const auto rows = [&](FrameBound bound, Index offset, int64_t *behind) {
                if (bound == FrameBound::CurrentRow && !window.peers)
                    return *behind = 0, true;
                if (bound != FrameBound::Preceding && bound != FrameBound::Following)
                    return false;
                *behind = static_cast<int64_t>(tried.program.constants[offset].low);
                *behind = bound == FrameBound::Preceding ? -*behind : *behind;
                return true;
            };
            int64_t first = 0, last = 0;
            const bool narrow = window.unit == FrameUnit::Rows && rows(window.start, window.start_offset, &first) &&
                                rows(window.end, window.end_offset, &last) && last - first < 64;
            if ((extreme && function.other != none) ||
                ((extreme || floats) && !narrow &&
                 (window.start != FrameBound::UnboundedPreceding || window.exclusion != FrameExclusion::None)))
                continue;
            some.program.window_functions.push_back(function);
        }
        some.program.pipelines[0].window_functions.count = static_cast<Index>(some.program.window_functions.size());
        return some;
    }

    // What is said of the columns holds for their values.
    static void check_stats(const DeviceRows &rows, Execution &execution) {
        const RowTable table = copy(execution, rows, std::max<size_t>(rows.nrows, 1));
        for (size_t c = 0; c < rows.columns.size() && !table.blocks.empty(); ++c) {
            const DeviceRows::Column &column = rows.columns[c];
            for (size_t i = 0; i < rows.nrows && !is_float(column.type); ++i) {
                const Cell cell = load(table.blocks[0].columns[c], column.type, i);
                ASSERT_TRUE(!cell.null || column.stats.any_null);
                ASSERT_TRUE(cell.null || column.stats.any_wide ||
                            (cell.i >= column.stats.min && cell.i <= column.stats.max));
            }
        }
    }
};

TEST_F(CudaWindowsTest, EveryFunctionOverEveryFrameOfRows) { each(each_case_of_frames_of_rows); }
TEST_F(CudaWindowsTest, FramesOfRowsThatTie) { each(each_case_of_frames_of_ties); }
TEST_F(CudaWindowsTest, OffsetsOfGroupsAndValues) { each(each_case_of_offsets); }
TEST_F(CudaWindowsTest, Exclusions) { each(each_case_of_exclusions); }
TEST_F(CudaWindowsTest, SeveralWindowsOneAfterTheOther) { each(each_case_of_several_windows); }
TEST_F(CudaWindowsTest, PartitionsOfManyRows) { each(each_case_of_shared_partitions); }
TEST_F(CudaWindowsTest, FewRowsAndNone) { each(each_case_of_few_rows); }

// Several tiles of the sort and of scans, words of 64 bits and more.
TEST_F(CudaWindowsTest, ManyRows) {
    for (const bool wide : {false, true}) {
        Case tried(8000, 900 + wide);
        for (size_t i = 0; i < tried.rows.size(); ++i)
            tried.rows[i][Part] = {i % 50 == 0, static_cast<int128>(tried.random() % 200), 0};
        std::vector<Index> order = {Id};
        if (wide)
            order = {Float, Order, Single, Small, Id};
        tried.window({Part}, order, Window());
        tried.function(WindowKind::RowNumber);
        tried.function(WindowKind::Sum, Long, none, none, true);
        tried.function(WindowKind::Lag, Id, none, tried.number(1));
        DeviceRows rows;
        std::unique_ptr<Execution> execution;
        ASSERT_TRUE(run(tried, rows, execution));
        const RowTable got = copy(*execution, rows, rows.nrows);
        const Reference reference(tried);
        const Row *before = nullptr;
        int64_t number = 0;
        int128 sum = 0;
        size_t seen = 0;
        for (size_t i = 0; i < got.nrows; ++i) {
            const std::vector<RowBlock::Column> &columns = got.blocks[0].columns;
            const Row &row = tried.rows[static_cast<size_t>(load(columns[Id], Type::I64, i).i)];
            const bool same = before && reference.compare(*before, row, {0, 1}) == 0;
            if (before) {
                ASSERT_LT(reference.compare(*before, row, tried.program.windows[0].keys), 0);
            }
            number = same ? number + 1 : 1;
            sum = (same ? sum : 0) + (row[Long].null ? 0 : row[Long].i);
            ASSERT_EQ(int64_t(load(columns[Id + 1], Type::I64, i).i), number);
            const Cell total = load(columns[Id + 2], Type::I64, i), lag = load(columns[Id + 3], Type::I64, i);
            ASSERT_TRUE(total.null || total.i == sum);
            ASSERT_EQ(lag.null, !same);
            ASSERT_TRUE(!same || lag.i == (*before)[Id].i);
            before = &row;
            ++seen;
        }
        ASSERT_EQ(seen, tried.rows.size());
    }
}

TEST_F(CudaWindowsTest, RowsThatPassNoTestAreDropped) {
    for (const Op op : {Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge})
        for (const bool null : {false, true}) {
            Case tried(300, 650);
            tried.window({Part}, {Id}, Window());
            tried.function(WindowKind::Sum, Long, none, none, true);
            tried.function(WindowKind::RowNumber);
            WindowFunction &tested = tried.program.window_functions.back();
            tested.tested = 1;
            tested.test = op;
            tested.bound = tried.number(3, null);
            if (op != Op::Lt)
                tried.window({}, {Long, Id}, Window()); // an order of the rows that are left
            DeviceRows rows;
            std::unique_ptr<Execution> execution;
            ASSERT_TRUE(run(tried, rows, execution));
            const RowTable got = copy(*execution, rows, 41);
            const Reference reference(tried);
            size_t wanted = 0;
            for (const Row &row : tried.rows)
                wanted += !null && holds(op, static_cast<int64_t>(reference.result(tested, row).i), int64_t(3));
            ASSERT_EQ(got.nrows, wanted);
            const Row *before = nullptr;
            for (const RowBlock &block : got.blocks)
                for (size_t i = 0; i < block.nrows; ++i) {
                    const Row &row = tried.rows[static_cast<size_t>(load(block.columns[Id], Type::I64, i).i)];
                    if (before) {
                        ASSERT_LE(reference.compare(*before, row, tried.program.windows.back().keys), 0);
                    }
                    before = &row;
                    for (size_t f = 0; f < 2; ++f) {
                        const Cell have = load(block.columns[Id + 1 + f], Type::I64, i);
                        const Cell want = reference.result(tried.program.window_functions[f], row);
                        ASSERT_EQ(have.null, want.null);
                        ASSERT_TRUE(have.null || have.i == want.i);
                    }
                }
        }
}

TEST_F(CudaWindowsTest, WhatPostgresqlCallsAnErrorIsOneAndWideValuesAreTheHosts) {
    enum Outcome { fails, is_left };
    const auto expect = [&](Outcome outcome, const std::function<void(Case &)> &make) {
        Case tried(100, 500);
        make(tried);
        DeviceRows rows;
        std::unique_ptr<Execution> execution;
        if (outcome == fails)
            EXPECT_THROW(run(tried, rows, execution), DeviceError);
        else
            EXPECT_FALSE(run(tried, rows, execution));
    };
    const auto over_all = [](Case &tried) { tried.window({}, {Id}, Window()); };
    expect(fails, [&](Case &tried) { // sums beyond their type
        for (Row &row : tried.rows)
            row[Long] = {false, std::numeric_limits<int64_t>::max(), 0};
        over_all(tried);
        tried.function(WindowKind::Sum, Long, none, none, true);
    });
    for (const WindowKind kind : {WindowKind::Sum, WindowKind::Average})
        expect(fails, [&](Case &tried) {
            for (Row &row : tried.rows)
                row[Float] = {false, 0, 1e308};
            over_all(tried);
            tried.function(kind, Float);
        });
    for (const WindowKind kind : {WindowKind::Ntile, WindowKind::NthValue})
        expect(fails, [&](Case &tried) {
            over_all(tried);
            tried.function(kind, kind == WindowKind::Ntile ? none : Index(Long), none, tried.number(0));
        });
    expect(fails, [&](Case &tried) {
        tried.window({}, {Id}, rows_frame(tried, FrameBound::Preceding, -1, FrameBound::CurrentRow, 0));
        tried.function(WindowKind::CountRows);
    });
    expect(is_left, [&](Case &tried) {
        over_all(tried);
        tried.function(WindowKind::Sum, Wide);
    });
    expect(is_left, [&](Case &tried) {
        tried.window({}, {Wide}, Window());
        tried.function(WindowKind::Rank);
    });
    expect(is_left, [&](Case &tried) {
        tried.window({}, {Id}, rows_frame(tried, FrameBound::Preceding, 80, FrameBound::CurrentRow, 0));
        tried.function(WindowKind::Min, Long);
    });
}

TEST_F(CudaWindowsTest, MakesOtherIntegersOfAColumn) {
    Case tried(100, 500);
    tried.window({}, {Id}, Window());
    tried.function(WindowKind::Sum, Long, none, none, true);
    tried.function(WindowKind::Rank);
    DeviceRows rows;
    std::unique_ptr<Execution> execution;
    ASSERT_TRUE(run(tried, rows, execution));
    const RowTable before = copy(*execution, rows, rows.nrows);
    const size_t sum = Id + 1, rank = Id + 2;
    execution->cast_column(rows, rows.columns[sum], Type::I128, int128(1000000));
    execution->cast_column(rows, rows.columns[rank], Type::I16, 0);
    const RowTable after = copy(*execution, rows, rows.nrows);
    for (size_t i = 0; i < rows.nrows; ++i) {
        const Cell was = load(before.blocks[0].columns[sum], Type::I64, i);
        const Cell is = load(after.blocks[0].columns[sum], Type::I128, i);
        ASSERT_TRUE(was.null == is.null && (was.null || was.i == is.i));
        ASSERT_TRUE(load(before.blocks[0].columns[rank], Type::I64, i).i ==
                    load(after.blocks[0].columns[rank], Type::I16, i).i);
    }
    EXPECT_THROW(execution->cast_column(rows, rows.columns[rank], Type::I16, 100), DeviceError);
    EXPECT_THROW(execution->cast_column(rows, rows.columns[sum], Type::I64, 5), DeviceError);
}

TEST_F(CudaWindowsTest, Cancel) {
    Case tried(1000, 700);
    tried.window({Part}, {Id}, Window());
    tried.function(WindowKind::Sum, Long);
    const std::atomic<uint32_t> cancel{1};
    const std::unique_ptr<Execution> execution = device().prepare(parsed(tried), &cancel);
    DeviceRows rows;
    EXPECT_THROW(execution->run_windows({}, rows), Cancelled);
}

} // namespace
} // namespace gpuscan
