// The host device against the reference interpreter, and what the interpreter cannot say: errors, cancel, memory.
#include <thread>

#include "distinct_cases.hpp"
#include "grouping_cases.hpp"
#include "host/host_device.hpp"
#include "interval_cases.hpp"
#include "join_cases.hpp"
#include "random_cases.hpp"
#include "row_cases.hpp"

namespace gpuscan {
namespace {

using namespace reference;

TEST(HostDevice, RandomPrograms) {
    auto device = make_host_device(3);
    size_t errors = 0;
    for (uint64_t seed = 1; seed <= 3000 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        errors += check(*device, random_case(seed));
    }
    EXPECT_LT(errors, 1500u);
    EXPECT_EQ(0u, device->info().memory_used);
}

TEST(HostDevice, RandomProgramsNearTheLimits) {
    auto device = make_host_device(2);
    size_t errors = 0;
    for (uint64_t seed = 1; seed <= 1500 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        errors += check(*device, random_case(seed, true));
    }
    EXPECT_GT(errors, 100u);
}

TEST(HostDevice, RandomRows) {
    auto device = make_host_device(3);
    for (bool wild : {false, true})
        for (uint64_t seed = 1; seed <= 1500 && !HasFailure(); ++seed) {
            SCOPED_TRACE("seed " + std::to_string(seed));
            check(*device, random_rows(seed, wild));
        }
    EXPECT_EQ(0u, device->work_memory()->used());
}

TEST(HostDevice, Rows) {
    for (unsigned threads : {1u, 3u}) {
        auto device = make_host_device(threads);
        check_match_rates(*device);
        check_rows_without_columns(*device);
        check_many_matches(*device, 3000, 301);
        check_wide_rows(*device);
        check_limits(*device);
        check_row_memory(*device);
        check_row_errors(*device);
        EXPECT_EQ(0u, device->work_memory()->used());
    }
}

std::string join_form(Device &device, const Case &c) {
    ExecutionStats stats;
    Expected want = interpret(c);
    expect_same(c.program, want, run_on(device, c, nullptr, &stats));
    return stats.joins.at(0).substr(0, 5);
}

TEST(HostDevice, JoinForms) {
    auto device = make_host_device(2);
    Chunk probe = chunk_of({numbers(5000, 7, 97), numbers(5000, 1, 1000)});
    EXPECT_EQ("dense",
              join_form(*device, join_case({probe}, {chunk_of({numbers(60, 1, 97), numbers(60, 3, 50)})}, Type::I32)));
    // duplicates on both sides
    EXPECT_EQ("dense", join_form(*device, join_case({probe}, {chunk_of({numbers(200, 1, 50), numbers(200, 3, 50)})},
                                                    Type::I64)));
    auto spread = [](Chunk c) {
        for (Datum &d : c.columns[0])
            d.i = d.i * 1000003 - 500000;
        return c;
    };
    EXPECT_EQ("hash ",
              join_form(*device, join_case({spread(probe)},
                                           {spread(chunk_of({numbers(60, 1, 97), numbers(60, 3, 50)}))}, Type::I32)));
    EXPECT_EQ("hash ",
              join_form(*device, join_case({spread(probe)},
                                           {spread(chunk_of({numbers(200, 1, 50), numbers(200, 3, 50)}))}, Type::I64)));
    auto wide = [](Chunk c) {
        for (Datum &d : c.columns[0])
            d.i = (d.i - 20) * (static_cast<int128>(1) << 90);
        return c;
    };
    EXPECT_EQ("hash ",
              join_form(*device, join_case({wide(probe)}, {wide(chunk_of({numbers(200, 1, 50), numbers(200, 3, 50)}))},
                                           Type::I128)));
    EXPECT_EQ("empty", join_form(*device, join_case({probe}, {}, Type::I32)));
}

TEST(HostDevice, JoinKinds) { test::check_join_kinds(*make_host_device(2)); }
TEST(HostDevice, FewRowsWithManyPartners) { test::check_long_chains(*make_host_device(3)); }

TEST(HostDevice, IntervalJoins) {
    auto device = make_host_device(3);
    test::check_interval_joins(*device, 150000, 200); // several pieces of one key are merged
    test::check_interval_joins(*device, 1, 3);
    test::check_interval_edges(*device);
    EXPECT_EQ(0u, device->work_memory()->used());
}

TEST(HostDevice, ManyMatchesPerRow) { // far more than a batch, for one probe row
    auto device = make_host_device(2);
    std::vector<Datum> ones(5000);
    Case c = join_case({chunk_of({ones, numbers(5000, 1, 10)})}, {chunk_of({ones, numbers(5000, 1, 7)})}, Type::I32);
    GroupTable got = run_on(*device, c);
    ASSERT_EQ(1u, got.ngroups);
    EXPECT_EQ(25000000, got.states[0].count);
    EXPECT_EQ(5000u * 22500u, got.states[1].low);
}

TEST(HostDevice, ManyGroups) { // hash grouping grows; threads' groups are merged
    auto device = make_host_device(3);
    Builder b;
    Index t = b.source({Type::I64});
    Pipeline main;
    main.source = t;
    main.keys = b.list({b.column(Type::I64, 0, 0)});
    main.aggregates = b.aggregates({aggregate(AggregateKind::CountRows)});
    b.p.pipelines = {main};
    Case c;
    c.program = b.p;
    std::vector<Datum> keys(300000);
    for (size_t i = 0; i < keys.size(); ++i)
        keys[i].i = static_cast<int128>(i % 150000) * 1000000007;
    c.sources = {{chunk_of({keys})}};
    ExecutionStats stats;
    GroupTable got = run_on(*device, c, nullptr, &stats);
    EXPECT_EQ("hash", stats.grouping);
    ASSERT_EQ(150000u, got.ngroups);
    for (const AggregateState &s : got.states)
        ASSERT_EQ(2, s.count);
    EXPECT_EQ(300000u, stats.rows_in);
    EXPECT_EQ(300000u, stats.rows_out);
}

TEST(HostDevice, WaysOfGrouping) {
    for (unsigned threads : {1u, 3u}) {
        auto device = make_host_device(threads);
        run_grouping_cases(*device, grouping_cases(9000));
    }
}

TEST(HostDevice, FloatSums) { // infinities are values, overflow is an error
    auto device = make_host_device(1);
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
    expect_same(c.program, interpret(c), run_on(*device, c));
    v[50].d = v[51].d = 1.7e308;
    c.sources = {{chunk_of({v})}};
    EXPECT_THROW(run_on(*device, c), RowError);
}

TEST(HostDevice, Cancel) {
    auto device = make_host_device(2);
    std::vector<Datum> ones(20000);
    Case c = join_case({chunk_of({ones, ones})}, {chunk_of({ones, ones})}, Type::I32);
    std::atomic<uint32_t> cancel{1};
    EXPECT_THROW(run_on(*device, c, &cancel), Cancelled);
    cancel = 0;
    std::thread canceller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        cancel = 1;
    });
    std::vector<Datum> many(1000000); // 2e10 pairs
    Case long_case = join_case({chunk_of({many, many})}, {chunk_of({ones, ones})}, Type::I32);
    EXPECT_THROW(run_on(*device, long_case, &cancel), Cancelled);
    canceller.join();
}

// Processor time of all threads, which a busy machine does not lengthen as it does the clock's.
std::chrono::nanoseconds processor_time() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

// Cancels after some time, and says what has been computed since then.
class Canceller {
  public:
    explicit Canceller(int microseconds)
        : thread_([this, microseconds] {
              std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
              asked_ = processor_time();
              flag = 1;
          }) {}
    ~Canceller() { join(); }
    // Processor time spent since then; negative when it is still to come.
    std::chrono::nanoseconds spent() {
        const auto now = processor_time();
        join();
        return now - asked_;
    }
    std::atomic<uint32_t> flag{0};

  private:
    void join() {
        if (thread_.joinable())
            thread_.join();
    }
    std::chrono::nanoseconds asked_{0};
    std::thread thread_;
};

// A chunk in device memory whose only I64 column (or first of two) is i * step % modulo; `ranged`: and that is known of it.
struct Sequence {
    Sequence(Device &device, uint32_t n, uint64_t step, uint64_t modulo, size_t columns, bool ranged = false) {
        values = device.allocate(size_t(n) * 8);
        int64_t *v = static_cast<int64_t *>(values->data);
        for (uint32_t i = 0; i < n; ++i)
            v[i] = static_cast<int64_t>(i * step % modulo);
        view.nrows = n;
        ColumnView column;
        column.type = Type::I64;
        column.values = values->data;
        column.has_range = ranged;
        column.max = static_cast<int64_t>(modulo - 1);
        view.columns.assign(columns, column);
    }
    BufferRef values;
    ChunkView view;
};

// select k, count(*), sum(v) group by k; and the same with a join t.k = u.k whose payload is summed.
Program grouping_program(bool joined) {
    Builder b;
    Pipeline build, main;
    if (joined) {
        build.source = b.source({Type::I64, Type::I64});
        build.sink = SinkKind::Build;
        build.keys = b.list({b.column(Type::I64, 0, 0)});
        build.payload = b.list({b.column(Type::I64, 0, 1)});
    }
    main.source = b.source({Type::I64, Type::I64});
    Index k = b.column(Type::I64, 0, 0);
    if (joined)
        main.joins = b.joins({{0, b.list({k})}});
    else
        main.keys = b.list({k});
    main.aggregates =
        b.aggregates({aggregate(AggregateKind::CountRows),
                      aggregate(AggregateKind::Sum, b.column(Type::I64, joined ? 1 : 0, joined ? 0 : 1))});
    b.p.pipelines = joined ? std::vector<Pipeline>{build, main} : std::vector<Pipeline>{main};
    return b.p;
}

// In every form of grouping: by number, by a table of all numbers from the start or from some group on (by threads that come so far),
// by a hash table of numbers, and of words.
TEST(HostDevice, GroupsOfThreadsAreMerged) {
    constexpr uint32_t n = 400000;
    for (unsigned threads : {1u, 2u, 5u})
        for (uint64_t step : {1u, 40u, 1003u, 1000003u})
            for (uint64_t distinct : {3u, 5000u, 300000u}) {
                SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(distinct) + " groups, step " +
                             std::to_string(step));
                auto device = make_host_device(threads);
                Sequence rows(*device, n, step, distinct * step, 2, true);
                auto execution = device->prepare(grouping_program(false), nullptr);
                GroupTable got = execution->run_aggregate({rows.view});
                EXPECT_EQ(distinct * step < UINT32_MAX ? "dense" : "hash", execution->stats().grouping);
                ASSERT_EQ(distinct, got.ngroups);
                std::vector<bool> seen(distinct);
                for (size_t g = 0; g < got.ngroups; ++g) {
                    ASSERT_EQ(0u, got.keys[g].low % step);
                    const uint64_t key = got.keys[g].low / step;
                    ASSERT_LT(key, distinct);
                    EXPECT_FALSE(seen[key]);
                    seen[key] = true;
                    const int64_t rows_of = static_cast<int64_t>(n / distinct + (key < n % distinct));
                    ASSERT_EQ(rows_of, got.states[2 * g].count);
                    ASSERT_EQ(got.keys[g].low * static_cast<uint64_t>(rows_of), got.states[2 * g + 1].low);
                }
                EXPECT_GT(device->work_memory()->used(), distinct * 64);
                got = GroupTable();
                execution.reset();
                EXPECT_EQ(0u, device->work_memory()->used());
            }
}

// Where all threads know a group's number: by bits where values lie close together, else by sets.
TEST(HostDevice, DistinctValues) {
    const auto by_number = [](const DistinctCase &c) {
        const auto is_far = [](Index column) { return column == 3 || column == 5 || column == 6; };
        return std::none_of(c.keys.begin(), c.keys.end(), is_far);
    };
    for (unsigned threads : {1u, 3u}) {
        auto device = make_host_device(threads);
        run_distinct_cases(*device, 60000, by_number);
        EXPECT_EQ(0u, device->work_memory()->used());
        run_distinct_cases(*device, 900, by_number); // (too few rows for 640 bytes of bits a group)
    }
}

// A table of all numbers is made where there is memory for it.
TEST(HostDevice, GroupsWithoutMemoryForAllNumbers) {
    auto device = make_host_device(1);
    constexpr size_t megabyte = 1 << 20, limit = 80 * megabyte, taken = limit - 7 * megabyte / 2;
    constexpr uint64_t step = 50, distinct = 20000; // so many groups are worth a table of 4 MB
    device->work_memory()->set_limit(limit);
    Sequence rows(*device, 400000, step, step * distinct, 2, true);
    for (size_t used : {size_t(0), taken}) {
        device->work_memory()->charge(used);
        auto execution = device->prepare(grouping_program(false), nullptr);
        EXPECT_EQ(distinct, execution->run_aggregate({rows.view}).ngroups);
        EXPECT_EQ("dense", execution->stats().grouping);
        execution.reset();
        device->work_memory()->release(used);
    }
}

// Dense groupings of two keys: every number has its states, or (a larger domain) only those that were met.
TEST(HostDevice, DenseGroups) {
    for (unsigned threads : {1u, 3u})
        for (int64_t domain : {5000, 60000, 5000000}) {
            SCOPED_TRACE(std::to_string(threads) + " threads, domain " + std::to_string(domain));
            auto device = make_host_device(threads);
            Builder b;
            Index t = b.source({Type::I32, Type::I16, Type::F64, Type::I64});
            Pipeline main;
            main.source = t;
            main.keys = b.list({b.column(Type::I32, 0, 0), b.column(Type::I16, 0, 1)});
            main.aggregates = b.aggregates({aggregate(AggregateKind::CountRows),
                                            aggregate(AggregateKind::Sum, b.column(Type::I32, 0, 0)),
                                            aggregate(AggregateKind::Min, b.column(Type::F64, 0, 2)),
                                            aggregate(AggregateKind::Max, b.column(Type::I64, 0, 3))});
            b.p.pipelines = {main};
            Case c;
            c.program = b.p;
            constexpr uint32_t n = 200000;
            std::vector<Datum> low = numbers(n, 17 * 83, domain / 5), high = numbers(n, 1, 3), real(n);
            for (uint32_t i = 0; i < n; ++i) {
                low[i].i -= 77;
                low[i].null = i % 1000 == 0;
                high[i].null = i % 999 == 0;
                real[i].d = i % 500 - 250.5;
            }
            c.sources = {{chunk_of({low, high, real, numbers(n, 3, 1000)})}};
            ExecutionStats stats;
            expect_same(c.program, interpret(c), run_on(*device, c, nullptr, &stats));
            EXPECT_EQ("dense", stats.grouping);
        }
}

// Every form of a table of many rows, with and without duplicates: built by several threads from several pieces.
TEST(HostDevice, LargeBuilds) {
    constexpr uint32_t n = 150000;
    struct Form {
        const char *name;
        uint64_t step, modulo;
        Type type;
    };
    const Form forms[] = {
        {"bitmap", 1, n, Type::I64},
        {"dense", 1, n / 3, Type::I64},
        {"hash, unique", 1000003, uint64_t(n) * 1000003, Type::I64},
        {"hash", 1000003, uint64_t(n / 3) * 1000003, Type::I64},
        {"wide, unique", 1, n, Type::I128},
        {"wide", 1, n / 3, Type::I128},
    };
    for (unsigned threads : {1u, 4u})
        for (const Form &form : forms) {
            SCOPED_TRACE(std::string(form.name) + ", " + std::to_string(threads) + " threads");
            auto device = make_host_device(threads);
            const int128 factor = form.type == Type::I128 ? int128(1) << 70 : 1;
            Chunk build, probe;
            build.nrows = n;
            probe.nrows = 1000;
            build.columns.resize(2);
            probe.columns.resize(2);
            build.ranged = probe.ranged = {0, 0};
            const uint64_t distinct = form.modulo / form.step;
            std::vector<uint64_t> probes(distinct); // by number of the key
            for (uint32_t i = 0; i < n; ++i) {
                Datum key, payload;
                key.i = static_cast<int128>(i % distinct * form.step) * factor;
                payload.i = static_cast<int128>(i % 70000);
                payload.null = i % 10 == 9;
                build.columns[0].push_back(key);
                build.columns[1].push_back(payload);
                if (i % 100 == 0 && probe.columns[0].size() < probe.nrows) {
                    probe.columns[0].push_back(key);
                    ++probes[i % distinct];
                }
            }
            uint64_t want = 0;
            for (uint32_t i = 0; i < n; ++i)
                want += i % 10 == 9 ? 0 : i % 70000 * probes[i % distinct];
            probe.columns[1].resize(probe.nrows);
            Case c = join_case({probe}, {build}, form.type);
            c.program.pipelines.back().keys.count = 0;
            GroupTable got = run_on(*device, c);
            ASSERT_EQ(1u, got.ngroups);
            EXPECT_EQ(want, got.states[2].low);
            EXPECT_EQ(0u, device->info().memory_used);
            got = GroupTable();
            EXPECT_EQ(0u, device->work_memory()->used());
        }
}

TEST(HostDevice, WorkMemoryLimit) {
    for (unsigned threads : {1u, 3u}) {
        auto device = make_host_device(threads);
        Sequence rows(*device, 200000, 1000003, uint64_t(200000) * 1000003, 2);
        device->work_memory()->set_limit(size_t(4) << 20);
        {
            auto execution = device->prepare(grouping_program(false), nullptr);
            EXPECT_THROW(execution->run_aggregate({rows.view}), OutOfWorkMemory);
        }
        EXPECT_EQ(0u, device->work_memory()->used());
        {
            auto execution = device->prepare(grouping_program(true), nullptr);
            EXPECT_THROW( // the collected rows fit: 3.2 MB (and room to grow)
                {
                    execution->run_build(0, {rows.view});
                    execution->finish_build(0);
                },
                OutOfWorkMemory);
        }
        EXPECT_EQ(0u, device->work_memory()->used());
        device->work_memory()->set_limit(size_t(64) << 20);
        auto execution = device->prepare(grouping_program(true), nullptr);
        execution->run_build(0, {rows.view});
        execution->finish_build(0);
        EXPECT_EQ(200000, execution->run_aggregate({rows.view}).states[0].count);
    }
}

// Cancelled after more and more time, until the work ends first: nowhere may it go on. A phase that does not look whether it is cancelled
// does not look at the second try of the same moment either; a machine that stood still for a moment goes on.
template <class Run> void cancel_everywhere(int step_us, Run run) {
    constexpr std::chrono::milliseconds most(500); // (microseconds are what it takes)
    for (int us = step_us, late = 0;;) {
        Canceller canceller(us);
        try {
            run(&canceller.flag);
        } catch (const Cancelled &) {
            late = canceller.spent() < most ? 0 : late + 1;
            ASSERT_LT(late, 3) << "after " << us << " us";
            if (late == 0)
                us += us / 4 + step_us;
            continue;
        }
        break;
    }
}

TEST(HostDevice, CancelWhileGrouping) {
    auto device = make_host_device(2);
    Sequence rows(*device, 1000000, 1000003, uint64_t(900000) * 1000003, 2);
    cancel_everywhere(5000, [&](std::atomic<uint32_t> *flag) {
        auto execution = device->prepare(grouping_program(false), flag);
        execution->run_aggregate({rows.view});
    });
    EXPECT_EQ(0u, device->work_memory()->used());
}

TEST(HostDevice, CancelWhileCollectingRows) {
    auto device = make_host_device(2);
    const Case c = row_case({row_chunk(20000, 1)}, {row_build(1, 500)}, 1 << 30);
    cancel_everywhere(5000, [&](std::atomic<uint32_t> *flag) { rows_on(*device, c, flag); });
    EXPECT_EQ(0u, device->work_memory()->used());
}

TEST(HostDevice, CancelWhileBuilding) {
    auto device = make_host_device(2);
    for (uint64_t distinct : {uint64_t(1000000), uint64_t(300000)}) {
        Sequence rows(*device, 1000000, 1000003, distinct * 1000003, 2);
        cancel_everywhere(5000, [&](std::atomic<uint32_t> *flag) {
            auto execution = device->prepare(grouping_program(true), flag);
            execution->run_build(0, {rows.view});
            execution->finish_build(0);
        });
        EXPECT_EQ(0u, device->work_memory()->used());
    }
}

// Where the left side of AND or OR decides, the right one is not evaluated: v <> 0 AND 100 / v > 5 meets no error.
TEST(HostDevice, LogicKeepsTheOrder) {
    auto device = make_host_device(1);
    for (Op op : {Op::And, Op::Or}) {
        Builder b;
        Index t = b.source({Type::I32});
        Index v = b.column(Type::I32, 0, 0), zero = b.constant(Type::I32, 0);
        Index left = b.binary(op == Op::And ? Op::Ne : Op::Eq, v, zero);
        Index right = b.binary(Op::Gt, b.binary(Op::Div, b.constant(Type::I32, 100), v), b.constant(Type::I32, 5));
        Pipeline main;
        main.source = t;
        main.conjuncts = b.conjuncts({{b.binary(op, left, right), 0}});
        main.aggregates = b.aggregates({aggregate(AggregateKind::CountRows)});
        b.p.pipelines = {main};
        Case c;
        c.program = b.p;
        std::vector<Datum> values = numbers(5000, 1, 50);
        for (size_t i = 0; i < values.size(); i += 7)
            values[i].null = true;
        c.sources = {{chunk_of({values})}};
        Expected want = interpret(c);
        EXPECT_FALSE(want.error);
        EXPECT_TRUE(want.may_error);
        expect_same(c.program, want, run_on(*device, c));
        std::swap(c.program.exprs[c.program.conjuncts[0].expr].a, c.program.exprs[c.program.conjuncts[0].expr].b);
        EXPECT_THROW(run_on(*device, c), RowError);
    }
}

TEST(HostDevice, SessionsAtOnce) {
    auto device = make_host_device(2);
    std::vector<std::thread> sessions;
    for (uint64_t s = 0; s < 4; ++s)
        sessions.emplace_back([&, s] {
            for (uint64_t seed = 5000 + s * 100; seed < 5000 + s * 100 + 50; ++seed)
                check(*device, random_case(seed));
        });
    for (std::thread &session : sessions)
        session.join();
}

TEST(HostDevice, Memory) {
    auto device = make_host_device(1);
    device->set_memory_limit(1000);
    BufferRef a = device->allocate(600);
    EXPECT_EQ(600u, device->info().memory_used);
    EXPECT_THROW(device->allocate(401), OutOfDeviceMemory);
    BufferRef b = device->allocate(400);
    a.reset();
    EXPECT_EQ(400u, device->info().memory_used);
    const char text[] = "abcdef";
    device->fill(*b, 0, 'x', 400);
    device->upload(*b, 10, text, 6);
    device->copy(*b, 0, *b, 10, 3);
    char back[7] = {};
    device->download(back, *b, 0, 6);
    EXPECT_STREQ("abcxxx", back);
    EXPECT_THROW(device->upload(*b, 399, text, 2), DeviceError);
    device.reset(); // a buffer may outlive its device
    b.reset();
}

TEST(HostDevice, Misuse) {
    auto device = make_host_device(1);
    Case c = join_case({}, {}, Type::I32);
    auto execution = device->prepare(c.program, nullptr);
    EXPECT_THROW(execution->run_aggregate({}), DeviceError); // table not finished
    execution->finish_build(0);
    EXPECT_THROW(execution->run_build(0, {}), DeviceError);
    EXPECT_THROW(execution->run_build(1, {}), DeviceError);
    EXPECT_EQ(0u, execution->run_aggregate({}).ngroups);
    ChunkView chunk;
    EXPECT_THROW(execution->run_aggregate({chunk}), DeviceError);
}

} // namespace
} // namespace gpuscan
