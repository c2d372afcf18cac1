// What does a session find in the cache, what does it lack, and what does it keep there for others?
#include "session_fixture.hpp"

namespace gpuscan {
namespace {

using namespace protocol;
using namespace test;

class SessionCacheTest : public SessionTest {};

TEST_F(SessionCacheTest, PagesThatAreNotVisibleAreReadRowByRow) {
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

TEST_F(SessionCacheTest, ChangedPagesAreRepaired) {
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
TEST_F(SessionCacheTest, ManyChunksAtOnce) {
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
               course.ask(Command::Decode, decode_message(0, server.fact, pages, chunk)) &&
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
    ASSERT_TRUE(course.ask(Command::StageMany, stage_many_message(0, server.fact, {1}), &a));
    EXPECT_EQ(held_of(a), (Held{false}));
}

// Where WAL does not describe the pages, their hashes are wanted in every query, whatever map and WAL say.
TEST_F(SessionCacheTest, HashesOfPagesAreAlwaysCompared) {
    auto c = client();
    Course course{*c, server};
    Answer a;
    const auto ask = [&](bool hashed, bool lsns) {
        Message define = define_message(0, server.fact, {1}), stage = stage_message(0, server.fact, lsns);
        define.bytes[offsetof(DefineSourceRequest, hashed)] = hashed;
        stage.bytes[offsetof(StageRequest, lsns_prove)] = 1;
        EXPECT_TRUE(course.ask(Command::Open, open_message(count_program())) &&
                    course.ask(Command::DefineSource, define) && course.ask(Command::Stage, stage, &a));
        return static_cast<StageState>(a.head<StageReply>().state);
    };
    std::vector<uint32_t> pages;
    server.fact.visible.for_each([&](uint32_t page) { pages.push_back(page); });
    ASSERT_EQ(ask(false, false), StageState::NeedPages);
    ASSERT_TRUE(course.ask(Command::Decode, decode_message(0, server.fact, pages)) &&
                course.ask(Command::Publish, publish_message(0)));
    EXPECT_EQ(ask(false, false), StageState::Ready);
    EXPECT_EQ(ask(true, false), StageState::NeedLsns);
    EXPECT_EQ(bits_of(a), server.fact.visible);
    EXPECT_EQ(ask(true, true), StageState::Ready);
    EXPECT_EQ(bits_of(a), server.fact.visible);
    server.write_fact(7, 1000);
    EXPECT_EQ(ask(false, true), StageState::Ready); // the map says so
    EXPECT_EQ(ask(true, true), StageState::NeedPages);
    EXPECT_EQ(bits_of(a).count(), 1u);
    EXPECT_TRUE(bits_of(a).test(7));
}

// A column that is an expression: its values come as pages of the backend's, for the pages that lack them and no others.
TEST_F(SessionCacheTest, ValuesOfExpressionsComeAsPages) {
    constexpr uint32_t tuples = 30;
    auto c = client();
    Course course{*c, server};
    Answer a;
    ProgramBuilder b;
    const ir::Index s = b.source({{Type::I32, 1, {}}, {Type::I64, 1, {}}});
    b.aggregate(s, {}, {}, {}, {{ir::AggregateKind::Sum, b.column(Type::I64, 0, 1)}});
    const std::string program = serialize_program(b.program);

    // the key and the expression, or the key alone
    const auto begin = [&](bool expression) {
        Message define = define_message(0, server.fact, {1});
        if (expression) {
            const uint32_t both = 2;
            memcpy(&define.bytes[offsetof(DefineSourceRequest, ncolumns)], &both, sizeof both);
            ColumnHead head = {};
            head.codec = static_cast<uint8_t>(Codec::Int64);
            head.type = static_cast<uint8_t>(Type::I64);
            head.missing_null = 1;
            head.expression = 0x80000001;
            head.nattributes = 1;
            head.key_size = 6;
            const AttributeLayout layout = {8, 8, 0};
            define.put(head).raw(&layout, sizeof layout).raw("", 0).raw("{EXPR}", 6).raw("", 0);
        }
        return course.ask(Command::Open, open_message(expression ? program : count_program())) &&
               course.ask(Command::DefineSource, define) &&
               course.ask(Command::Stage, stage_message(0, server.fact, false), &a);
    };
    const auto state = [&] { return static_cast<StageState>(a.head<StageReply>().state); };
    // page p with the value 100 * p for each tuple; of those in `failed` there is none
    const auto decode = [&](const std::vector<uint32_t> &pages, uint64_t expressions, const PageBits &failed = {}) {
        Message message = decode_message(0, server.fact, pages);
        const uint32_t masked = 1;
        memcpy(&message.bytes[offsetof(DecodeRequest, has_masks)], &masked, sizeof masked);
        memcpy(&message.bytes[offsetof(DecodeRequest, expressions)], &expressions, sizeof expressions);
        std::vector<TupleMask> masks(pages.size());
        std::vector<uint8_t> states;
        std::string images;
        const AttributeLayout layout = {8, 8, 0};
        for (size_t i = 0; i < pages.size(); ++i) {
            masks[i].bits[0] = (uint64_t(1) << tuples) - 1;
            pages::Page image;
            for (uint32_t t = 0; t < tuples; ++t)
                image.add({&layout, &layout + 1}, {pages::fixed(int64_t(100) * pages[i])});
            states.push_back(failed.test(pages[i]));
            images.append(reinterpret_cast<const char *>(image.bytes), page_size);
        }
        message.array(masks);
        if (expressions != 0)
            message.array(states).raw(images.data(), images.size());
        return course.ask(Command::Decode, message, &a) && course.ask(Command::Publish, publish_message(0), &a);
    };
    const auto sum = [&] {
        EXPECT_TRUE(course.ask(Command::Run, run_message(0)) && course.ask(Command::Fetch, Message(), &a))
            << course.message;
        return static_cast<int64_t>(unpack(a, 0, 1).states.at(0).low);
    };
    std::vector<uint32_t> all, even;
    int64_t of_all = 0;
    for (uint32_t p = 0; p < server.fact.npages; ++p) {
        all.push_back(p);
        of_all += int64_t(tuples) * 100 * p;
        if (p % 2 == 0)
            even.push_back(p);
    }

    ASSERT_TRUE(begin(false));
    ASSERT_EQ(state(), StageState::NeedPages);
    EXPECT_EQ(a.head<StageReply>().expressions, 0u);
    ASSERT_TRUE(decode(all, 0)) << course.message;
    ASSERT_TRUE(begin(true)); // the key is there, the expression is wanted of all pages
    ASSERT_EQ(state(), StageState::NeedPages);
    EXPECT_EQ(a.head<StageReply>().expressions, 1u);
    EXPECT_EQ(bits_of(a), server.fact.visible);
    PageBits failed;
    failed.set(7);
    ASSERT_TRUE(decode(all, 1, failed)) << course.message;
    EXPECT_EQ(bits_of(a), server.fact.visible - failed);
    EXPECT_EQ(sum(), of_all - int64_t(tuples) * 700);
    ASSERT_TRUE(begin(true)); // nobody evaluates page 7 again for the cache
    ASSERT_EQ(state(), StageState::Ready);
    EXPECT_EQ(bits_of(a), server.fact.visible - failed);
    ASSERT_TRUE(begin(false)); // whose key is there
    ASSERT_EQ(state(), StageState::Ready);
    EXPECT_EQ(bits_of(a), server.fact.visible);

    server.write_fact(7, 1); // a page that changes is evaluated again
    server.fact.map_lsn++;
    ASSERT_TRUE(begin(true));
    ASSERT_EQ(state(), StageState::NeedLsns);
    ASSERT_TRUE(course.ask(Command::Stage, stage_message(0, server.fact, true), &a));
    ASSERT_EQ(state(), StageState::NeedPages);
    EXPECT_EQ(a.head<StageReply>().expressions, 1u);
    EXPECT_EQ(bits_of(a), failed);
    ASSERT_TRUE(decode({7}, 1)) << course.message;
    EXPECT_EQ(sum(), of_all);

    server.write_fact(9, 1); // without its values it is not cached
    server.fact.map_lsn++;
    ASSERT_TRUE(begin(true) && course.ask(Command::Stage, stage_message(0, server.fact, true), &a));
    ASSERT_EQ(state(), StageState::NeedPages);
    ASSERT_TRUE(decode({9}, 0)) << course.message;
    EXPECT_FALSE(bits_of(a).test(9));

    ASSERT_TRUE(begin(true)); // expressions that the source has not
    EXPECT_FALSE(course.ask(Command::Decode, [&] {
        Message message = decode_message(0, server.fact, {9});
        const uint64_t many = uint64_t(1) << 40;
        memcpy(&message.bytes[offsetof(DecodeRequest, expressions)], &many, sizeof many);
        return message;
    }()));
    EXPECT_EQ(course.status, Status::Invalid);
}

// The table of a build is used again as long as it would become the same, and goes with its columns.
TEST_F(SessionCacheTest, JoinTablesAreKept) {
    auto c = client();
    const std::shared_ptr<CachedJoinTables> kept = devices.find(DeviceKind::Host)->tables;
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
    EXPECT_EQ(reused(), 1u) << "the same rows";
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

// The table of a build whose pages have changed is that of the same rows, at other places and in another order, or no table.
TEST_F(SessionCacheTest, JoinTablesAreKeptWhileTheirRowsAreTheSame) {
    auto c = client();
    std::string table;
    const auto run = [&](uint32_t renamed) {
        const uint64_t before = counters.tables_reused.load();
        Groups groups;
        Course course{*c, server};
        EXPECT_TRUE(course.run(false, &groups)) << course.message;
        EXPECT_EQ(groups, expected_groups(false, 1, {}, renamed));
        table = course.table;
        return counters.tables_reused.load() - before;
    };
    const uint32_t none = UINT32_MAX;
    const auto ends_with = [&](const std::string &end) {
        return table.size() >= end.size() && table.compare(table.size() - end.size(), end.size(), end) == 0;
    };
    EXPECT_EQ(run(none), 0u);
    EXPECT_TRUE(ends_with("kB")) << table;
    server.write_dim(1, 3); // repaired: the rows are in another order
    server.dim.map_lsn++;
    EXPECT_EQ(run(none), 1u);
    EXPECT_TRUE(ends_with(", 20 rows compared, kept")) << table;
    EXPECT_EQ(run(none), 1u);
    EXPECT_TRUE(ends_with(" kB, kept")) << table;
    server.dim.visible.reset(1); // in no cache: what is there of them is told by values
    EXPECT_EQ(run(none), 1u);
    EXPECT_TRUE(ends_with(", 20 rows compared, kept")) << table;
    EXPECT_EQ(run(none), 1u);
    EXPECT_TRUE(ends_with(" kB, kept")) << table;
    server.write_dim(1, 3, 1); // other rows
    EXPECT_EQ(run(1), 1u);
    EXPECT_TRUE(ends_with(", 20 rows compared, changed")) << table;
    EXPECT_EQ(run(1), 1u);
    EXPECT_TRUE(ends_with(" kB, kept")) << table;
    server.write_dim(1);
    EXPECT_EQ(run(none), 1u);
    server.write_dim(1, 0, 1); // a snapshot that sees the rows before has its own table, in their order or not
    EXPECT_EQ(run(1), 1u);
    EXPECT_TRUE(ends_with(", 20 rows compared, changed")) << table;
    EXPECT_EQ(run(1), 1u);
    EXPECT_TRUE(ends_with(" kB, kept")) << table;
    server.dim.visible.set(1);
    server.dim.map_lsn++;
    EXPECT_EQ(run(1), 1u);
    EXPECT_TRUE(ends_with(", 20 rows compared, kept")) << table;
    // Fewer rows are other rows, though all that are left are the same.
    server.dim.visible.reset(2);
    server.dim.tuples[2] = 9;
    const uint64_t before = counters.tables_reused.load();
    Groups groups;
    ASSERT_TRUE((Course{*c, server}.run(false, &groups)));
    EXPECT_NE(groups, expected_groups(false, 1, {}, 1));
    EXPECT_EQ(counters.tables_reused.load(), before + 1);
}

// Planners are told of a build's table when it is kept or found, and no longer when it is gone or cannot be found.
TEST_F(SessionCacheTest, PlannersAreToldOfJoinTables) {
    auto c = client();
    CachedBuilds builds;
    builds.clear();
    devices.find(DeviceKind::Host)->tables->tell(&builds);
    auto told_after_run = [&](uint64_t fingerprint, bool renamed = false) {
        Groups groups;
        Course course{*c, server};
        course.fingerprint = fingerprint;
        EXPECT_TRUE(course.run(false, &groups)) << course.message;
        EXPECT_EQ(groups, expected_groups(false, 1, {}, renamed ? 0 : UINT32_MAX));
        return builds.has(fingerprint);
    };
    EXPECT_FALSE(told_after_run(0));
    EXPECT_FALSE(builds.any());
    EXPECT_TRUE(told_after_run(1)) << "found, and known by now";
    EXPECT_TRUE(told_after_run(1));
    server.dim.visible.reset(1); // read row by row now: the same rows
    EXPECT_TRUE(told_after_run(1));
    server.dim.visible.set(1);
    server.dim.map_lsn++;
    for (bool renamed : {true, false}) { // somebody writes: the table is changed, as the next query will do again
        server.write_dim(0, 0, renamed);
        server.dim.map_lsn++;
        EXPECT_TRUE(told_after_run(1, renamed));
    }
    EXPECT_TRUE(told_after_run(1)) << "nobody has written since";
    EXPECT_TRUE(told_after_run(2)) << "what is written differently may be the same";
    EXPECT_TRUE(builds.has(1));
    EvictRequest all = {};
    all.all = 1;
    Course course{*c, server};
    ASSERT_TRUE(course.ask(Command::Evict, Message().put(all)));
    EXPECT_FALSE(builds.any());
}

// What the pass has no room for is not looked at: the next request begins there.
TEST_F(SessionCacheTest, ManyChunksEndWhereThePassIsFull) {
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
    EXPECT_GT(counts_of(a).at(0), 0u);
    EXPECT_EQ(counts_of(a).at(1), server.fact.npages);                                        // to bring
    ASSERT_TRUE(course.ask(Command::StageMany, stage_many_message(0, server.fact, {7}), &a)); // told once
    EXPECT_EQ(counts_of(a), (std::vector<uint32_t>{server.fact.npages}));
    EXPECT_EQ(a.head<StageManyReply>().pass_full, 0u);
}

// Two queries have read the map at one LSN; for the second one page 7 has changed again, which has cleared its bit but not
// moved the LSN. What it leaves behind must not show the first one the page as it was before the LSN.
TEST_F(SessionCacheTest, QueriesThatReadTheMapAtOneLsnSeeDifferentBits) {
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

TEST_F(SessionCacheTest, TinyCacheStillAnswers) {
    cache->set_budget(4096); // nothing fits
    auto c = client();
    Course course{*c, server};
    Groups groups;
    ASSERT_TRUE(course.run(true, &groups)) << course.message;
    EXPECT_EQ(groups, expected_groups(true));
    EXPECT_EQ(cache->bytes(), 0u);
}

TEST_F(SessionCacheTest, ListAndEvictNeedNoProgram) {
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

} // namespace
} // namespace gpuscan
