// The CUDA device against the reference interpreter; skipped where there is no GPU.
//
// GPUSCAN_TEST_SEEDS sets how many random programs are run (each costs a few compilations).
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "cuda/cuda_device.hpp"
#include "cuda/kernel_cache.hpp"
#include "cuda_fixture.hpp"
#include "distinct_cases.hpp"
#include "engine/store/dictionary.hpp"
#include "grouping_cases.hpp"
#include "host/host_device.hpp"
#include "interval_cases.hpp"
#include "join_cases.hpp"
#include "pack_check.hpp"
#include "random_cases.hpp"
#include "row_cases.hpp"

namespace gpuscan {
namespace {

using namespace reference;
using test::shared;

size_t seeds() {
    const char *wish = getenv("GPUSCAN_TEST_SEEDS");
    return wish ? static_cast<size_t>(atoll(wish)) : 200;
}

class CudaDeviceTest : public test::CudaTest {
  protected:
    static unsigned threads() { return std::max(2u, std::min(16u, std::thread::hardware_concurrency())); }

    // Seeds spread over threads: compiling takes most of the time, and sessions at once are a test too.
    static size_t run_seeds(uint64_t first, size_t count, bool wild, bool rows = false) {
        std::atomic<uint64_t> next{first};
        std::atomic<size_t> errors{0};
        std::vector<std::thread> running;
        for (unsigned t = 0; t < threads(); ++t)
            running.emplace_back([&] {
                for (uint64_t seed; (seed = next.fetch_add(1)) < first + count && !HasFailure();) {
                    SCOPED_TRACE("seed " + std::to_string(seed) + (wild ? " wild" : ""));
                    try {
                        Case c = rows ? random_rows(seed, wild) : random_case(seed, wild);
                        c.speculation = static_cast<Speculation>(seed % 3);
                        errors += check(device(), c, true);
                    } catch (const std::exception &error) {
                        ADD_FAILURE() << error.what();
                    }
                }
            });
        for (std::thread &thread : running)
            thread.join();
        return errors;
    }
};

TEST_F(CudaDeviceTest, Info) {
    const DeviceInfo info = device().info();
    EXPECT_EQ("cuda", info.kind);
    EXPECT_GT(info.memory_total, 0u);
    EXPECT_EQ("", shared().device->register_note);
}

TEST_F(CudaDeviceTest, RandomPrograms) {
    const size_t used = device().info().memory_used;
    EXPECT_LT(run_seeds(1, seeds(), false), seeds() / 2 + 1);
    // New stream contexts stay, of 1 MB each: a thread has an execution, that of its unmatched rows, and a copy at once.
    EXPECT_LE(device().info().memory_used, used + (3 * threads() + 1) * (1 << 20));
}

TEST_F(CudaDeviceTest, RandomProgramsNearTheLimits) { run_seeds(1, seeds(), true); }

TEST_F(CudaDeviceTest, RandomRows) {
    run_seeds(1, seeds(), false, true);
    run_seeds(1, seeds() / 2, true, true);
    EXPECT_EQ(0u, device().work_memory()->used());
}

void check_all_rows(Device &device) {
    check_match_rates(device);
    check_rows_without_columns(device);
    check_many_matches(device, 3000, 301);
    check_wide_rows(device);
    check_limits(device);
    check_row_memory(device);
    check_row_errors(device);
    EXPECT_EQ(0u, device.work_memory()->used());
}

TEST_F(CudaDeviceTest, Rows) { check_all_rows(device()); }

// Without the result cache, written by the kernel over the link, in small areas.
TEST_F(CudaDeviceTest, RowsTheOtherWays) {
    for (bool cache : {false, true}) {
        CudaOptions options;
        options.row_cache = cache;
        options.rows_to_host = cache;
        options.row_area_bytes = 100000; // areas are full again and again, and one tile's rows may not fit
        const char *kernels = getenv("GPUSCAN_TEST_CACHE");
        options.cache_dir = kernels ? kernels : "";
        check_all_rows(*make_cuda_device(options));
    }
}

TEST_F(CudaDeviceTest, ManyRows) {
    const uint32_t n = 700000;
    BufferRef values = device().allocate(size_t(n) * 4);
    std::vector<int32_t> numbers(n);
    for (uint32_t i = 0; i < n; ++i)
        numbers[i] = static_cast<int32_t>(i);
    device().upload(*values, 0, numbers.data(), size_t(n) * 4);
    Builder b;
    Pipeline main;
    main.source = b.source({Type::I32});
    main.sink = SinkKind::Rows;
    const Index v = b.column(Type::I32, 0, 0);
    main.payload = b.list({v, b.unary(Op::Cast, Type::I128, v), b.unary(Op::Cast, Type::F64, v)});
    b.p.pipelines = {main};
    auto execution = device().prepare(b.p, nullptr);
    ChunkView chunk;
    chunk.nrows = n;
    ColumnView column;
    column.values = values->data;
    chunk.columns = {column};
    const RowTable rows = execution->run_rows({chunk});
    const ExecutionStats stats = execution->stats();
    ASSERT_EQ(n, rows.nrows);
    EXPECT_EQ("rows", stats.grouping);
    EXPECT_EQ(n, stats.rows_out);
    std::vector<uint8_t> seen(n);
    for (const RowBlock &block : rows.blocks)
        for (size_t r = 0; r < block.nrows; ++r) {
            int32_t a;
            int64_t wide[2];
            double d;
            memcpy(&a, block.columns[0].values + 4 * r, 4);
            memcpy(wide, block.columns[1].values + 16 * r, 16);
            memcpy(&d, block.columns[2].values + 8 * r, 8);
            ASSERT_TRUE(a >= 0 && a < static_cast<int32_t>(n) && !seen[static_cast<size_t>(a)]);
            ASSERT_TRUE(wide[0] == a && wide[1] == 0 && d == a);
            seen[static_cast<size_t>(a)] = 1;
        }
}

TEST_F(CudaDeviceTest, CancelWhileCollectingRows) {
    Case c = row_case({row_chunk(100000, 1)}, {row_build(1, 20000)}, -1); // many pairs, and no row of them
    c.program.conjuncts[0].after = 1;
    Case same = row_case({row_chunk(10, 1)}, {row_build(1, 10)}, -1);
    same.program.conjuncts[0].after = 1;
    EXPECT_EQ(0u, rows_on(device(), same).nrows); // compiled now
    std::atomic<uint32_t> cancel{0};
    std::thread canceller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1000));
        cancel = 1;
    });
    auto execution = start_on(device(), c, &cancel);
    const Loaded data = load(device(), c.program, 1, c.sources[1]);
    EXPECT_THROW(execution->run_rows(std::vector<ChunkView>(10000, data.views[0])), Cancelled); // 2e13 pairs
    canceller.join();
    EXPECT_EQ(0u, device().work_memory()->used());
}

TEST_F(CudaDeviceTest, Packs) { test::check_pack_all(device()); }

TEST_F(CudaDeviceTest, JoinForms) {
    auto form = [&](const Case &c) {
        ExecutionStats stats;
        expect_same(c.program, interpret(c), run_on(device(), c, nullptr, &stats));
        return stats.joins.at(0).substr(0, 5);
    };
    auto spread = [](Chunk c, int128 factor) {
        for (Datum &d : c.columns[0])
            d.i = (d.i - 20) * factor;
        return c;
    };
    const Chunk probe = chunk_of({numbers(5000, 7, 97), numbers(5000, 1, 1000)});
    const Chunk unique = chunk_of({numbers(60, 1, 97), numbers(60, 3, 50)});
    const Chunk repeated = chunk_of({numbers(200, 1, 50), numbers(200, 3, 50)});
    for (Type payload : {Type::I32, Type::I64, Type::I128}) { // packed, packed, by row
        EXPECT_EQ("dense", form(join_case({probe}, {unique}, Type::I32, payload)));
        EXPECT_EQ("dense", form(join_case({probe}, {repeated}, Type::I64, payload)));
        EXPECT_EQ("hash ", form(join_case({spread(probe, 10000003)}, {spread(unique, 10000003)}, Type::I32, payload)));
        EXPECT_EQ("hash ",
                  form(join_case({spread(probe, 10000003)}, {spread(repeated, 10000003)}, Type::I64, payload)));
        const int128 far = static_cast<int128>(1) << 90;
        EXPECT_EQ("hash ", form(join_case({spread(probe, far)}, {spread(repeated, far)}, Type::I128, payload)));
        EXPECT_EQ("empty", form(join_case({probe}, {}, Type::I32, payload)));
    }
    for (uint32_t rows : {1u, 31u, 32u, 33u, 255u, 256u, 1023u, 1024u, 1025u})
        form(join_case({chunk_of({numbers(rows, 7, 97), numbers(rows, 1, 1000)})}, {unique}, Type::I32));
}

// A table of other rows, made of a former one of every form: rows go, come, do both, or are none; keys get beyond what they were.
TEST_F(CudaDeviceTest, ChangesJoinTables) {
    struct Form {
        const char *name; // as the table's description begins
        Type key, payload;
        int128 factor; // between keys
        uint32_t repeats;
    };
    const int128 far = static_cast<int128>(1) << 90;
    const Form forms[] = {{"dense", Type::I32, Type::I32, 1, 1},         {"dense", Type::I16, Type::I64, 3, 1},
                          {"dense", Type::I32, Type::I128, 1, 1},        {"dense", Type::I64, Type::I32, 1, 3},
                          {"hash ", Type::I32, Type::F64, 1000003, 1},   {"hash ", Type::I32, Type::I32, 10000003, 3},
                          {"hash ", Type::I64, Type::F32, far >> 40, 3}, {"hash ", Type::I128, Type::I16, far, 2}};
    for (const Form &form : forms) {
        const auto part = [&form](uint32_t first, uint32_t n, bool nulls) {
            Chunk chunk = chunk_of({numbers(n, 1, 1000), numbers(n, 3, 50)});
            for (uint32_t i = 0; i < n; ++i) {
                chunk.columns[0][i].i = static_cast<int128>((first + i) / form.repeats) * form.factor;
                chunk.columns[1][i].d = static_cast<double>(i % 7) / 4;
                chunk.columns[1][i].null = nulls && i % 5 == 0;
            }
            return chunk;
        };
        const std::vector<Chunk> parts = {part(0, 20, false), part(18, 45, true), part(63, 40, false),
                                          part(400, 30, true)};
        const Chunk probe = part(0, 500, false);
        using Parts = std::vector<size_t>;
        const auto case_of = [&](const Parts &numbers) {
            std::vector<Chunk> chunks;
            for (size_t i : numbers)
                chunks.push_back(parts[i]);
            return join_case({probe}, chunks, form.key, form.payload);
        };
        struct Change {
            Parts before, gone, come, after;
        };
        const Parts none;
        const Change changes[] = {{{0, 2}, none, {3}, {0, 2, 3}}, {{0, 2, 3}, {3}, none, {0, 2}},
                                  {{2, 1}, {2}, {0}, {1, 0}},     {{1, 2}, {1}, {1}, {2, 1}},
                                  {{0, 2}, {0, 2}, none, none},   {none, none, {1}, {1}},
                                  {{1}, none, none, {1}}};
        for (const Change &change : changes) {
            SCOPED_TRACE(::testing::Message() << "form " << &form - forms << ", change " << &change - changes);
            const Case c = case_of(change.before), after = case_of(change.after);
            const Loaded before = load(device(), c.program, 0, c.sources[0]);
            const Loaded gone = load(device(), c.program, 0, case_of(change.gone).sources[0]);
            const Loaded come = load(device(), c.program, 0, case_of(change.come).sources[0]);
            const Loaded main = load(device(), c.program, 1, c.sources[1]);
            const auto former = device().prepare(c.program, nullptr), execution = device().prepare(c.program, nullptr);
            former->run_build(0, before.views);
            former->finish_build(0);
            const auto become = [&](const BuiltTableRef &table, const Loaded &lost, const Loaded &found) {
                bool changed = execution->change_build(0, table, lost.views, found.views);
                for (int i = 0; i < 6000 && !changed; ++i) { // its kernel is being compiled
                    usleep(10 * 1000);
                    changed = execution->change_build(0, table, lost.views, found.views);
                }
                return changed;
            };
            ASSERT_TRUE(become(former->finished_build(0), gone, come)) << form.name;
            expect_same(c.program, interpret(after), execution->run_aggregate(main.views));
            EXPECT_EQ(change.after.empty() ? "empty" : form.name, execution->stats().joins.at(0).substr(0, 5));
            expect_same(c.program, interpret(c), former->run_aggregate(main.views)); // it is as it was
        }
        // A row that the table has not got, or not so often: nothing is changed, and the table can be built.
        const Case c = case_of({0, 2});
        const Loaded before = load(device(), c.program, 0, c.sources[0]);
        const Loaded main = load(device(), c.program, 1, c.sources[1]);
        const auto former = device().prepare(c.program, nullptr);
        former->run_build(0, before.views);
        former->finish_build(0);
        Chunk no_key = part(300, 1, false), far_key = part(499, 1, false), other = part(0, 1, false), null = other;
        other.columns[1][0].i += 1, other.columns[1][0].d += 1;
        null.columns[1][0].null = true;
        for (const std::vector<Chunk> &gone : std::vector<std::vector<Chunk>>{
                 {no_key}, {far_key}, {other}, {null}, {part(0, 1, false), part(0, 1, false)}}) {
            const Loaded lost = load(device(), c.program, 0, gone);
            device().prepare(c.program, nullptr)->run_build(0, lost.views); // (compiles)
            const auto execution = device().prepare(c.program, nullptr);
            EXPECT_FALSE(execution->change_build(0, former->finished_build(0), lost.views, {})) << form.name;
            execution->run_build(0, before.views);
            execution->finish_build(0);
            expect_same(c.program, interpret(c), execution->run_aggregate(main.views));
            EXPECT_TRUE(
                device().prepare(c.program, nullptr)->change_build(0, former->finished_build(0), {}, lost.views));
        }
    }
}

// So many equal rows that all of them would look at each other.
TEST_F(CudaDeviceTest, LongChainsAreBuilt) {
    const Chunk rows = chunk_of({numbers(5000, 1, 1), numbers(5000, 1, 1)});
    const Case c = join_case({chunk_of({numbers(10, 1, 2), numbers(10, 1, 9)})}, {rows}, Type::I32);
    const Loaded build = load(device(), c.program, 0, c.sources[0]);
    const auto former = device().prepare(c.program, nullptr), execution = device().prepare(c.program, nullptr);
    former->run_build(0, build.views);
    former->finish_build(0);
    EXPECT_FALSE(execution->change_build(0, former->finished_build(0), build.views, {}));
    EXPECT_TRUE(execution->change_build(0, former->finished_build(0), {}, build.views));
}

// Kernels that were compiled speculatively are those that run, and a program asks for them once. Where the bounds were too wide an
// execution makes do with them, and the right ones are compiled afterwards.
TEST_F(CudaDeviceTest, CompilesSpeculatively) {
    const std::string directory = testing::TempDir() + "gpuscan-speculate-" + std::to_string(getpid());
    std::filesystem::remove_all(directory);
    CudaOptions options;
    options.cache_dir = directory;
    const auto device = make_cuda_device(options);
    auto kernels = [&] {
        size_t count = 0;
        for (const auto &file : std::filesystem::directory_iterator(directory))
            count += file.path().extension() == ".cubin";
        return count;
    };
    auto become = [&](size_t wanted) {
        for (int i = 0; i < 6000 && kernels() < wanted; ++i)
            usleep(10 * 1000);
        return kernels();
    };
    size_t known = become(3); // of tables, decoding and packing
    const auto run = [&](const Case &c, Speculation speculation, const char *grouping, size_t speculative,
                         size_t right) {
        EXPECT_TRUE(device->prepare(c.program, nullptr)->wants_speculation());
        EXPECT_FALSE(device->prepare(c.program, nullptr)->wants_speculation());
        {
            const auto execution = device->prepare(c.program, nullptr);
            speculate(*device, c, c.program, *execution, speculation == Speculation::TooWide);
            EXPECT_EQ(become(known + speculative), known + speculative);
            const Loaded build = load(*device, c.program, 0, c.sources[0]);
            execution->run_build(0, build.views);
            execution->finish_build(0);
            const Loaded main = load(*device, c.program, 1, c.sources[1]);
            const GroupTable groups = execution->run_aggregate(main.views);
            EXPECT_EQ(kernels(), known + speculative); // it has waited for no other
            expect_same(c.program, interpret(c), groups);
            EXPECT_EQ(execution->stats().grouping, grouping);
            EXPECT_EQ(execution->stats().joins.at(0).substr(0, 5), "dense");
        }
        known += speculative + right;
        EXPECT_EQ(become(known), known);
        expect_same(c.program, interpret(c), run_on(*device, c));
        EXPECT_EQ(become(known), known);
    };
    const Chunk build = chunk_of({numbers(60, 1, 97), numbers(60, 3, 50)});
    const Chunk probe = chunk_of({numbers(5000, 7, 97), numbers(5000, 1, 1000)});
    run(join_case({probe}, {build}, Type::I32), Speculation::Right, "dense", 2, 0);
    // Fewer copies of 97 groups than of 697, and entries of two bytes instead of one: the table is widened once.
    run(join_case({probe}, {build}, Type::I64), Speculation::TooWide, "dense", 2, 1);
    std::filesystem::remove_all(directory);
}

TEST_F(CudaDeviceTest, IntervalJoins) {
    test::check_interval_joins(device(), 2000, 300);
    test::check_interval_edges(device());
}

TEST_F(CudaDeviceTest, JoinKinds) { test::check_join_kinds(device()); }
TEST_F(CudaDeviceTest, FewRowsWithManyPartners) { test::check_long_chains(device()); }

TEST_F(CudaDeviceTest, ManyMatchesPerRow) {
    std::vector<Datum> ones(5000);
    Case c = join_case({chunk_of({ones, numbers(5000, 1, 10)})}, {chunk_of({ones, numbers(5000, 1, 7)})}, Type::I32);
    GroupTable got = run_on(device(), c);
    ASSERT_EQ(1u, got.ngroups);
    EXPECT_EQ(25000000, got.states[0].count);
    EXPECT_EQ(5000u * 22500u, got.states[1].low);
}

// Tables that start too small: groups in one word and in several.
TEST_F(CudaDeviceTest, ManyGroups) {
    for (bool wide : {false, true}) {
        Builder b;
        Index t = b.source({Type::I32, Type::I64});
        Pipeline main;
        main.source = t;
        main.keys = b.list({b.column(wide ? Type::I64 : Type::I32, 0, wide ? 1 : 0)});
        main.aggregates = b.aggregates(
            {aggregate(AggregateKind::CountRows), aggregate(AggregateKind::Max, b.column(Type::I64, 0, 1))});
        b.p.pipelines = {main};
        Case c;
        c.program = b.p;
        const uint32_t groups = 1500000;
        std::vector<Datum> narrow(2 * groups), far(2 * groups);
        for (uint32_t i = 0; i < 2 * groups; ++i) {
            narrow[i].i = static_cast<int32_t>(static_cast<uint32_t>(i % groups) * 2654435761u);
            far[i].i = static_cast<int64_t>(i % groups) * 1000000000007;
        }
        Chunk chunk = chunk_of({narrow, far});
        chunk.ranged.assign(2, 0);
        c.sources = {{chunk}};
        ExecutionStats stats;
        GroupTable got = run_on(device(), c, nullptr, &stats);
        EXPECT_EQ("hash", stats.grouping);
        ASSERT_EQ(groups, got.ngroups);
        for (size_t g = 0; g < got.ngroups; ++g)
            ASSERT_EQ(2, got.states[2 * g].count);
        EXPECT_EQ(2u * groups, stats.rows_out);
    }
}

// Groups that a condition keeps out stay where they are: exactly those, where the kernel knows such conditions.
TEST_F(CudaDeviceTest, GroupConditions) {
    const uint32_t groups = 60000, rows = 4 * groups;
    std::vector<Datum> keys(rows), small(rows), large(rows), real(rows);
    for (uint32_t i = 0; i < rows; ++i) {
        const uint32_t g = i % groups, turn = i / groups;
        keys[i].i = turn == 3 && g % 4 == 0 ? 0 : static_cast<int64_t>(g) - 1000; // three rows, four, many
        small[i].null = turn >= g % 5;
        small[i].i = small[i].null ? 0 : static_cast<int>(g % 777) - 300 + static_cast<int>(turn);
        large[i].i = (g % 3 == 0 ? int128(INT64_MIN) : int128(INT64_MAX)) / 2 +
                     static_cast<int>(i % 100) * (g % 3 == 0 ? 1 : -1);
        real[i].d = g;
    }
    for (const bool hashed : {false, true})
        for (const bool floats : {false, true}) {
            GroupTuning tuning;
            if (hashed)
                tuning.dense_bytes = 0;
            shared().device->tune_groups(tuning);
            Builder b;
            Pipeline main;
            main.source = b.source({Type::I64, Type::I32, Type::I64, Type::F64});
            main.keys = b.list({b.column(Type::I64, 0, 0)});
            const Index v32 = b.column(Type::I32, 0, 1), v64 = b.column(Type::I64, 0, 2);
            std::vector<Aggregate> aggregates = {
                aggregate(AggregateKind::CountRows), aggregate(AggregateKind::Count, v32),
                aggregate(AggregateKind::Sum, v32),  aggregate(AggregateKind::Sum, v64),
                aggregate(AggregateKind::Min, v64),  aggregate(AggregateKind::Max, v32)};
            if (floats)
                aggregates.push_back(aggregate(AggregateKind::Sum, b.column(Type::F64, 0, 3)));
            main.aggregates = b.aggregates(aggregates);
            b.p.pipelines = {main};
            Case c;
            c.program = b.p;
            c.sources = {{chunk_of({keys, small, large, real})}};
            GroupTable all = run_on(device(), c);
            ASSERT_EQ(groups, all.ngroups);
            const size_t n = aggregates.size();
            const size_t bounds = static_cast<size_t>(
                std::find_if(all.keys.begin(), all.keys.end(), [](const Value &key) { return key.low == 31003; }) -
                all.keys.begin()); // whose values are the bounds
            ASSERT_LT(bounds, groups);

            const Op ops[] = {Op::Lt, Op::Le, Op::Eq, Op::Ne, Op::Ge, Op::Gt};
            const std::pair<Index, Index> columns[] = {{group_counts, 0}, {group_counts, 1}, {group_values, 2},
                                                       {group_values, 3}, {group_values, 4}, {group_values, 5}};
            for (size_t k = 0; k < 6; ++k) {
                SCOPED_TRACE(std::to_string(k) + (hashed ? ", hash" : ", dense") + (floats ? ", floats" : ""));
                const auto [step, a] = columns[k];
                const AggregateState &some = all.states[bounds * n + a];
                auto value = [&](const AggregateState &s) {
                    return step == group_counts
                               ? int128(s.count)
                               : static_cast<int128>((static_cast<uint128>(static_cast<uint64_t>(s.high)) << 64) |
                                                     s.low);
                };
                const Type type = step == group_counts || a == 4 ? Type::I64 : a == 5 ? Type::I32 : Type::I128;
                const int128 bound = value(some);
                Builder with = b;
                Datum wide;
                wide.i = bound;
                const Index constant = with.constant(Type::I128, wide);
                Index column = with.column(type, step, a);
                if (type != Type::I128)
                    column = with.unary(Op::Cast, Type::I128, column);
                const bool mirrored = k % 2 == 1;
                const Op op = ops[k];
                const Index first = mirrored ? with.binary(op, constant, column) : with.binary(op, column, constant);
                const Index second =
                    with.binary(Op::Ge, with.column(Type::I64, group_counts, 1), with.constant(Type::I64, 1));
                with.p.pipelines[0].having = with.list({first, second});
                Case sifted = c;
                sifted.program = with.p;
                auto execution = start_on(device(), sifted, nullptr);
                std::vector<int64_t> got;
                auto take = [&](const GroupTable &table) {
                    for (size_t g = 0; g < table.ngroups; ++g)
                        got.push_back(static_cast<int64_t>(table.keys[g].low));
                };
                each_pass(device(), sifted, [&](const std::vector<ChunkView> &views) {
                    take(execution->start_aggregate(views));
                    while (execution->groups_left() > 0)
                        take(execution->more_groups());
                });
                std::vector<int64_t> want;
                for (size_t g = 0; g < groups; ++g) {
                    const AggregateState &s = all.states[g * n + a];
                    const int128 left = mirrored ? bound : value(s), right = mirrored ? value(s) : bound;
                    const bool passes = op == Op::Lt   ? left < right
                                        : op == Op::Le ? left <= right
                                        : op == Op::Eq ? left == right
                                        : op == Op::Ne ? left != right
                                        : op == Op::Ge ? left >= right
                                                       : left > right;
                    const bool null = step == group_values && s.count == 0;
                    if (floats || (passes && !null && all.states[g * n + 1].count >= 1))
                        want.push_back(static_cast<int64_t>(all.keys[g].low));
                }
                std::sort(got.begin(), got.end());
                std::sort(want.begin(), want.end());
                EXPECT_TRUE(floats || (want.size() > 0 && want.size() < groups)) << want.size();
                EXPECT_EQ(want, got);
                EXPECT_EQ(groups - want.size(), execution->groups_dropped());
            }
        }
}

// Whatever a block keeps in shared memory, and whatever does not fit.
TEST_F(CudaDeviceTest, WaysOfGrouping) {
    const GroupTuning chosen;
    std::vector<std::pair<std::string, GroupTuning>> ways(8, {"", chosen});
    ways[0].first = "chosen";
    ways[1].first = "in device memory";
    ways[1].second.block_bytes = ways[1].second.large_bytes = 0;
    ways[1].second.cells = 0;
    ways[1].second.few_groups = 0;
    ways[1].second.kept_groups = 7;
    ways[2].first = "one copy";
    ways[2].second.copies = 1;
    ways[3].first = "large blocks";
    ways[3].second.min_copies = 1u << 20;
    ways[4].first = "four cells";
    ways[4].second.block_bytes = 1024;
    ways[4].second.large_bytes = 0;
    ways[4].second.cells = 4;
    ways[4].second.cell_copies = 1;
    ways[5].first = "row by row, in parts";
    ways[5].second.side_by_side = false;
    ways[5].second.min_slots = 64;
    ways[5].second.table_bytes = 16384;
    ways[6].first = "counted first";
    ways[6].second.counted_rows = 0;
    ways[7].first = "no dense table";
    ways[7].second.dense_bytes = 0;
    const std::vector<GroupingCase> cases = grouping_cases();
    for (const auto &[name, tuning] : ways) {
        SCOPED_TRACE(name);
        shared().device->tune_groups(tuning);
        run_grouping_cases(device(), cases);
    }
}

// By bits where a group has a number and values lie close together.
TEST_F(CudaDeviceTest, DistinctValues) {
    // Groups have no number that is far apart; floats and what 64 bits do not hold have no bounds.
    const auto can_note = [&](const DistinctCase &c) {
        return std::none_of(c.keys.begin(), c.keys.end(), [](Index key) { return key == 3 || key == 5 || key == 6; }) &&
               std::none_of(c.arguments.begin(), c.arguments.end(), [](Index a) { return a == 5 || a == 6; });
    };
    run_distinct_cases(device(), 5000, can_note);
    GroupTuning tuning;
    tuning.block_bytes = 1024; // groups in device memory
    tuning.large_bytes = 0;
    shared().device->tune_groups(tuning);
    run_distinct_cases(device(), 3000, can_note);
    tuning.bits = {0, 0, 0}; // sets
    shared().device->tune_groups(tuning);
    run_distinct_cases(device(), 3000, can_note);
    tuning.noted_bytes = 0;
    shared().device->tune_groups(tuning);
    run_distinct_cases(device(), 500, [](const DistinctCase &) { return false; });
}

TEST_F(CudaDeviceTest, FloatSums) { // infinities are values, overflow is an error
    Builder b;
    Index t = b.source({Type::F64});
    Pipeline main;
    main.source = t;
    main.aggregates = b.aggregates({aggregate(AggregateKind::Sum, b.column(Type::F64, 0, 0))});
    b.p.pipelines = {main};
    Case c;
    c.program = b.p;
    std::vector<Datum> v(100);
    v[50].d = INFINITY;
    c.sources = {{chunk_of({v})}};
    expect_same(c.program, interpret(c), run_on(device(), c));
    v[50].d = v[51].d = 1.7e308;
    c.sources = {{chunk_of({v})}};
    EXPECT_THROW(run_on(device(), c), RowError);
}

// Of constants, then of a column: an assembler keeps half of the bits of what it chooses between words (sem::narrow).
TEST_F(CudaDeviceTest, LeastAndGreatest) {
    for (Type type : {Type::I16, Type::I32, Type::I64})
        for (Op op : {Op::Gt, Op::Ge, Op::Lt, Op::Le}) {
            Builder b;
            const Index source = b.source({type}), column = b.column(type, 0, 0);
            auto chosen = [&](Index x, Index y) { return b.add({Op::Case, type, 0, b.binary(op, x, y), y, x}); };
            const int64_t far = type == Type::I16 ? 30000 : 1000000000;
            const Index constant = chosen(b.constant(type, -far), b.constant(type, 5));
            Pipeline main;
            main.source = source;
            main.aggregates = b.aggregates({aggregate(AggregateKind::Max, chosen(constant, column)),
                                            aggregate(AggregateKind::Min, chosen(constant, column))});
            b.p.pipelines = {main};
            Case c;
            c.program = b.p;
            c.sources = {{chunk_of({numbers(3000, 1, 100)})}};
            expect_same(c.program, interpret(c), run_on(device(), c));
        }
}

TEST_F(CudaDeviceTest, Cancel) {
    std::vector<Datum> ones(20000);
    Case c = join_case({chunk_of({ones, ones})}, {chunk_of({ones, ones})}, Type::I32);
    std::atomic<uint32_t> cancel{1};
    EXPECT_THROW(run_on(device(), c, &cancel), Cancelled);
    cancel = 0;
    std::vector<Datum> many(4000000); // 8e10 pairs
    Case long_case = join_case({chunk_of({many, many})}, {chunk_of({ones, ones})}, Type::I32);
    run_on(device(), c); // compiled now
    std::thread canceller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        cancel = 1;
    });
    EXPECT_THROW(run_on(device(), long_case, &cancel), Cancelled);
    canceller.join();
    expect_same(c.program, interpret(join_case({}, {}, Type::I32)), run_on(device(), join_case({}, {}, Type::I32)));
}

// A run that is cancelled while another fills the GPU, and that one, which must not wait for the first.
TEST_F(CudaDeviceTest, CancelSideBySide) {
    std::vector<Datum> ones(2000000), many(1000000); // 2e12 pairs in one kernel: ten seconds on an H100
    const Case c = join_case({chunk_of({many, many})}, {chunk_of({ones, ones})}, Type::I32);
    std::atomic<uint32_t> cancel[2] = {{0}, {0}};
    std::chrono::steady_clock::time_point noticed[2];
    std::vector<std::thread> runs;
    for (int i = 0; i < 2; ++i) {
        runs.emplace_back([&, i] {
            EXPECT_THROW(run_on(device(), c, &cancel[i]), Cancelled);
            noticed[i] = std::chrono::steady_clock::now();
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(2500)); // loading takes most of it
    }
    cancel[1] = 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto asked = std::chrono::steady_clock::now();
    cancel[0] = 1;
    for (std::thread &run : runs)
        run.join();
    for (const auto &when : noticed) // far from the end of either kernel
        EXPECT_LT(when - asked, std::chrono::seconds(3));
}

TEST_F(CudaDeviceTest, MemoryLimit) {
    run_on(device(), join_case({chunk_of({numbers(10, 1, 10), numbers(10, 1, 10)})}, {}, Type::I32)); // makes lanes
    const DeviceInfo before = device().info();
    device().set_memory_limit(before.memory_used + (1 << 20));
    EXPECT_THROW(device().allocate(2 << 20), OutOfDeviceMemory);
    {
        BufferRef a = device().allocate(1 << 19);
        EXPECT_EQ(before.memory_used + (1 << 19), device().info().memory_used);
    }
    std::vector<Datum> v(1000000);
    EXPECT_THROW(run_on(device(), join_case({chunk_of({v, v})}, {}, Type::I32)), OutOfDeviceMemory);
    device().set_memory_limit(before.memory_total);
    EXPECT_EQ(before.memory_used, device().info().memory_used);
    EXPECT_THROW(device().allocate(before.memory_total + 1), OutOfDeviceMemory);
    run_on(device(), join_case({chunk_of({numbers(10, 1, 10), numbers(10, 1, 10)})}, {}, Type::I32));
}

// What a failed run has told its kernels must not reach those of the next try.
TEST_F(CudaDeviceTest, SecondTryAfterTooLittleMemory) {
    Builder b;
    const Index u = b.source({Type::I32}), t = b.source({Type::I32, Type::I32});
    Pipeline build, main;
    build.source = u;
    build.sink = SinkKind::Build;
    build.keys = b.list({b.column(Type::I32, 0, 0)});
    build.payload = b.list({b.column(Type::I32, 0, 0)});
    main.source = t;
    main.joins = b.joins({{0, b.list({b.column(Type::I32, 0, 0)})}});
    main.keys = b.list({b.column(Type::I32, 0, 1)});
    main.aggregates = b.aggregates({aggregate(AggregateKind::CountRows)});
    b.p.pipelines = {build, main};
    Case c;
    c.program = b.p;
    const uint32_t rows = 1500;
    Chunk probe = chunk_of({std::vector<Datum>(rows), numbers(rows, 97, 1000000)}); // a table of 1.1 MB
    probe.mask.assign(rows, true);
    probe.mask[7] = false;
    c.sources = {{chunk_of({std::vector<Datum>(3000)})}, {probe}};
    auto execution = start_on(device(), c, nullptr);
    const Loaded data = load(device(), c.program, t, c.sources[t]);
    const size_t limit = device().info().memory_limit;
    device().set_memory_limit(device().info().memory_used + (64 << 10));
    EXPECT_THROW(execution->run_aggregate(data.views), OutOfDeviceMemory);
    device().set_memory_limit(limit);
    expect_same(c.program, interpret(c), execution->run_aggregate(data.views));
}

TEST_F(CudaDeviceTest, GroupsCountAsWorkMemory) {
    Builder b;
    const Index t = b.source({Type::I64});
    Pipeline main;
    main.source = t;
    main.keys = b.list({b.column(Type::I64, 0, 0)});
    main.aggregates = b.aggregates({aggregate(AggregateKind::CountRows)});
    b.p.pipelines = {main};
    Case c;
    c.program = b.p;
    c.sources = {{chunk_of({numbers(60000, 1000000007, INT64_MAX)})}};
    auto execution = start_on(device(), c, nullptr);
    const Loaded data = load(device(), c.program, t, c.sources[t]);
    const WorkMemoryRef &memory = device().work_memory();
    memory->set_limit(size_t(1) << 20);
    EXPECT_THROW(execution->run_aggregate(data.views), OutOfWorkMemory);
    memory->set_limit(SIZE_MAX);
    EXPECT_EQ(0u, memory->used());
    const GroupTable groups = execution->run_aggregate(data.views);
    EXPECT_EQ(60000u, groups.ngroups);
    EXPECT_GE(memory->used(), groups.keys.bytes() + groups.states.bytes());
}

// A lane has been used before, and nothing must be taken from that.
TEST_F(CudaDeviceTest, NothingIsDoneInNoTime) {
    Builder b;
    const Index t = b.source({Type::I64});
    Pipeline main;
    main.source = t;
    main.aggregates = b.aggregates({aggregate(AggregateKind::CountRows)});
    b.p.pipelines = {main};
    for (const size_t rows : {60000, 0}) {
        Case c;
        c.program = b.p;
        if (rows > 0)
            c.sources = {{chunk_of({numbers(rows, 7, 100)})}};
        else
            c.sources = {{}};
        auto execution = start_on(device(), c, nullptr);
        const Loaded data = load(device(), c.program, t, c.sources[t]);
        expect_same(c.program, interpret(c), execution->run_aggregate(data.views));
        EXPECT_EQ(rows > 0, execution->stats().kernel_us > 0);
    }
}

// Pieces that others have freed are handed out again, each to one owner, and nothing stays in the account.
TEST_F(CudaDeviceTest, FreedPiecesAreUsedAgain) {
    device().fill(*device().allocate(1), 0, 0, 1); // makes a stream context
    const size_t before = device().info().memory_used;
    for (int round = 0; round < 3; ++round) {
        std::vector<BufferRef> pieces;
        for (size_t i = 0; i < 60; ++i) {
            pieces.push_back(device().allocate(1 + i * i * i * 24)); // up to 4.9 MB
            device().fill(*pieces[i], 0, static_cast<uint8_t>(i + round), pieces[i]->size);
            if (i % 3 == 2) { // one in the middle goes, and comes again
                const size_t size = pieces[i - 1]->size;
                pieces[i - 1].reset();
                pieces[i - 1] = device().allocate(size);
                device().fill(*pieces[i - 1], 0, static_cast<uint8_t>(i - 1 + round), size);
            }
        }
        for (size_t i = 0; i < pieces.size(); ++i) {
            std::vector<uint8_t> got(pieces[i]->size);
            device().download(got.data(), *pieces[i], 0, got.size());
            EXPECT_EQ(std::vector<uint8_t>(got.size(), static_cast<uint8_t>(i + round)), got) << i;
        }
    }
    EXPECT_EQ(before, device().info().memory_used);
    device().set_memory_limit(before + 4096);
    EXPECT_THROW(device().allocate(8192), OutOfDeviceMemory); // what is kept is no room either
    device().set_memory_limit(device().info().memory_total);
    EXPECT_EQ(200u, device().allocate(200)->size);
}

// From any byte to the end, and not a byte before.
TEST_F(CudaDeviceTest, ZerosEnds) {
    std::vector<BufferEnd> ends;
    for (const size_t size : {1, 15, 16, 17, 4095, 65536, 65552, 200001, 5 << 20})
        for (const size_t from : {size_t(0), size_t(1), size_t(14), size_t(16), size / 2 + 1, size})
            if (from <= size) {
                ends.push_back({device().allocate(size), from});
                device().fill(*ends.back().buffer, 0, 7, size);
            }
    device().pack({}, ends);
    device().pack({}, {});
    for (const BufferEnd &end : ends) {
        std::vector<uint8_t> expected(end.buffer->size, 0), got(end.buffer->size);
        std::fill_n(expected.begin(), end.from, uint8_t(7));
        device().download(got.data(), *end.buffer, 0, got.size());
        EXPECT_EQ(expected, got) << end.buffer->size << " from " << end.from;
    }
}

// Masks of one piece and of several, with ranges that lie in words, over them, and over pieces.
TEST_F(CudaDeviceTest, CopiesMasks) {
    std::mt19937 random(9);
    auto host = make_host_device(1);
    for (const size_t words : {size_t(1), size_t(100), size_t(4096), size_t(9001)}) {
        std::vector<uint64_t> bits(words);
        for (uint64_t &word : bits)
            word = (uint64_t(random()) << 32 | random()) | 1;
        const size_t bytes = words * sizeof(uint64_t);
        for (const uint32_t longest : {0u, 5u, 200u, 300000u}) {
            std::vector<RowRange> without;
            for (uint32_t row = random() % 64; longest > 0 && row < words * 64;) {
                const uint32_t end =
                    std::min<uint32_t>(row + 1 + random() % longest, static_cast<uint32_t>(words * 64));
                without.push_back({row, end});
                row = end + 1 + random() % (2 * longest);
            }
            std::vector<uint64_t> want(words), got(words);
            for (Device *on : {host.get(), static_cast<Device *>(&device())}) {
                const BufferRef from = on->allocate(bytes), to = on->allocate(bytes);
                on->upload(*from, 0, bits.data(), bytes);
                on->copy_mask(*to, *from, bytes, without);
                on->download(on == host.get() ? want.data() : got.data(), *to, 0, bytes);
            }
            EXPECT_EQ(want, got) << words << " words, ranges of " << longest;
            EXPECT_TRUE(want != bits || without.empty() || words == 1); // (whose bits may all be 0)
        }
    }
}

TEST_F(CudaDeviceTest, Copies) {
    std::vector<uint8_t> bytes(40 << 20);
    std::mt19937 random(3);
    for (uint8_t &b : bytes)
        b = static_cast<uint8_t>(random());
    BufferRef a = device().allocate(bytes.size());
    BufferRef b = device().allocate(bytes.size());
    device().upload(*a, 0, bytes.data(), bytes.size());
    device().copy(*b, 100, *a, 0, bytes.size() - 100);
    device().fill(*b, 0, 7, 100);
    std::vector<uint8_t> got(bytes.size());
    device().download(got.data(), *b, 0, got.size());
    EXPECT_EQ(std::vector<uint8_t>(100, 7), std::vector<uint8_t>(got.begin(), got.begin() + 100));
    EXPECT_EQ(0, memcmp(got.data() + 100, bytes.data(), bytes.size() - 100));
    EXPECT_THROW(device().upload(*a, bytes.size() - 1, bytes.data(), 2), DeviceError);
}

// ---- the pool is read-only for the GPU -----------------------------------------------------------------------------

constexpr size_t fault_bytes = 1 << 20;

uint8_t *map_fault_file(const char *path) {
    const int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, fault_bytes) != 0)
        return nullptr;
    void *memory = mmap(nullptr, fault_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<uint8_t *>(memory);
}

// Runs in a process of its own (a context that met a fault is lost): writes to the registered pool.
TEST(CudaFault, Child) {
    const char *path = getenv("GPUSCAN_FAULT_FILE");
    if (!path)
        GTEST_SKIP() << "started by PoolIsReadOnly";
    uint8_t *const pool = map_fault_file(path);
    ASSERT_NE(nullptr, pool);
    CudaOptions options;
    options.pool = pool;
    options.pool_bytes = fault_bytes;
    auto device = make_cuda_device(options);
    ASSERT_EQ("", device->register_note);
    BufferRef buffer = device->allocate(16); // makes the context current
    auto driver = cuda::Driver::open();
    cuda::CUdeviceptr address = 0;
    driver->check(driver->cuMemHostGetDevicePointer(&address, pool, 0), "cuMemHostGetDevicePointer");
    cuda::Compiler compiler(cuda::Nvrtc::open());
    int major = 0, minor = 0;
    driver->cuDeviceGetAttribute(&major, cuda::attribute_compute_major, 0);
    driver->cuDeviceGetAttribute(&minor, cuda::attribute_compute_minor, 0);
    const std::string image = compiler.compile(
        "extern \"C\" __global__ void poke(unsigned long long a) { ((volatile int *)a)[threadIdx.x] = 42; }\n",
        major * 10 + minor);
    cuda::CUmodule module = nullptr;
    cuda::CUfunction function = nullptr;
    driver->check(driver->cuModuleLoadData(&module, image.data()), "cuModuleLoadData");
    driver->check(driver->cuModuleGetFunction(&function, module, "poke"), "cuModuleGetFunction");
    void *arguments[] = {&address};
    driver->check(driver->cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr), "launch");
    EXPECT_THROW(driver->check(driver->cuStreamSynchronize(nullptr), "sync"), DeviceLost);
    uint8_t bytes[16];
    EXPECT_THROW(device->download(bytes, *buffer, 0, 16), DeviceLost);
    _exit(HasFailure() ? 1 : 42); // nothing of this context can be torn down
}

TEST_F(CudaDeviceTest, PoolIsReadOnly) {
    const std::string path = "/dev/shm/gpuscan-fault-" + std::to_string(getpid());
    uint8_t *const pool = map_fault_file(path.c_str());
    ASSERT_NE(nullptr, pool);
    memset(pool, 0x5a, fault_bytes);
    const std::string command =
        "GPUSCAN_FAULT_FILE=" + path + " /proc/" + std::to_string(getpid()) + "/exe --gtest_filter=CudaFault.Child";
    const int status = system(command.c_str());
    unlink(path.c_str());
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(42, WEXITSTATUS(status));
    for (size_t i = 0; i < fault_bytes; ++i)
        ASSERT_EQ(0x5a, pool[i]);
    munmap(pool, fault_bytes);
}

} // namespace
} // namespace gpuscan
