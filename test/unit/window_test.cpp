// Window functions over rows, by threads of the host.
#include "engine/result/window.hpp"
#include "window_cases.hpp"

namespace gpuscan {
namespace {

using namespace window_cases;

void check(const Case &tried, size_t block_rows) {
    const std::vector<std::vector<Cell>> wanted = wanted_of(tried);
    auto memory = std::make_shared<WorkMemory>();
    for (const unsigned threads : {1, 2, 7}) { // of which some have rows of one partition only
        Storage storage;
        check_result(tried, wanted,
                     apply_windows(parsed(tried), table_of(tried.rows, block_rows, storage), memory, nullptr, threads));
    }
    EXPECT_EQ(memory->used(), 0u);
}

TEST(Windows, EveryFunctionOverEveryFrameOfRows) { each_case_of_frames_of_rows(check); }

TEST(Windows, FramesOfRowsThatTie) { each_case_of_frames_of_ties(check); }

TEST(Windows, OffsetsOfGroupsAndValues) { each_case_of_offsets(check); }
TEST(Windows, Exclusions) { each_case_of_exclusions(check); }

TEST(Windows, SeveralWindowsOneAfterTheOther) { each_case_of_several_windows(check); }

TEST(Windows, PartitionsThatThreadsShare) { each_case_of_shared_partitions(check); }

// 1.5 and 1.50: in an order that does not tell which is the last of them, nobody knows what PostgreSQL shows.
TEST(Windows, EqualValuesThatLookDifferent) {
    for (const unsigned threads : {1, 3})
        for (const bool unique : {true, false})
            for (const bool unlike : {true, false}) {
                Case tried(100, 800);
                for (Row &row : tried.rows) {
                    row[Filled] = {false, row[Id].i / 30, 0};
                    row[Text] = {false, unlike ? row[Id].i % 2 : row[Id].i / 30, 0};
                }
                tried.window({Part}, unique ? std::vector<Index>{Id} : std::vector<Index>{Flag}, Window());
                tried.function(WindowKind::Min, Filled, Text);
                tried.function(WindowKind::Max, Filled, Text);
                if (unique || !unlike) {
                    check(tried, 1000);
                    continue;
                }
                Storage storage;
                EXPECT_THROW(apply_windows(tried.program, table_of(tried.rows, 33, storage), nullptr, nullptr, threads),
                             DeviceError);
            }
}

TEST(Windows, FewRowsAndNone) { each_case_of_few_rows(check); }

TEST(Windows, ManyRowsInThreads) {
    Case tried(200000, 400);
    for (size_t i = 0; i < tried.rows.size(); ++i)
        tried.rows[i][Part] = {false, static_cast<int128>(i / 3), 0}; // small, so that the reference is quick
    tried.window({Part}, {Id}, Window());
    tried.function(WindowKind::RowNumber);
    tried.function(WindowKind::Sum, Long, none, none, true);
    const Program &program = tried.program;
    auto memory = std::make_shared<WorkMemory>();
    Storage storage;
    const RowTable got = apply_windows(program, table_of(tried.rows, 5000, storage), memory, nullptr);
    for (const RowBlock &block : got.blocks)
        for (size_t i = 0; i < block.nrows; ++i) {
            const size_t id = static_cast<size_t>(load(block.columns[Id], Type::I64, i).i), first = id / 3 * 3;
            const bool ascending = program.orders[1].descending == 0;
            const size_t from = ascending ? first : id,
                         to = ascending ? id : std::min(first + 2, tried.rows.size() - 1);
            int128 sum = 0, count = 0;
            for (size_t r = from; r <= to; ++r) {
                sum += tried.rows[r][Long].null ? int128(0) : tried.rows[r][Long].i;
                count += !tried.rows[r][Long].null;
            }
            ASSERT_EQ(int64_t(load(block.columns[Id + 1], Type::I64, i).i), int64_t(to - from + 1));
            const Cell have = load(block.columns[Id + 2], Type::I64, i);
            ASSERT_EQ(have.null, count == 0);
            ASSERT_TRUE(have.null || have.i == sum);
        }
}

TEST(Windows, WhatPostgresqlCallsAnErrorIsOne) {
    const auto fails = [](const std::function<void(Case &)> &make) {
        Case tried(100, 500);
        make(tried);
        Storage storage;
        EXPECT_THROW(
            apply_windows(tried.program, table_of(tried.rows, 33, storage), std::make_shared<WorkMemory>(), nullptr),
            DeviceError);
    };
    const auto over_all = [](Case &tried) { tried.window({}, {Id}, Window()); };
    fails([&](Case &tried) { // sums beyond their type
        for (Row &row : tried.rows)
            row[Long] = {false, std::numeric_limits<int64_t>::max(), 0};
        over_all(tried);
        tried.function(WindowKind::Sum, Long, none, none, true);
    });
    fails([&](Case &tried) {
        for (Row &row : tried.rows)
            row[Wide] = {false, int128(1) << 125, 0};
        over_all(tried);
        tried.function(WindowKind::Sum, Wide);
    });
    for (const WindowKind kind : {WindowKind::Sum, WindowKind::Average})
        fails([&](Case &tried) {
            for (Row &row : tried.rows)
                row[Float] = {false, 0, 1e308};
            over_all(tried);
            tried.function(kind, Float);
        });
    for (const int64_t number : {0, -3}) {
        fails([&](Case &tried) {
            over_all(tried);
            tried.function(WindowKind::Ntile, none, none, tried.number(number));
        });
        fails([&](Case &tried) {
            over_all(tried);
            tried.function(WindowKind::NthValue, Long, none, tried.number(number));
        });
    }
    fails([&](Case &tried) { // without a row, too
        tried.rows.clear();
        tried.window({}, {Id}, rows_frame(tried, FrameBound::Preceding, -1, FrameBound::CurrentRow, 0));
        tried.function(WindowKind::CountRows);
    });
    fails([&](Case &tried) {
        Window window = rows_frame(tried, FrameBound::UnboundedPreceding, 0, FrameBound::Following, 0);
        window.end_offset = tried.number(0, true);
        tried.window({}, {Id}, window);
        tried.function(WindowKind::CountRows);
    });
}

TEST(Windows, InfinitiesAreNoOverflowAndANumberThatIsNullMakesNulls) {
    Case tried(100, 600);
    for (Row &row : tried.rows)
        row[Float] = {false, 0, row[Id].i % 7 == 0 ? INFINITY : 1};
    tried.window({}, {Id}, rows_frame(tried, FrameBound::Preceding, 80, FrameBound::CurrentRow, 0));
    tried.function(WindowKind::Sum, Float);
    tried.function(WindowKind::Average, Float);
    tried.function(WindowKind::Ntile, none, none, tried.number(0, true));
    tried.function(WindowKind::Lag, Long, Filled, tried.number(1, true));
    tried.function(WindowKind::NthValue, Long, none, tried.number(0, true));
    check(tried, 20);
}

TEST(Windows, RowsThatPassNoTestAreDropped) {
    for (const Op op : {Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge})
        for (const bool null : {false, true}) {
            Case tried(300, 650);
            tried.window({Part}, {Id}, Window());
            tried.function(WindowKind::Sum, Wide);
            tried.function(WindowKind::RowNumber);
            WindowFunction &tested = tried.program.window_functions.back();
            tested.tested = 1;
            tested.test = op;
            tested.bound = tried.number(3, null);
            tried.window({}, {Wide, Id}, Window()); // an order of the rows that are left
            const std::string bytes = serialize_program(tried.program);
            const Program program = parse_program(bytes.data(), bytes.size());
            Storage storage;
            const RowTable got =
                apply_windows(program, table_of(tried.rows, 41, storage), std::make_shared<WorkMemory>(), nullptr);
            const Reference reference(tried);
            std::vector<bool> there(tried.rows.size());
            for (const RowBlock &block : got.blocks)
                for (size_t i = 0; i < block.nrows; ++i) {
                    const Cell id = load(block.columns[Id], Type::I64, i);
                    there[static_cast<size_t>(id.i)] = true;
                    EXPECT_TRUE(load(block.columns[Id + 2], Type::I64, i).i ==
                                reference.result(tested, tried.rows[static_cast<size_t>(id.i)]).i);
                }
            for (const Row &row : tried.rows) {
                const int128 number = reference.result(tested, row).i;
                const bool wanted = op == Op::Eq   ? number == 3
                                    : op == Op::Ne ? number != 3
                                    : op == Op::Lt ? number < 3
                                    : op == Op::Le ? number <= 3
                                    : op == Op::Gt ? number > 3
                                                   : number >= 3;
                EXPECT_EQ(there[static_cast<size_t>(row[Id].i)], wanted && !null);
            }
        }
}

TEST(Windows, MemoryAndCancel) {
    Case tried(5000, 700);
    tried.window({Part}, {Id}, Window());
    tried.function(WindowKind::Sum, Wide);
    auto memory = std::make_shared<WorkMemory>();
    memory->set_limit(100000);
    Storage storage;
    EXPECT_THROW(apply_windows(tried.program, table_of(tried.rows, 90, storage), memory, nullptr), OutOfWorkMemory);
    EXPECT_EQ(memory->used(), 0u);
    memory->set_limit(SIZE_MAX);
    const std::atomic<uint32_t> cancel{1};
    Storage again;
    EXPECT_THROW(apply_windows(tried.program, table_of(tried.rows, 90, again), memory, &cancel), Cancelled);
}

} // namespace
} // namespace gpuscan
