// Does a session answer whole fragments, of tables, of a CPU plan's rows, by groups and by rows, within its memory?
#include <numeric>

#include "session_fixture.hpp"

namespace gpuscan {
namespace {

using namespace protocol;
using namespace test;

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

TEST_F(SessionTest, LookupOverTheDictionary) {
    auto c = client();
    Course course{*c, server};
    Groups groups;
    ASSERT_TRUE(course.run(true, &groups)) << course.message;
    EXPECT_EQ(groups, expected_groups(true));
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

// select n, count(*) group by n
std::string numbers_program() {
    ProgramBuilder b;
    const ir::Index s = b.source({{Type::I32, 1, {}}});
    b.aggregate(s, {}, {}, {b.column(Type::I32, 0, 0)}, {{ir::AggregateKind::CountRows, ir::none}});
    return serialize_program(b.program);
}

// select m, sum(n), count(*) from (rows of n and m) group by m
std::string over_groups_program(Type key = Type::I64) {
    ProgramBuilder b;
    const ir::Index s = b.source({{Type::I32, 1, {}}, {key, 1, {}}});
    b.aggregate(s, {}, {}, {b.column(key, 0, 1)},
                {{ir::AggregateKind::Sum, b.column(Type::I32, 0, 0)}, {ir::AggregateKind::CountRows, ir::none}});
    return serialize_program(b.program);
}

Message keep_message(const std::vector<KeepColumn> &columns) {
    return Message().put(KeepRequest{static_cast<uint32_t>(columns.size()), 0}).array(columns);
}

const KeepColumn kept_key = {{ir::GroupField::Key, Type::I32, 0, 0, 0}, 0, 0};
const KeepColumn kept_count = {{ir::GroupField::Count, Type::I64, 0, 0, 0}, 0, 0};

// Each of the numbers up to 999 as often as its last digit says, and once more.
void run_numbers(Course &course) {
    ASSERT_TRUE(course.ask(Command::Open, open_message(numbers_program())));
    ASSERT_TRUE(course.ask(Command::DefineSource, Message().put(DefineSourceRequest{})));
    std::vector<int32_t> numbers;
    for (int32_t n = 0; n < 1000; ++n)
        numbers.insert(numbers.end(), static_cast<size_t>(n % 10 + 1), n);
    const BatchRequest batch = {0, static_cast<uint32_t>(numbers.size())};
    ASSERT_TRUE(
        course.ask(Command::Batch, Message().put(batch).array(std::vector<uint8_t>(numbers.size())).array(numbers)));
    ASSERT_TRUE(course.ask(Command::Run, run_message(0)));
}

TEST_F(SessionTest, GroupsAreRowsOfTheNextProgram) {
    auto c = client();
    Course course{*c, server};
    Answer a;
    for (uint32_t stage = 0; stage < 2; ++stage) {
        run_numbers(course);
        ASSERT_TRUE(course.ask(Command::Keep, keep_message({kept_key, kept_count}), &a)) << course.message;
        EXPECT_EQ(a.head<KeepReply>().stage, stage);
        EXPECT_EQ(a.head<KeepReply>().rows, 1000u);
    }
    ASSERT_TRUE(course.ask(Command::Open, open_message(over_groups_program())));
    ASSERT_TRUE(course.ask(Command::DefineSource, Message().put(DefineSourceRequest{})));
    ASSERT_TRUE(course.ask(Command::UseStage, Message().put(UseStageRequest{0, 1}), &a)) << course.message;
    EXPECT_EQ(a.head<UseStageReply>().left, 0u);
    ASSERT_TRUE(course.ask(Command::Run, run_message(0)));
    ASSERT_TRUE(course.ask(Command::Fetch, Message(), &a));
    ASSERT_EQ(a.head<FetchReply>().ngroups, 10u);
    const UnpackedGroups groups = unpack(a, 1, 2);
    for (size_t g = 0; g < 10; ++g) {
        const uint64_t digit = groups.keys[g].low - 1;
        EXPECT_EQ(groups.states[2 * g].low, 100 * digit + 10 * 4950) << digit; // sum of n
        EXPECT_EQ(groups.states[2 * g + 1].count, 100);
    }
    EXPECT_TRUE(course.ask(Command::Close, Message()));
    ASSERT_TRUE(course.ask(Command::Open, open_message(over_groups_program())));
    ASSERT_TRUE(course.ask(Command::DefineSource, Message().put(DefineSourceRequest{})));
    EXPECT_FALSE(course.ask(Command::UseStage, Message().put(UseStageRequest{0, 0})));
    EXPECT_EQ(course.status, Status::Invalid);
}

TEST_F(SessionTest, TextsOfGroupsKeepTheirDictionary) {
    auto c = client();
    Course course{*c, server};
    ASSERT_TRUE(course.ask(Command::Open, open_message(join_program(false))));
    ASSERT_TRUE(course.ask(Command::DefineSource, define_message(0, server.dim, {1, 2})));
    ASSERT_TRUE(course.ask(Command::DefineSource, define_message(1, server.fact, {1, 2, 3})));
    ASSERT_TRUE(course.feed(0, server.dim) && course.ask(Command::Run, run_message(0)));
    ASSERT_TRUE(course.feed(1, server.fact) && course.ask(Command::Run, run_message(1)));
    const KeepColumn number = {{ir::GroupField::Count, Type::I32, 0, 0, 0}, 0, 0};
    const KeepColumn name = {{ir::GroupField::Key, Type::Code, 0, 0, 0}, 0, 1};
    ASSERT_TRUE(course.ask(Command::Keep, keep_message({number, name}))) << course.message;
    ASSERT_TRUE(course.ask(Command::Open, open_message(over_groups_program(Type::Code))));
    ASSERT_TRUE(course.ask(Command::DefineSource, Message().put(DefineSourceRequest{})));
    ASSERT_TRUE(course.ask(Command::UseStage, Message().put(UseStageRequest{0, 0}))) << course.message;
    ASSERT_TRUE(course.ask(Command::Run, run_message(0)));
    Answer a;
    ASSERT_TRUE(course.ask(Command::Fetch, Message(), &a));
    const UnpackedGroups groups = unpack(a, 1, 2);
    const std::vector<std::string> names = course.dictionary(0, 1);
    Groups expected = expected_groups(false);
    ASSERT_EQ(groups.keys.size(), expected.size());
    for (size_t g = 0; g < groups.keys.size(); ++g) {
        EXPECT_EQ(static_cast<int64_t>(groups.states[2 * g].low), expected.at(names.at(groups.keys[g].low)).count);
        EXPECT_EQ(groups.states[2 * g + 1].count, 1);
    }
}

TEST_F(SessionTest, StagesThatAreNotThere) {
    auto c = client();
    Course course{*c, server};
    const auto refuses = [&](Command command, const Message &message, Status status = Status::Invalid) {
        EXPECT_FALSE(course.ask(command, message));
        EXPECT_EQ(course.status, status) << course.message;
    };
    refuses(Command::Keep, keep_message({kept_key}));
    ASSERT_TRUE(course.ask(Command::Open, open_message(numbers_program())));
    refuses(Command::Keep, keep_message({kept_key})); // it has not run
    run_numbers(course);
    refuses(Command::Keep, keep_message({{{ir::GroupField::Key, Type::I32, 0, 0, 1}, 0, 0}}), Status::Fallback);
    run_numbers(course);
    refuses(Command::Keep, keep_message({{{ir::GroupField::Key, Type::I32, 2, 0, 0}, 0, 0}}), Status::Fallback);
    run_numbers(course);
    Answer a;
    ASSERT_TRUE(course.ask(Command::Fetch, Message(), &a));
    refuses(Command::Keep, keep_message({kept_key})); // they have been fetched
    // The program has ended with it, and the next one wants other columns.
    run_numbers(course);
    ASSERT_TRUE(course.ask(Command::Keep, keep_message({kept_count, kept_key})));
    refuses(Command::Fetch, Message());
    run_numbers(course);
    ASSERT_TRUE(course.ask(Command::Keep, keep_message({kept_count, kept_key})));
    ASSERT_TRUE(course.ask(Command::Open, open_message(over_groups_program())));
    ASSERT_TRUE(course.ask(Command::DefineSource, Message().put(DefineSourceRequest{})));
    refuses(Command::UseStage, Message().put(UseStageRequest{0, 0}));
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

// Each asks for a pass before the others have nothing left, and a session that comes late finds memory, too.
TEST_F(SessionTest, SessionsThatRunAtOnceShareTheDevicesMemory) {
    devices.find(DeviceKind::Host)->device->set_memory_limit(size_t(5) << 20);
    std::vector<uint32_t> pages(server.fact.npages);
    std::iota(pages.begin(), pages.end(), 0u);
    std::vector<std::unique_ptr<DirectClient>> clients;
    std::vector<Course> courses;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(client());
        courses.push_back(Course{*clients.back(), server});
        ASSERT_TRUE(courses.back().ask(Command::Open, open_message(count_program())));
        ASSERT_TRUE(courses.back().ask(Command::DefineSource, define_message(0, server.fact, {1})));
    }
    size_t full = 0;
    std::vector<uint64_t> rows(courses.size()), expected(courses.size());
    std::vector<bool> is_full(courses.size());
    for (size_t round = 0; full + 1 < courses.size(); ++round) {
        ASSERT_LT(round, 10000u);
        const size_t i = round % (courses.size() - 1); // the last one comes late
        Answer a;
        if (is_full[i])
            continue;
        ASSERT_TRUE(courses[i].ask(Command::DecodeRows, rows_message(0, server, server.fact, pages), &a))
            << courses[i].message;
        expected[i] += 30 * pages.size();
        is_full[i] = a.head<DecodeReply>().pass_full != 0;
        full += is_full[i];
    }
    ASSERT_TRUE(courses.back().ask(Command::DecodeRows, rows_message(0, server, server.fact, pages)))
        << courses.back().message;
    expected.back() += 30 * pages.size();
    for (size_t i = 0; i < courses.size(); ++i) {
        Answer a;
        ASSERT_TRUE(courses[i].ask(Command::Run, run_message(0, true)));
        ASSERT_TRUE(courses[i].ask(Command::Fetch, Message(), &a));
        EXPECT_EQ(static_cast<uint64_t>(unpack(a, 0, 1).states.at(0).count), expected[i]);
        EXPECT_GT(expected[i], 0u);
    }
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

} // namespace
} // namespace gpuscan
