// The host device against the reference interpreter, and what the interpreter cannot say: errors, cancel, memory.
#include <thread>

#include "engine/host/host_device.hpp"
#include "reference.hpp"

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

// A chunk of one column.
Chunk chunk_of(const std::vector<std::vector<Datum>> &columns) {
    Chunk c;
    c.nrows = static_cast<uint32_t>(columns[0].size());
    c.columns = columns;
    c.ranged.assign(columns.size(), 1);
    return c;
}

std::vector<Datum> numbers(uint32_t n, int64_t step, int64_t modulo) {
    std::vector<Datum> out(n);
    for (uint32_t i = 0; i < n; ++i)
        out[i].i = i * step % modulo;
    return out;
}

// select k, count(*), sum(v) from t join u on t.k = u.k group by t.k
Case join_case(std::vector<Chunk> probe, std::vector<Chunk> build, Type key_type) {
    Builder b;
    Index u = b.source({key_type, Type::I32}), t = b.source({key_type, Type::I64});
    Pipeline build_pipeline, main;
    build_pipeline.source = u;
    build_pipeline.sink = SinkKind::Build;
    build_pipeline.keys = b.list({b.column(key_type, 0, 0)});
    build_pipeline.payload = b.list({b.column(Type::I32, 0, 1)});
    main.source = t;
    main.joins = b.joins({{0, b.list({b.column(key_type, 0, 0)})}});
    main.keys = b.list({b.column(key_type, 0, 0)});
    main.aggregates =
        b.aggregates({aggregate(AggregateKind::CountRows), aggregate(AggregateKind::Sum, b.column(Type::I64, 0, 1)),
                      aggregate(AggregateKind::Sum, b.column(Type::I32, 1, 0))});
    b.p.pipelines = {build_pipeline, main};
    Case c;
    c.program = b.p;
    c.sources = {std::move(build), std::move(probe)};
    return c;
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
    std::chrono::steady_clock::time_point asked;
    std::thread canceller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        asked = std::chrono::steady_clock::now();
        cancel = 1;
    });
    std::vector<Datum> many(100000); // 2e9 pairs
    Case long_case = join_case({chunk_of({many, many})}, {chunk_of({ones, ones})}, Type::I32);
    EXPECT_THROW(run_on(*device, long_case, &cancel), Cancelled);
    canceller.join();
    // A batch takes microseconds; the bound leaves room for a busy machine.
    EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::milliseconds(500));
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
