// libFuzzer target for the protocol: any messages in any order to two sessions of one device process.
//
// The input is a list of messages: one byte with the command, one with the session, three with the size, and the bytes. The device is
// the host's; the buffer pool is that of the unit tests. A Join with ticket 0 takes the ticket of the last reply to Share.
#include "../../unit/device_client.hpp"
#include "session_course.hpp"

using namespace gpuscan;
using namespace gpuscan::protocol;

namespace {

constexpr int nsessions = 2;

struct World {
    fuzz::Process process;
    test::Server server;
};

World &world() {
    static World *const the = new World; // never destroyed: threads use it
    return *the;
}

// Goes through the course of a fragment and writes down what it says.
class Recorder : public test::Client {
  public:
    Recorder(std::string &log, char number)
        : session_(world().process.devices, world().process.counters, world().server.pool()), log_(log),
          number_(number) {}

    test::Answer call(Command command, const test::Message &message) override {
        const SessionReply reply =
            fuzz::send(world().process, session_, command, fuzz::Exactly(message.bytes.data(), message.bytes.size()));
        std::string bytes = message.bytes;
        if (command == Command::Join)
            bytes.assign(sizeof(JoinRequest), '\0');
        log_ += {static_cast<char>(command), number_, static_cast<char>(bytes.size()),
                 static_cast<char>(bytes.size() >> 8), static_cast<char>(bytes.size() >> 16)};
        log_ += bytes;
        test::Answer answer;
        answer.status = reply.status;
        answer.message = reply.message;
        answer.bytes.assign(reinterpret_cast<const char *>(world().process.output.data()), reply.output_size);
        return answer;
    }

  private:
    Session session_;
    std::string &log_;
    const char number_;
};

// What a whole fragment does not send: functions and unified dictionaries, deferred lookups, rows of a CPU plan, questions about the cache.
void write_rarer() {
    using namespace test;
    std::string log;
    Recorder client(log, 0);
    Course course{client, world().server};
    Program program = [] {
        const std::string bytes = join_program(true);
        return parse_program(bytes.data(), bytes.size());
    }();
    const auto begin = [&](uint8_t deferred) {
        program.lookups[0].deferred = deferred;
        course.ask(Command::Open, open_message(serialize_program(program)));
        course.ask(Command::DefineSource, define_message(0, world().server.dim, {1, 2}));
        course.ask(Command::DefineSource, define_message(1, world().server.fact, {1, 2, 3}));
        course.feed(0, world().server.dim);
        if (deferred != 0)
            course.ask(Command::DeferredCodes, Message().put(DeferredCodesRequest{0, 0}));
        course.ask(Command::Run, run_message(0));
        course.feed(1, world().server.fact);
    };
    begin(1);
    Answer a;
    course.ask(Command::DeferredCodes, Message().put(DeferredCodesRequest{1, 0}), &a);
    course.ask(Command::PutEntries, Message()
                                        .put(PutEntriesRequest{0, 2})
                                        .array(std::vector<uint32_t>{0, 1})
                                        .array(std::vector<uint8_t>{1, 0})
                                        .array(std::vector<uint8_t>{0, 0}));
    course.ask(Command::DeferredCodes, Message().put(DeferredCodesRequest{1, 0}), &a);
    course.ask(Command::Run, run_message(1));
    course.ask(Command::Fetch, Message());
    fuzz::write_input("demand", log);

    log.clear();
    begin(0);
    text::Header header = {};
    text::Step steps[2] = {};
    header.nsteps = 2;
    header.nbytes = 3;
    steps[0].op = text::Op::Entry;
    steps[1].op = text::Op::Like;
    steps[1].length = 3;
    std::string function(reinterpret_cast<const char *>(&header), sizeof header);
    function.append(reinterpret_cast<const char *>(steps), sizeof steps) += "%d%";
    course.ask(Command::UseUnifiedDictionary,
               Message().put(UseUnifiedDictionaryRequest{1, 1, 0, 0}).put(UnifiedText{0, 4}).raw("like", 4));
    UseLookupRequest use = {};
    use.key_size = 4;
    use.function_size = static_cast<uint32_t>(function.size());
    course.ask(Command::UseLookup, Message().put(use).raw("like", 4).raw(function.data(), function.size()));
    course.ask(Command::Run, run_message(1));
    course.ask(Command::Fetch, Message());
    course.ask(Command::ListCache, Message().put(ListCacheRequest{}));
    course.ask(Command::Evict, Message().put(EvictRequest{1, {}}));
    fuzz::write_input("function", log);

    log.clear();
    course.ask(Command::Open, open_message(count_program()));
    course.ask(Command::DefineSource, Message().put(DefineSourceRequest{}));
    course.ask(Command::Batch,
               Message().put(BatchRequest{0, 2}).array(std::vector<uint8_t>(2)).array(std::vector<int32_t>{3, 4}));
    course.ask(Command::Run, run_message(0));
    course.ask(Command::Fetch, Message());
    fuzz::write_input("rows", log);
}

void write_corpus() {
    write_rarer();
    for (int variant = 0; variant < 16; ++variant) {
        world().process.forget();
        world().process.patience.begin();
        world().server.fact.visible = PageBits::first(variant & 8 ? 37 : 40);
        std::string log;
        Recorder leader(log, 0), helper(log, 1);
        for (int round = 0; round < 2; ++round) {
            test::Course course{leader, world().server};
            course.helper = variant & 1 ? &helper : nullptr;
            course.partitions = (variant & 2) != 0;
            course.fingerprint = 7;
            test::Groups groups;
            course.run((variant & 4) != 0, &groups);
        }
        fuzz::write_input("course" + std::to_string(variant), log);
    }
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    if (fuzz::corpus())
        write_corpus();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz::Process &process = world().process;
    process.patience.begin();
    {
        std::unique_ptr<Session> sessions[nsessions];
        for (std::unique_ptr<Session> &session : sessions)
            session = std::make_unique<Session>(process.devices, process.counters, world().server.pool());
        uint64_t ticket = 0;
        fuzz::Input in{data, size};
        while (in.size > 0) {
            const Command command = static_cast<Command>(in.number(1));
            Session &session = *sessions[in.number(1) % nsessions];
            const size_t length = in.number(3);
            fuzz::Exactly message = in.take(length);
            if (command == Command::Test)
                continue; // it is there to do harm
            if (command == Command::Join && message.size() == sizeof ticket &&
                message.text() == std::string(sizeof ticket, '\0'))
                message = fuzz::Exactly(&ticket, sizeof ticket);
            const SessionReply reply = fuzz::send(process, session, command, message);
            if (command == Command::Share && reply.status == Status::Ok && reply.output_size >= sizeof(ShareReply))
                memcpy(&ticket, process.output.data(), sizeof ticket);
        }
    }
    process.forget();
    return 0;
}
