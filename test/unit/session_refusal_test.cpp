// Messages that are wrong, or come in the wrong order: is each refused, and nothing worse?
#include <random>

#include "session_fixture.hpp"

namespace gpuscan {
namespace {

using namespace protocol;
using namespace test;

class SessionRefusalTest : public SessionTest {};

TEST_F(SessionRefusalTest, WrongOrdersAreInvalid) {
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

TEST_F(SessionRefusalTest, LookupMustCoverTheDictionary) {
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

// Entries that are none, or that lack; and of a lookup with a key those that were put are kept, for the same and for other sessions.
TEST_F(SessionRefusalTest, DeferralsOfLookupsThatAreNone) {
    const auto deferred_program = [] {
        const std::string bytes = join_program(true);
        Program program = parse_program(bytes.data(), bytes.size());
        program.lookups[0].deferred = 1;
        return serialize_program(program);
    };
    auto c = client();
    Course course{*c, server};
    UseLookupRequest use = {};
    use.key_size = 3;
    const Message use_lookup = Message().put(use).raw("key", 3).raw("", 0);
    const auto deferred = [&](Answer *a, bool with_key = false) {
        return course.ask(Command::Open, open_message(deferred_program())) &&
               course.ask(Command::DefineSource, define_message(0, server.dim, {1, 2})) &&
               course.ask(Command::DefineSource, define_message(1, server.fact, {1, 2, 3})) &&
               course.feed(0, server.dim) && (!with_key || course.ask(Command::UseLookup, use_lookup)) &&
               course.ask(Command::DeferredCodes, Message().put(DeferredCodesRequest{0, 0})) &&
               course.ask(Command::Run, run_message(0)) && course.feed(1, server.fact) &&
               course.ask(Command::DeferredCodes, Message().put(DeferredCodesRequest{1, 0}), a);
    };
    const auto put_entries = [&](const Answer &a, uint32_t beyond, uint32_t as_texts = 0) {
        std::vector<uint32_t> codes(a.head<DeferredCodesReply>().count);
        memcpy(codes.data(), a.bytes.data() + sizeof(DeferredCodesReply), codes.size() * sizeof(uint32_t));
        codes[0] += beyond;
        const PutEntriesRequest put = {0, static_cast<uint32_t>(codes.size()), as_texts, 0};
        const std::vector<uint8_t> values(codes.size(), 1), nulls(codes.size());
        return course.ask(Command::PutEntries, Message().put(put).array(codes).array(values).array(nulls));
    };
    Answer a;
    ASSERT_TRUE(deferred(&a)) << course.message;
    ASSERT_GT(a.head<DeferredCodesReply>().count, 0u);
    EXPECT_TRUE(put_entries(a, 0));
    EXPECT_TRUE(course.ask(Command::Run, run_message(1))) << course.message;

    ASSERT_TRUE(deferred(&a));
    EXPECT_FALSE(put_entries(a, 1000));
    EXPECT_EQ(course.status, Status::Invalid);

    ASSERT_TRUE(deferred(&a));
    EXPECT_FALSE(course.ask(Command::Run, run_message(1))); // nothing has been put
    EXPECT_EQ(course.status, Status::Invalid);

    ASSERT_TRUE(deferred(&a));
    EXPECT_FALSE(put_entries(a, 0, 1)); // no unified dictionary takes texts
    EXPECT_EQ(course.status, Status::Invalid);

    ASSERT_TRUE(deferred(&a, true));
    ASSERT_GT(a.head<DeferredCodesReply>().count, 0u);
    EXPECT_TRUE(put_entries(a, 0));
    EXPECT_TRUE(course.ask(Command::Run, run_message(1))) << course.message;
    ASSERT_TRUE(deferred(&a, true));
    EXPECT_EQ(a.head<DeferredCodesReply>().count, 0u);
    EXPECT_TRUE(course.ask(Command::Run, run_message(1))) << course.message;
    ASSERT_TRUE(deferred(&a));
    EXPECT_GT(a.head<DeferredCodesReply>().count, 0u);
}

// Sound requests with bytes changed, cut or swapped, in any order: answered, never a crash, and the cache stays usable.
TEST_F(SessionRefusalTest, SurvivesGarbage) {
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
        {Command::UseLookup, Message().put(UseLookupRequest{0, 0, 4, 0, RankOrder::Bytes, 0}).raw("rank", 4)},
        {Command::CodesOfRanks, Message().put(CodesOfRanksRequest{0, 2}).array(std::vector<uint32_t>{1, 0})},
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

} // namespace
} // namespace gpuscan
