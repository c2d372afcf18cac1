// Sessions that work on one fragment, or on one chunk: who may do what?
#include "session_fixture.hpp"

namespace gpuscan {
namespace {

using namespace protocol;
using namespace test;

class SessionHelperTest : public SessionTest {};

TEST_F(SessionHelperTest, AnotherSessionStages) {
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

TEST_F(SessionHelperTest, WhatIsDeliveredMustBeCollected) {
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

// The second partition is fed by a number that no source of the program has.
TEST_F(SessionHelperTest, HelpersOfAPartitionCountWhatTheProgramShows) {
    auto c = client(), h = client();
    for (bool hidden : {true, false}) {
        const std::string counting = count_program();
        Program program = parse_program(counting.data(), counting.size());
        program.sources.at(0).uncounted = hidden;
        Course leader{*c, server}, course{*h, server};
        Answer a;
        ASSERT_TRUE(leader.ask(Command::Open, open_message(serialize_program(program))));
        ASSERT_TRUE(leader.ask(Command::DefineSource, define_message(0, server.dim, {1})));
        ASSERT_TRUE(leader.ask(Command::DefineSource, define_message(0, server.fact, {1}, 1)));
        ASSERT_TRUE(leader.ask(Command::Share, Message().put(ShareRequest{1, 0, 100}), &a));
        ASSERT_TRUE(course.ask(Command::Join, Message().put(JoinRequest{a.head<ShareReply>().ticket})));
        ASSERT_TRUE(course.feed(0, server.fact)) << course.message;
        EXPECT_EQ(course.decoded, 40u);
        EXPECT_EQ(counters.pages_decoded.load(), hidden ? 0u : 40u);
        ASSERT_TRUE(course.ask(Command::Close, Message()) && leader.ask(Command::Close, Message()));
        cache->evict_all();
    }
}

TEST_F(SessionHelperTest, AnotherSessionBringsRows) {
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

TEST_F(SessionHelperTest, AHelperCanOnlyStageAndNotTwice) {
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

TEST_F(SessionHelperTest, AHelperDecodesIntoTheLeadersChunk) {
    auto first = client(), second = client();
    Course leader{*first, server}, helper{*second, server};
    Answer a;
    auto begin = [&] {
        ASSERT_TRUE(leader.ask(Command::Open, open_message(count_program())));
        ASSERT_TRUE(leader.ask(Command::DefineSource, define_message(0, server.fact, {1})));
        ASSERT_TRUE(leader.ask(Command::Share, Message().put(ShareRequest{0, 0, 100}), &a));
        ASSERT_TRUE(helper.ask(Command::Join, Message().put(JoinRequest{a.head<ShareReply>().ticket})));
    };
    const Message third = decode_message(0, server.fact, {3, 4});
    begin();
    EXPECT_FALSE(helper.ask(Command::Decode, third)); // nobody builds
    EXPECT_EQ(helper.status, Status::Invalid);
    begin();
    ASSERT_TRUE(leader.ask(Command::Stage, stage_message(0, server.fact, false), &a));
    ASSERT_EQ(a.head<StageReply>().state, static_cast<uint32_t>(StageState::NeedPages));
    ASSERT_TRUE(leader.ask(Command::Decode, decode_message(0, server.fact, {0, 1, 2})));
    ASSERT_TRUE(helper.ask(Command::Decode, third));
    ASSERT_TRUE(leader.ask(Command::Publish, publish_message(0, {1, 4}), &a)); // one of each is bad
    PageBits good;
    for (uint32_t page : {0, 2, 3})
        good.set(page);
    EXPECT_EQ(bits_of(a), good);
    EXPECT_FALSE(helper.ask(Command::Decode, decode_message(0, server.fact, {5}))); // it is built
    EXPECT_EQ(helper.status, Status::Invalid);
    ASSERT_TRUE(leader.ask(Command::Run, run_message(0)));
    ASSERT_TRUE(leader.ask(Command::Fetch, Message(), &a));
    EXPECT_EQ(unpack(a, 0, 1).states.at(0).count,
              server.fact.tuples[0] + server.fact.tuples[2] + server.fact.tuples[3]);
    // Another chunk's pages, a page twice, and after the end of the leader.
    for (uint32_t chunk : {1, 0}) {
        cache->evict_all();
        begin();
        ASSERT_TRUE(leader.ask(Command::Stage, stage_message(0, server.fact, false)));
        ASSERT_TRUE(leader.ask(Command::Decode, decode_message(0, server.fact, {0, 1, 2})));
        Message message = decode_message(0, server.fact, {chunk == 0 ? 2u : 5u});
        memcpy(&message.bytes[offsetof(DecodeRequest, chunk)], &chunk, sizeof chunk);
        EXPECT_FALSE(helper.ask(Command::Decode, message));
        EXPECT_EQ(helper.status, Status::Invalid);
    }
    cache->evict_all();
    begin();
    ASSERT_TRUE(leader.ask(Command::Stage, stage_message(0, server.fact, false)));
    ASSERT_TRUE(helper.ask(Command::Decode, third));
    ASSERT_TRUE(leader.ask(Command::Close, Message()));
    EXPECT_FALSE(helper.ask(Command::Decode, decode_message(0, server.fact, {5})));
    EXPECT_EQ(helper.status, Status::Invalid);
    cache->evict_all();
    EXPECT_EQ(cache->bytes(), 0u);
}

TEST_F(SessionHelperTest, OneBuildsTheOthersAreBusyAndAbandonmentFreesTheToken) {
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

} // namespace
} // namespace gpuscan
