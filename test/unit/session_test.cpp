// The device process as a backend sees it, in one process: messages to a Session, or through slots to its threads. The
// tables are heap pages made by hand in a pretended shared_buffers; the device is the host's.
#include <random>
#include <thread>

#include "device_client.hpp"
#include "host/host_device.hpp"
#include "server/session.hpp"
#include "server/slot_server.hpp"

namespace gpuscan {
namespace {

using namespace protocol;
using namespace test;

// ---- one session, directly ----------------------------------------------------------------------------------------

class DirectClient : public Client {
  public:
    DirectClient(Devices &devices, Counters &counters, BufferPool pool) : session(devices, counters, pool) {}

    Answer call(Command command, const Message &message) override {
        SessionRequest request;
        request.command = command;
        request.input = reinterpret_cast<const uint8_t *>(message.bytes.data());
        request.input_size = message.bytes.size();
        request.output = output_.data();
        request.cancel = &cancel;
        SessionReply reply = session.handle(request);
        Answer answer;
        answer.status = reply.status;
        answer.message = reply.message;
        answer.bytes.assign(reinterpret_cast<const char *>(output_.data()), reply.output_size);
        return answer;
    }

    std::atomic<uint32_t> cancel{0};
    Session session;

  private:
    std::vector<uint8_t> output_ = std::vector<uint8_t>(slot_buffer_size);
};

class SessionTest : public ::testing::Test {
  protected:
    SessionTest() {
        auto served = std::make_shared<ServedDevice>(DeviceKind::Host, make_host_device(2), size_t(64) << 20);
        served->device->set_memory_limit(size_t(256) << 20);
        devices.set(served);
        cache = &served->cache;
    }
    std::unique_ptr<DirectClient> client() { return std::make_unique<DirectClient>(devices, counters, server.pool()); }

    Server server;
    Devices devices;
    Counters counters = {};
    Cache *cache;
};

TEST_F(SessionTest, JoinAndGroupByColdThenHot) {
    auto c = client();
    for (int round = 0; round < 3; ++round) {
        Course course{*c, server};
        Groups groups;
        ASSERT_TRUE(course.run(false, &groups)) << course.message;
        EXPECT_EQ(groups, expected_groups(false));
        EXPECT_EQ(course.decoded, round == 0 ? 43u : 0u);
        EXPECT_EQ(course.held, round == 0 ? 0u : 2u);
    }
    EXPECT_EQ(counters.chunks_built.load(), 2u);
    EXPECT_EQ(counters.pages_decoded.load(), 43u);
    EXPECT_EQ(counters.pages_cached.load(), 86u);
}

TEST_F(SessionTest, OneSourceOfTwoRelations) {
    auto c = client();
    Groups expected;
    for (int p = 0; p < 40; ++p)
        for (int i = 0; i < 30; ++i) {
            const int key = (p + i) % 40, name = key < 30 ? key % 10 % 4 : 5 - (key - 30) % 4;
            Totals &group = expected["name " + std::to_string(name)];
            ++group.count;
            ++group.sum;
        }
    for (int round = 0; round < 2; ++round) {
        Course course{*c, server};
        course.partitions = true;
        Groups groups;
        ASSERT_TRUE(course.run(true, &groups)) << course.message;
        EXPECT_EQ(course.decoded, round == 0 ? 44u : 0u);
        groups.clear();
        ASSERT_TRUE(course.run(false, &groups)) << course.message;
        EXPECT_EQ(groups, expected);
        EXPECT_EQ(counters.tables_reused.load(), round == 0 ? 1u : 3u);
    }
}

TEST_F(SessionTest, RelationsOfASourceShareDictionaries) {
    auto c = client();
    Course course{*c, server};
    const auto defines = [&](uint32_t feed, const char *dictionary, const char *others) {
        return course.ask(Command::Open, open_message(join_program(false))) &&
               course.ask(Command::DefineSource, define_message(0, server.dim, {1, 2}, 0, dictionary)) &&
               course.ask(Command::DefineSource, define_message(0, server.more_dim, {1, 2}, feed, others));
    };
    EXPECT_TRUE(defines(2, "a", "a"));
    EXPECT_FALSE(defines(2, "a", "b"));
    EXPECT_EQ(course.status, Status::Invalid);
    EXPECT_FALSE(defines(2, "", ""));
    EXPECT_EQ(course.status, Status::Invalid);
    for (uint32_t feed : {0u, 1u, 3u}) {
        EXPECT_FALSE(defines(feed, "a", "a"));
        EXPECT_EQ(course.status, Status::Invalid);
    }
    // Only relations: not the rows of a CPU plan, and nothing before the first.
    ASSERT_TRUE(course.ask(Command::Open, open_message(join_program(false))));
    EXPECT_FALSE(course.ask(Command::DefineSource, define_message(0, server.dim, {1, 2}, 2, "a")));
    ASSERT_TRUE(course.ask(Command::Open, open_message(join_program(false))));
    ASSERT_TRUE(course.ask(Command::DefineSource, Message().put(DefineSourceRequest{})));
    EXPECT_FALSE(course.ask(Command::DefineSource, define_message(0, server.dim, {1, 2}, 2, "a")));
    EXPECT_EQ(course.status, Status::Invalid);
}

TEST_F(SessionTest, AnotherSessionStages) {
    auto c = client(), h = client();
    for (int round = 0; round < 2; ++round) {
        Course course{*c, server};
        course.helper = h.get();
        Groups groups;
        ASSERT_TRUE(course.run(true, &groups)) << course.message;
        EXPECT_EQ(groups, expected_groups(true));
        EXPECT_EQ(course.decoded, round == 0 ? 43u : 0u);
    }
    EXPECT_GT(cache->bytes(), 0u);
}

TEST_F(SessionTest, WhatIsDeliveredMustBeCollected) {
    auto c = client(), h = client();
    Course course{*c, server};
    course.helper = h.get();
    course.collects = false;
    Groups groups;
    EXPECT_FALSE(course.run(false, &groups));
    EXPECT_EQ(course.status, Status::Invalid);
    course.collects = true;
    groups.clear();
    ASSERT_TRUE(course.run(false, &groups)) << course.message;
    EXPECT_EQ(groups, expected_groups(false));
}

TEST_F(SessionTest, AnotherSessionBringsRows) {
    auto c = client(), h = client();
    for (int visible : {40, 17, 0}) {
        server.fact.visible = PageBits::first(visible);
        for (int round = 0; round < 2; ++round) {
            Course course{*c, server};
            course.helper = h.get();
            Groups groups;
            ASSERT_TRUE(course.run(true, &groups)) << course.message;
            EXPECT_EQ(groups, expected_groups(true)) << visible;
            course.collects = false; // rows that nobody has collected are not forgotten
            EXPECT_FALSE(course.run(true, &groups));
            EXPECT_EQ(course.status, Status::Invalid);
        }
    }
    // The leader's rows are its own.
    Course leader{*c, server};
    ASSERT_TRUE(leader.ask(Command::Open, open_message(join_program(false))));
    ASSERT_TRUE(leader.ask(Command::DefineSource, define_message(0, server.dim, {1, 2})));
    EXPECT_FALSE(leader.ask(Command::DeliverRows, Message().put(DeliverRowsRequest{0, 0})));
    EXPECT_EQ(leader.status, Status::Invalid);
    cache->evict_all();
    EXPECT_EQ(cache->bytes(), 0u);
}

TEST_F(SessionTest, AHelperCanOnlyStageAndNotTwice) {
    auto c = client(), h = client(), late = client();
    Course leader{*c, server}, helper{*h, server}, third{*late, server};
    Answer a;
    auto open = [&] {
        ASSERT_TRUE(leader.ask(Command::Open, open_message(join_program(false))));
        ASSERT_TRUE(leader.ask(Command::DefineSource, define_message(0, server.dim, {1, 2})));
        ASSERT_TRUE(leader.ask(Command::Share, Message().put(ShareRequest{0, 0, 100}), &a));
    };
    auto join = [&](Course &course) {
        return course.ask(Command::Join, Message().put(JoinRequest{a.head<ShareReply>().ticket}));
    };
    open();
    EXPECT_GT(a.head<ShareReply>().builders, 1u);
    ASSERT_TRUE(join(helper));
    ASSERT_TRUE(helper.feed(0, server.dim));
    EXPECT_FALSE(leader.feed(0, server.dim)); // staged by the helper
    EXPECT_EQ(leader.status, Status::Invalid);
    EXPECT_FALSE(join(third)); // that session has ended
    EXPECT_EQ(third.status, Status::Fallback);
    open();
    for (const auto &request : std::vector<std::pair<Command, Message>>{
             {Command::DefineSource, define_message(0, server.dim, {1, 2})},
             {Command::Batch, Message().put(BatchRequest{0, 1}).array(std::vector<uint8_t>(1)).put(int64_t(3))},
             {Command::Run, run_message(0)},
             {Command::Fetch, Message()},
             {Command::Share, Message().put(ShareRequest{0, 0, 100})},
             {Command::Collect, Message().put(CollectRequest{0, 0})}}) {
        ASSERT_TRUE(join(helper));
        EXPECT_FALSE(helper.ask(request.first, request.second)) << static_cast<int>(request.first);
        EXPECT_EQ(helper.status, Status::Invalid);
    }
    // The leader goes while a helper builds: what it delivers is dropped, and no memory stays.
    ASSERT_TRUE(join(helper));
    server.dim.map_lsn = 0;
    ASSERT_TRUE(helper.ask(Command::Stage, stage_message(0, server.dim, true)));
    ASSERT_TRUE(helper.ask(Command::Decode, decode_message(0, server.dim, {0, 1, 2})));
    ASSERT_TRUE(leader.ask(Command::Close, Message()));
    ASSERT_TRUE(helper.ask(Command::Publish, publish_message(0)));
    ASSERT_TRUE(helper.ask(Command::Close, Message()));
    cache->evict_all();
    EXPECT_EQ(cache->bytes(), 0u);
}

TEST_F(SessionTest, LookupOverTheDictionary) {
    auto c = client();
    Course course{*c, server};
    Groups groups;
    ASSERT_TRUE(course.run(true, &groups)) << course.message;
    EXPECT_EQ(groups, expected_groups(true));
}

// select n, 3 * n, case when n < 20000 then n end where n <> 7, of rows that a backend sends
std::string rows_program(uint64_t limit, bool columns = true) {
    ProgramBuilder b;
    const ir::Index s = b.source({{Type::I32, 1, {}}});
    const ir::Index n = b.column(Type::I32, 0, 0);
    const ir::Index wide = b.expr(ir::Op::Cast, Type::I64, n);
    const ir::Index product = b.expr(ir::Op::Mul, Type::I64, wide, b.constant(Type::I64, 3));
    const ir::Index filter = b.compare(ir::Op::Ne, n, b.constant(Type::I32, 7));
    const ir::Index low = b.compare(ir::Op::Lt, n, b.constant(Type::I32, 20000));
    const ir::Index some = b.expr(ir::Op::Case, Type::I32, low, n, b.constant(Type::I32, 0, true));
    b.rows(s, {{filter, 0}}, {}, columns ? std::vector<ir::Index>{n, product, some} : std::vector<ir::Index>{}, limit);
    return serialize_program(b.program);
}

// Sends `passes` times 40,000 numbers, of which one in 10 is NULL, and answers how often Fetch had rows.
size_t run_rows(Course &course, uint64_t limit, int passes, std::vector<int32_t> *got, bool columns = true) {
    EXPECT_TRUE(course.ask(Command::Open, open_message(rows_program(limit, columns))));
    EXPECT_TRUE(course.ask(Command::DefineSource, Message().put(DefineSourceRequest{})));
    Answer a;
    for (int pass = 0; pass < passes; ++pass) {
        BatchRequest batch = {0, 40000};
        std::vector<uint8_t> nulls(batch.nrows);
        std::vector<int32_t> values(batch.nrows);
        for (uint32_t i = 0; i < batch.nrows; ++i) {
            nulls[i] = i % 10 == 9;
            values[i] = pass * 40000 + static_cast<int32_t>(i);
        }
        EXPECT_TRUE(course.ask(Command::Batch, Message().put(batch).array(nulls).array(values)));
        if (!course.ask(Command::Run, run_message(0, pass + 1 == passes), &a))
            return 0;
        const uint64_t wanted = static_cast<uint64_t>(pass + 1) * 36000 - 1;
        EXPECT_EQ(a.head<RunReply>().groups, limit == 0 ? wanted : std::min(limit, wanted));
    }
    for (size_t replies = 0;; ++replies) {
        EXPECT_TRUE(course.ask(Command::Fetch, Message(), &a));
        const RowsReply head = a.head<RowsReply>();
        EXPECT_EQ(head.ncolumns, columns ? 3u : 0u);
        if (head.nrows == 0 || ::testing::Test::HasFailure())
            return replies;
        if (!columns) {
            got->resize(got->size() + head.nrows);
            continue;
        }
        auto aligned = [](size_t at) { return (at + 7) & ~size_t(7); };
        const size_t first = sizeof head, first_nulls = aligned(first + 4 * head.nrows);
        const size_t second = aligned(first_nulls + head.nrows), second_nulls = aligned(second + 8 * head.nrows);
        const size_t third = aligned(second_nulls + head.nrows), third_nulls = aligned(third + 4 * head.nrows);
        EXPECT_EQ(third_nulls + head.nrows, a.bytes.size());
        for (uint32_t r = 0; r < head.nrows; ++r) {
            const int32_t n = a.head<int32_t>(first + 4 * r);
            EXPECT_EQ(3 * n, a.head<int64_t>(second + 8 * r));
            EXPECT_EQ(0, a.bytes[first_nulls + r] | a.bytes[second_nulls + r]);
            EXPECT_EQ(n >= 20000, a.bytes[third_nulls + r] == 1);
            EXPECT_TRUE(n >= 20000 || n == a.head<int32_t>(third + 4 * r));
            got->push_back(n);
        }
    }
}

TEST_F(SessionTest, RowsOfSeveralPassesInSeveralReplies) {
    auto c = client();
    for (uint64_t limit : {uint64_t(0), uint64_t(1), uint64_t(35999), uint64_t(36000), uint64_t(1000000)}) {
        Course course{*c, server};
        std::vector<int32_t> got;
        const size_t replies = run_rows(course, limit, 3, &got);
        EXPECT_EQ(got.size(), limit == 0 ? 107999u : std::min<uint64_t>(limit, 107999));
        EXPECT_GE(replies, limit == 0 || limit == 1000000 ? 2u : 1u);
        std::sort(got.begin(), got.end());
        EXPECT_TRUE(std::adjacent_find(got.begin(), got.end()) == got.end());
        for (int32_t n : got)
            ASSERT_TRUE(n >= 0 && n < 120000 && n % 10 != 9 && n != 7) << n;
        ASSERT_TRUE(course.ask(Command::Close, Message()));
    }
    std::vector<int32_t> got;
    Course course{*c, server};
    EXPECT_EQ(1u, run_rows(course, 0, 2, &got, false));
    EXPECT_EQ(71999u, got.size());
}

TEST_F(SessionTest, RowsBeyondTheWorkingMemoryAreAFallback) {
    const WorkMemoryRef &memory = devices.find(DeviceKind::Host)->device->work_memory();
    auto c = client();
    Course course{*c, server};
    std::vector<int32_t> got;
    memory->set_limit(size_t(2) << 20); // one pass, with what the sent rows take, not three
    run_rows(course, 0, 3, &got);
    EXPECT_EQ(course.status, Status::Fallback);
    EXPECT_NE(course.message.find("the result does not fit into the working memory of 2 MB"), std::string::npos)
        << course.message;
    // (Kept tables stay: a request beyond the limit does not drive them out.)
    EXPECT_EQ(memory->used(), devices.find(DeviceKind::Host)->tables->bytes());
    EXPECT_FALSE(c->session.is_open());
    memory->set_limit(size_t(64) << 20);
    Course again{*c, server};
    run_rows(again, 0, 3, &got);
    EXPECT_EQ(got.size(), 107999u);
}

TEST_F(SessionTest, PagesThatAreNotVisibleAreReadRowByRow) {
    auto c = client();
    for (uint32_t page : {3u, 17u, 39u})
        server.fact.visible.reset(page);
    for (int round = 0; round < 2; ++round) {
        Course course{*c, server};
        Groups groups;
        ASSERT_TRUE(course.run(true, &groups)) << course.message;
        EXPECT_EQ(groups, expected_groups(true));
    }
    server.fact.visible.reset(5); // the bit of a cached page
    Groups groups;
    Course course{*c, server};
    ASSERT_TRUE(course.run(false, &groups)) << course.message;
    EXPECT_EQ(groups, expected_groups(false));
    EXPECT_EQ(course.decoded, 0u);
}

TEST_F(SessionTest, ChangedPagesAreRepaired) {
    auto c = client();
    Groups groups;
    ASSERT_TRUE((Course{*c, server}.run(false, &groups)));
    PageBits changed;
    for (uint32_t page : {0u, 20u}) {
        server.write_fact(page, 1000);
        changed.set(page);
    }
    server.fact.map_lsn++;
    Course course{*c, server};
    groups.clear();
    ASSERT_TRUE(course.run(false, &groups)) << course.message;
    EXPECT_EQ(groups, expected_groups(false, 1000, changed));
    EXPECT_EQ(course.decoded, 2u);
}

// Several chunks in one request: only those that the cache has in full, at this map LSN, are held, and each once.
TEST_F(SessionTest, ManyChunksAtOnce) {
    auto c = client();
    Course course{*c, server};
    auto begin = [&] {
        return course.ask(Command::Open, open_message(count_program())) &&
               course.ask(Command::DefineSource, define_message(0, server.fact, {1}));
    };
    auto build = [&](uint32_t chunk) {
        Message stage = stage_message(0, server.fact, false), decode;
        memcpy(&stage.bytes[offsetof(StageRequest, chunk)], &chunk, sizeof chunk);
        std::vector<uint32_t> pages;
        server.fact.visible.for_each([&](uint32_t page) { pages.push_back(page); });
        return course.ask(Command::Stage, stage) &&
               course.ask(Command::Decode, decode_message(0, server.fact, pages)) &&
               course.ask(Command::Publish, publish_message(0));
    };
    auto rows = [&] {
        Answer a;
        EXPECT_TRUE(course.ask(Command::Run, run_message(0), &a)) << course.message;
        return a.head<RunReply>().rows_in;
    };
    using Held = std::vector<bool>;
    Answer a;

    ASSERT_TRUE(begin());
    ASSERT_TRUE(course.ask(Command::StageMany, stage_many_message(0, server.fact, {0, 1, 2}), &a));
    EXPECT_EQ(held_of(a), (Held{false, false, false}));
    server.fact.visible.reset(7); // chunk 1 is built without page 7
    ASSERT_TRUE(build(1));
    server.fact.visible.set(7);
    ASSERT_TRUE(build(2));
    EXPECT_EQ(rows(), 30u * (39 + 40));

    ASSERT_TRUE(begin());
    ASSERT_TRUE(course.ask(Command::StageMany, stage_many_message(0, server.fact, {1, 2, 3}), &a));
    EXPECT_EQ(held_of(a), (Held{false, true, false}));
    EXPECT_EQ(rows(), 30u * 40);

    server.fact.visible.reset(7);
    ASSERT_TRUE(begin());
    ASSERT_TRUE(course.ask(Command::StageMany, stage_many_message(0, server.fact, {2, 1}), &a));
    EXPECT_EQ(held_of(a), (Held{true, true}));
    EXPECT_EQ(rows(), 30u * (39 + 39));

    ASSERT_TRUE(begin());
    server.fact.map_lsn++; // whatever has moved it
    ASSERT_TRUE(course.ask(Command::StageMany, stage_many_message(0, server.fact, {1, 2}), &a));
    EXPECT_EQ(held_of(a), (Held{false, false}));
    server.fact.map_lsn--;

    for (const std::vector<uint32_t> &chunks : std::vector<std::vector<uint32_t>>{{1, 1}, {2, 1, 2}}) {
        ASSERT_TRUE(begin());
        EXPECT_FALSE(course.ask(Command::StageMany, stage_many_message(0, server.fact, chunks)));
        EXPECT_EQ(course.status, Status::Invalid);
    }
    ASSERT_TRUE(begin());
    server.fact.map_lsn = 0; // says nothing
    EXPECT_FALSE(course.ask(Command::StageMany, stage_many_message(0, server.fact, {1})));
    EXPECT_EQ(course.status, Status::Invalid);
}

// The table of a build is used again as long as it would become the same, and goes with its columns.
TEST_F(SessionTest, JoinTablesAreKept) {
    auto c = client();
    const std::shared_ptr<KeptTables> kept = devices.find(DeviceKind::Host)->tables;
    auto reused = [&] {
        const uint64_t before = counters.tables_reused.load();
        Groups groups;
        Course course{*c, server};
        EXPECT_TRUE(course.run(false, &groups)) << course.message;
        EXPECT_EQ(groups, expected_groups(false));
        return counters.tables_reused.load() - before;
    };
    EXPECT_EQ(reused(), 0u);
    EXPECT_EQ(reused(), 1u);
    EXPECT_GT(kept->bytes(), 0u);
    server.dim.visible.reset(1); // read row by row now
    EXPECT_EQ(reused(), 0u);
    server.dim.visible.set(1);
    EXPECT_EQ(reused(), 1u);
    cache->evict({1663, 5, 2});
    kept->drop_dead();
    EXPECT_EQ(kept->bytes(), 0u);
    EXPECT_EQ(reused(), 0u);
    EXPECT_EQ(reused(), 1u);
    // Whoever needs the memory gets it.
    const WorkMemoryRef memory = devices.find(DeviceKind::Host)->device->work_memory();
    memory->set_limit(memory->used());
    memory->charge(1);
    memory->release(1);
    EXPECT_EQ(kept->bytes(), 0u);
    memory->set_limit(SIZE_MAX);
    kept->set_limit(1);
    EXPECT_EQ(reused(), 0u);
    EXPECT_EQ(reused(), 0u);
}

// Planners are told of a build's table when it is kept or found, and no longer when it is gone or cannot be found.
TEST_F(SessionTest, PlannersAreToldOfJoinTables) {
    auto c = client();
    KeptBuilds builds;
    builds.clear();
    devices.find(DeviceKind::Host)->tables->tell(&builds);
    auto told_after_run = [&](uint64_t fingerprint) {
        Groups groups;
        Course course{*c, server};
        course.fingerprint = fingerprint;
        EXPECT_TRUE(course.run(false, &groups)) << course.message;
        return builds.has(fingerprint);
    };
    EXPECT_FALSE(told_after_run(0));
    EXPECT_FALSE(builds.any());
    EXPECT_TRUE(told_after_run(1)) << "found, and known by now";
    EXPECT_TRUE(told_after_run(1));
    server.dim.visible.reset(1); // read row by row now: of no identity
    EXPECT_FALSE(told_after_run(1));
    server.dim.visible.set(1);
    EXPECT_TRUE(told_after_run(1));
    EXPECT_TRUE(told_after_run(2)) << "what is written differently may be the same";
    EXPECT_TRUE(builds.has(1));
    EvictRequest all = {};
    all.all = 1;
    Course course{*c, server};
    ASSERT_TRUE(course.ask(Command::Evict, Message().put(all)));
    EXPECT_FALSE(builds.any());
}

// What the pass has no room for is not looked at: the next request begins there.
TEST_F(SessionTest, ManyChunksEndWhereThePassIsFull) {
    auto c = client();
    Course course{*c, server};
    Groups groups;
    ASSERT_TRUE(course.run(false, &groups));
    ASSERT_TRUE(course.ask(Command::Open, open_message(count_program())));
    ASSERT_TRUE(course.ask(Command::DefineSource, define_message(0, server.fact, {1})));
    const size_t before = cache->budget();
    cache->set_budget(cache->bytes() * 13 / 10); // evicts nothing, but the fact table alone is more than half of it
    auto other = client();
    Course holder{*other, server};
    ASSERT_TRUE(holder.ask(Command::Open, open_message(join_program(false))));
    ASSERT_TRUE(holder.ask(Command::DefineSource, define_message(1, server.fact, {1, 2, 3})));
    Answer a;
    ASSERT_TRUE(holder.ask(Command::StageMany, stage_many_message(1, server.fact, {0, 5}), &a));
    EXPECT_EQ(held_of(a), std::vector<bool>{true});
    EXPECT_EQ(a.head<StageManyReply>().pass_full, 1u);
    cache->set_budget(before);
    ASSERT_TRUE(course.ask(Command::StageMany, stage_many_message(0, server.fact, {0, 5}), &a));
    EXPECT_EQ(held_of(a), (std::vector<bool>{true, false}));
    EXPECT_EQ(rows_of(a).at(1), 0u);
    EXPECT_GT(rows_of(a).at(0), 0u);
    ASSERT_TRUE(course.ask(Command::StageMany, stage_many_message(0, server.fact, {7}), &a)); // told once
    EXPECT_EQ(rows_of(a), (std::vector<uint32_t>{0}));
    EXPECT_EQ(a.head<StageManyReply>().pass_full, 0u);
}

// Two queries have read the map at one LSN; for the second one page 7 has changed again, which has cleared its bit but not
// moved the LSN. What it leaves behind must not show the first one the page as it was before the LSN.
TEST_F(SessionTest, QueriesThatReadTheMapAtOneLsnSeeDifferentBits) {
    auto c = client();
    Groups groups;
    ASSERT_TRUE((Course{*c, server}.run(false, &groups)));
    PageBits changed;
    changed.set(7);
    server.write_fact(7, 1000);
    server.fact.map_lsn++;
    server.fact.visible.reset(7);
    for (int query = 2; query >= 1; --query) {
        groups.clear();
        Course course{*c, server};
        ASSERT_TRUE(course.run(false, &groups)) << course.message;
        EXPECT_EQ(groups, expected_groups(false, 1000, changed)) << "query " << query;
        server.fact.visible.set(7);
    }
    // Neither must a query that began when the table ended before the changed page.
    server.write_fact(39, 1000);
    changed.set(39);
    server.fact.map_lsn++;
    server.fact.npages = 30;
    for (uint32_t page = 30; page < 40; ++page)
        server.fact.visible.reset(page);
    ASSERT_TRUE((Course{*c, server}.run(false, &groups)));
    server.fact.npages = 40;
    for (uint32_t page = 30; page < 40; ++page)
        server.fact.visible.set(page);
    groups.clear();
    ASSERT_TRUE((Course{*c, server}.run(false, &groups)));
    EXPECT_EQ(groups, expected_groups(false, 1000, changed));
}

TEST_F(SessionTest, WithoutRowsThereIsOneGroup) {
    auto c = client();
    Course course{*c, server};
    ASSERT_TRUE(course.ask(Command::Open, open_message(count_program())));
    ASSERT_TRUE(course.ask(Command::DefineSource, define_message(0, server.fact, {1})));
    Answer a;
    ASSERT_TRUE(course.ask(Command::Run, run_message(0), &a)) << course.message;
    EXPECT_EQ(a.head<RunReply>().groups, 1u);
    ASSERT_TRUE(course.ask(Command::Fetch, Message(), &a));
    EXPECT_EQ(a.head<FetchReply>().ngroups, 1u);
    EXPECT_EQ(unpack(a, 0, 1).states.at(0).count, 0);
    ASSERT_TRUE(course.ask(Command::Fetch, Message(), &a));
    EXPECT_EQ(a.head<FetchReply>().ngroups, 0u);
}

TEST_F(SessionTest, BatchesOfACpuPlanInSeveralPasses) {
    auto c = client();
    Course course{*c, server};
    ASSERT_TRUE(course.ask(Command::Open, open_message(count_program())));
    DefineSourceRequest define = {};
    ASSERT_TRUE(course.ask(Command::DefineSource, Message().put(define)));
    for (int pass = 0; pass < 3; ++pass) {
        BatchRequest batch = {0, 100};
        ASSERT_TRUE(
            course.ask(Command::Batch,
                       Message().put(batch).array(std::vector<uint8_t>(100)).array(std::vector<int32_t>(100, pass))));
        ASSERT_TRUE(course.ask(Command::Run, run_message(0, pass == 2)));
    }
    Answer a;
    ASSERT_TRUE(course.ask(Command::Fetch, Message(), &a));
    EXPECT_EQ(unpack(a, 0, 1).states.at(0).count, 300);
}

TEST_F(SessionTest, BatchTextsShareTheRelationsDictionary) {
    auto c = client();
    server.dim.visible = PageBits();
    Course course{*c, server};
    ASSERT_TRUE(course.ask(Command::Open, open_message(join_program(false))));
    ASSERT_TRUE(course.ask(Command::DefineSource, define_message(0, server.dim, {1, 2})));
    ASSERT_TRUE(course.ask(Command::DefineSource, define_message(1, server.fact, {1, 2, 3})));
    BatchRequest batch = {0, 2};
    ASSERT_TRUE(course.ask(Command::Batch, Message()
                                               .put(batch)
                                               .array(std::vector<uint8_t>{0, 0})
                                               .array(std::vector<int32_t>{1, 2})
                                               .array(std::vector<uint8_t>{0, 0})
                                               .array(std::vector<uint32_t>{0, 3, 6})
                                               .raw("onetwo", 6)))
        << course.message;
    ASSERT_TRUE(course.ask(Command::Run, run_message(0)));
    EXPECT_EQ(course.dictionary(0, 1), (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(course.dictionary(0, 1, {1, 0, 1}), (std::vector<std::string>{"two", "one", "two"}));
    EXPECT_EQ(course.dictionary(0, 1, {2}), std::vector<std::string>());
}

TEST_F(SessionTest, OneBuildsTheOthersAreBusyAndAbandonmentFreesTheToken) {
    auto first = client(), second = client();
    Course a{*first, server}, b{*second, server};
    Answer answer;
    for (Course *course : {&a, &b}) {
        ASSERT_TRUE(course->ask(Command::Open, open_message(count_program())));
        ASSERT_TRUE(course->ask(Command::DefineSource, define_message(0, server.fact, {1})));
    }
    ASSERT_TRUE(a.ask(Command::Stage, stage_message(0, server.fact, false), &answer));
    EXPECT_EQ(answer.head<StageReply>().state, static_cast<uint32_t>(StageState::NeedPages));
    ASSERT_TRUE(a.ask(Command::Decode, decode_message(0, server.fact, {0, 1, 2})));
    ASSERT_TRUE(b.ask(Command::Stage, stage_message(0, server.fact, false), &answer));
    EXPECT_EQ(answer.head<StageReply>().state, static_cast<uint32_t>(StageState::Busy));
    EXPECT_EQ(bits_of(answer).count(), 40u);

    first->session.reset(); // abandoned in the middle
    EXPECT_EQ(cache->bytes(), 0u);
    EXPECT_EQ(cache->list().size(), 0u);
    ASSERT_TRUE(b.ask(Command::Stage, stage_message(0, server.fact, false), &answer));
    EXPECT_EQ(answer.head<StageReply>().state, static_cast<uint32_t>(StageState::NeedPages));
    // Without a claim to build: a private version, which nobody else sees.
    auto third = client();
    Course p{*third, server};
    ASSERT_TRUE(p.ask(Command::Open, open_message(count_program())));
    ASSERT_TRUE(p.ask(Command::DefineSource, define_message(0, server.fact, {1})));
    ASSERT_TRUE(p.ask(Command::Stage, stage_message(0, server.fact, false, false, false), &answer));
    EXPECT_EQ(answer.head<StageReply>().state, static_cast<uint32_t>(StageState::NeedPages));
    ASSERT_TRUE(p.ask(Command::Decode, decode_message(0, server.fact, {0, 1, 2})));
    ASSERT_TRUE(p.ask(Command::Publish, publish_message(0, {1}), &answer));
    EXPECT_EQ(bits_of(answer).count(), 2u);
    ASSERT_TRUE(p.ask(Command::Run, run_message(0)));
    ASSERT_TRUE(p.ask(Command::Fetch, Message(), &answer));
    EXPECT_EQ(unpack(answer, 0, 1).states.at(0).count, 60);
    EXPECT_EQ(cache->list().size(), 0u);
}

TEST_F(SessionTest, WrongOrdersAreInvalid) {
    auto c = client();
    Course course{*c, server};
    EXPECT_FALSE(course.ask(Command::Fetch, Message()));
    EXPECT_EQ(course.status, Status::Invalid);
    auto open = [&] {
        ASSERT_TRUE(course.ask(Command::Open, open_message(count_program())));
        ASSERT_TRUE(course.ask(Command::DefineSource, define_message(0, server.fact, {1})));
    };
    const std::vector<std::pair<Command, Message>> wrong = {
        {Command::Fetch, Message()},
        {Command::Publish, publish_message(0)},
        {Command::Decode, decode_message(0, server.fact, {0})},
        {Command::Run, run_message(1)},
        {Command::DefineSource, define_message(0, server.fact, {1})},
        {Command::Stage, stage_message(1, server.fact, false)},
        {Command::None, Message()},
    };
    for (const auto &request : wrong) {
        open();
        EXPECT_FALSE(course.ask(request.first, request.second));
        EXPECT_EQ(course.status, Status::Invalid);
        EXPECT_FALSE(c->session.is_open());
        EXPECT_NE(course.message, "");
    }
    open();
    ASSERT_TRUE(course.ask(Command::Stage, stage_message(0, server.fact, false)));
    ASSERT_TRUE(course.ask(Command::Decode, decode_message(0, server.fact, {0})));
    EXPECT_FALSE(course.ask(Command::Decode, decode_message(0, server.fact, {0}))); // twice
    EXPECT_EQ(course.status, Status::Invalid);
    open();
    ASSERT_TRUE(course.feed(0, server.fact)); // staged twice would count twice
    EXPECT_FALSE(course.ask(Command::Stage, stage_message(0, server.fact, false)));
    EXPECT_EQ(course.status, Status::Invalid);
}

TEST_F(SessionTest, LookupMustCoverTheDictionary) {
    auto c = client();
    Course course{*c, server};
    ASSERT_TRUE(course.ask(Command::Open, open_message(join_program(true))));
    ASSERT_TRUE(course.ask(Command::DefineSource, define_message(0, server.dim, {1, 2})));
    ASSERT_TRUE(course.ask(Command::DefineSource, define_message(1, server.fact, {1, 2, 3})));
    ASSERT_TRUE(course.feed(0, server.dim) && course.ask(Command::Run, run_message(0)));
    ASSERT_TRUE(course.feed(1, server.fact));
    ASSERT_TRUE(course.put_lookup(0, {"even"}, "odd"));
    EXPECT_FALSE(course.ask(Command::Run, run_message(1)));
    EXPECT_EQ(course.status, Status::Invalid);
}

// A lookup may stop being a demanded one between the question and the run; and there may be none of the kind.
TEST_F(SessionTest, DemandsOfLookupsThatAreNone) {
    const auto demanded_program = [] {
        const std::string bytes = join_program(true);
        Program program = parse_program(bytes.data(), bytes.size());
        program.lookups[0].demanded = 1;
        return serialize_program(program);
    };
    auto c = client();
    Course course{*c, server};
    const auto demand = [&](Answer *a) {
        return course.ask(Command::Open, open_message(demanded_program())) &&
               course.ask(Command::DefineSource, define_message(0, server.dim, {1, 2})) &&
               course.ask(Command::DefineSource, define_message(1, server.fact, {1, 2, 3})) &&
               course.feed(0, server.dim) && course.ask(Command::Demand, Message().put(DemandRequest{0, 0})) &&
               course.ask(Command::Run, run_message(0)) && course.feed(1, server.fact) &&
               course.ask(Command::Demand, Message().put(DemandRequest{1, 0}), a);
    };
    UseLookupRequest use = {};
    use.key_size = 3;
    const Message use_lookup = Message().put(use).raw("key", 3).raw("", 0);
    const auto put_entries = [&](const Answer &a, uint32_t beyond) {
        std::vector<uint32_t> codes(a.head<DemandReply>().count);
        memcpy(codes.data(), a.bytes.data() + sizeof(DemandReply), codes.size() * sizeof(uint32_t));
        codes[0] += beyond;
        const PutEntriesRequest put = {0, static_cast<uint32_t>(codes.size())};
        const std::vector<uint8_t> values(codes.size(), 1), nulls(codes.size());
        return course.ask(Command::PutEntries, Message().put(put).array(codes).array(values).array(nulls));
    };
    Answer a;
    ASSERT_TRUE(demand(&a)) << course.message;
    ASSERT_GT(a.head<DemandReply>().count, 0u);
    EXPECT_TRUE(put_entries(a, 0));
    EXPECT_TRUE(course.ask(Command::Run, run_message(1))) << course.message;

    ASSERT_TRUE(demand(&a));
    EXPECT_FALSE(put_entries(a, 1000));
    EXPECT_EQ(course.status, Status::Invalid);

    ASSERT_TRUE(demand(&a));
    EXPECT_FALSE(course.ask(Command::Run, run_message(1))); // nothing has been put
    EXPECT_EQ(course.status, Status::Invalid);

    ASSERT_TRUE(demand(&a));
    ASSERT_TRUE(course.ask(Command::UseLookup, use_lookup));
    EXPECT_FALSE(put_entries(a, 0));
    EXPECT_EQ(course.status, Status::Invalid);

    ASSERT_TRUE(demand(&a));
    ASSERT_TRUE(course.ask(Command::UseLookup, use_lookup));
    EXPECT_FALSE(course.ask(Command::Run, run_message(1)));
    EXPECT_EQ(course.status, Status::Invalid);
}

TEST_F(SessionTest, CancelEndsTheSession) {
    auto c = client();
    Course course{*c, server};
    ASSERT_TRUE(course.ask(Command::Open, open_message(count_program())));
    ASSERT_TRUE(course.ask(Command::DefineSource, define_message(0, server.fact, {1})));
    ASSERT_TRUE(course.ask(Command::Stage, stage_message(0, server.fact, false)));
    c->cancel = 1;
    EXPECT_FALSE(course.ask(Command::Decode, decode_message(0, server.fact, {0})));
    EXPECT_EQ(course.status, Status::Cancelled);
    EXPECT_FALSE(c->session.is_open());
    EXPECT_EQ(counters.cancelled.load(), 1u);
}

TEST_F(SessionTest, TinyCacheStillAnswers) {
    cache->set_budget(4096); // nothing fits
    auto c = client();
    Course course{*c, server};
    Groups groups;
    ASSERT_TRUE(course.run(true, &groups)) << course.message;
    EXPECT_EQ(groups, expected_groups(true));
    EXPECT_EQ(cache->bytes(), 0u);
}

TEST_F(SessionTest, TooLittleWorkMemoryIsAFallbackWithAReason) {
    const WorkMemoryRef &memory = devices.find(DeviceKind::Host)->device->work_memory();
    auto c = client();
    Groups groups;
    for (bool with_lookup : {false, true}) {
        memory->set_limit(100);
        Course course{*c, server};
        EXPECT_FALSE(course.run(with_lookup, &groups));
        EXPECT_EQ(course.status, Status::Fallback);
        EXPECT_NE(course.message.find("working memory"), std::string::npos) << course.message;
        // (Kept tables stay: a request beyond the limit does not drive them out.)
        EXPECT_EQ(memory->used(), devices.find(DeviceKind::Host)->tables->bytes());
        memory->set_limit(size_t(64) << 20);
        ASSERT_TRUE((Course{*c, server}.run(with_lookup, &groups)));
        EXPECT_EQ(groups, expected_groups(with_lookup));
    }
}

TEST_F(SessionTest, ListAndEvictNeedNoProgram) {
    auto c = client();
    Groups groups;
    ASSERT_TRUE((Course{*c, server}.run(false, &groups)));
    Course course{*c, server};
    Answer a;
    ASSERT_TRUE(course.ask(Command::ListCache, Message().put(ListCacheRequest{0, 0}), &a));
    EXPECT_EQ(a.head<ListCacheReply>().count, 5u);
    EXPECT_EQ(a.head<CacheEntry>(sizeof(ListCacheReply)).locator.database, 5u);
    EvictRequest evict = {0, {1663, 5, 1}};
    ASSERT_TRUE(course.ask(Command::Evict, Message().put(evict), &a));
    EXPECT_GT(a.head<EvictReply>().bytes, 0u);
    ASSERT_TRUE(course.ask(Command::ListCache, Message().put(ListCacheRequest{0, 0}), &a));
    EXPECT_EQ(a.head<ListCacheReply>().count, 2u);
    evict.all = 1;
    ASSERT_TRUE(course.ask(Command::Evict, Message().put(evict), &a));
    EXPECT_EQ(cache->bytes(), 0u);
}

// Sound requests with bytes changed, cut or swapped, in any order: answered, never a crash, and the cache stays usable.
TEST_F(SessionTest, SurvivesGarbage) {
    auto c = client();
    const std::vector<std::pair<Command, Message>> sound = {
        {Command::Open, open_message(join_program(true))},
        {Command::DefineSource, define_message(0, server.dim, {1, 2})},
        {Command::DefineSource, define_message(1, server.fact, {1, 2, 3})},
        {Command::Stage, stage_message(0, server.dim, true)},
        {Command::Decode, decode_message(0, server.dim, {0, 1, 2})},
        {Command::Publish, publish_message(0, {1})},
        {Command::DecodeRows, rows_message(0, server, server.dim, {1})},
        {Command::Run, run_message(0)},
        {Command::Stage, stage_message(1, server.fact, true)},
        {Command::Decode, decode_message(1, server.fact, {0, 1, 2, 7})},
        {Command::Publish, publish_message(1)},
        {Command::Batch, Message().put(BatchRequest{1, 1}).array(std::vector<uint8_t>(1)).put(int64_t(3))},
        {Command::Share, Message().put(ShareRequest{1, 0, 100})},
        {Command::Collect, Message().put(CollectRequest{1, 0})},
        {Command::ReadDictionary, Message().put(ReadDictionaryRequest{1, 2, 0, 0})},
        {Command::PutLookup, Message().put(PutLookupRequest{0, 2, 0, 3, 0, 0}).put(int64_t(1)).put(int64_t(1 << 16))},
        {Command::Run, run_message(1)},
        {Command::Fetch, Message()},
        {Command::ListCache, Message().put(ListCacheRequest{0, 0})},
        {Command::Evict, Message().put(EvictRequest{0, {1663, 5, 1}})},
        {Command::Close, Message()},
    };
    const char *rounds = getenv("GPUSCAN_FUZZ_ROUNDS");
    const int count = rounds != nullptr ? atoi(rounds) : 100000;
    std::mt19937 random(12345);
    auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
    size_t step = 0, answered = 0;
    for (int i = 0; i < count; ++i) {
        auto request = sound[step];
        std::string &bytes = request.second.bytes;
        switch (below(12)) {
        case 0: // some other request
            request = sound[below(sound.size())];
            break;
        case 1: // cut
            bytes.resize(below(bytes.size() + 1));
            break;
        case 2: // another command's bytes
            request.first = static_cast<Command>(below(17));
            break;
        case 3:
        case 4: // changed bytes, at the start by preference
            for (size_t n = below(4) + 1; n > 0 && !bytes.empty(); --n) {
                const size_t at = below(below(2) ? bytes.size() : std::min<size_t>(bytes.size(), 48));
                bytes[at] = static_cast<char>(below(3) ? random() : below(2) * 255);
            }
            break;
        default:
            break;
        }
        if (request.first == Command::Test)
            continue;
        const Answer answer = c->call(request.first, request.second);
        ASSERT_NE(answer.status, Status::Lost);
        answered += answer.status == Status::Ok;
        step = answer.status == Status::Ok ? (step + 1) % sound.size() : 0;
    }
    EXPECT_GT(answered, static_cast<size_t>(count) / 4);
    c->session.reset();
    cache->evict_all();
    Groups groups;
    Course course{*c, server};
    ASSERT_TRUE(course.run(true, &groups)) << course.message;
    EXPECT_EQ(groups, expected_groups(true));
}

// ---- several slots, with their threads ----------------------------------------------------------------------------

TEST(SlotServerTest, SlotsInParallelWithAbandonment) {
    constexpr uint32_t nslots = 4;
    // The threads never end, so what they use is never freed.
    Area *area = make_area(nslots);
    ASSERT_NE(area, nullptr);
    area->generation = 7;
    auto *devices = new Devices;
    auto served = std::make_shared<ServedDevice>(DeviceKind::Host, make_host_device(2), size_t(64) << 20);
    served->device->set_memory_limit(size_t(256) << 20);
    devices->set(served);
    static auto *server = new Server; // (static: for leak checkers)
    // A request that died with an earlier process.
    area->slot(0)->generation = 6;
    area->slot(0)->request = 41;
    auto *slots = new SlotServer{area, 7, devices, server->pool(), 0};
    slots->start();

    std::atomic<int> right{0}, failed{0};
    std::vector<std::thread> backends;
    for (uint32_t i = 0; i < nslots; ++i)
        backends.emplace_back([&, i] {
            SlotClient client(area, i);
            for (int round = 0; round < 30; ++round) {
                client.take();
                const Relation &fact = server->fact;
                if (round % 5 == 3) { // in the middle of a build, or of whatever the cache allows
                    Course course{client, *server};
                    course.ask(Command::Open, open_message(count_program()));
                    course.ask(Command::DefineSource, define_message(0, fact, {1 + round % 2}));
                    if (course.ask(Command::Stage, stage_message(0, fact, true)))
                        client.post(Command::Decode, decode_message(0, fact, {0, 1, 2}));
                    client.abandon();
                    continue;
                }
                if (round % 7 == 5) {
                    Course course{client, *server};
                    course.ask(Command::Evict, Message().put(EvictRequest{1, {}}));
                }
                Course course{client, *server};
                Groups groups;
                const bool good = course.run(true, &groups) && groups == expected_groups(true);
                ++(good ? right : failed);
                if (!good)
                    ADD_FAILURE() << course.message;
                client.release();
            }
        });
    for (std::thread &backend : backends)
        backend.join();
    EXPECT_EQ(failed.load(), 0);
    EXPECT_EQ(right.load(), 4 * 24);
    for (uint32_t i = 0; i < nslots; ++i)
        for (int wait = 0; wait < 1000 && area->slot(i)->state != static_cast<uint32_t>(SlotState::Free); ++wait)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (uint32_t i = 0; i < nslots; ++i)
        EXPECT_EQ(area->slot(i)->state.load(), static_cast<uint32_t>(SlotState::Free));
}

} // namespace
} // namespace gpuscan
