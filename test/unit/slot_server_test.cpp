// The device process as several backends see it at once: messages through slots to its threads.
#include <thread>

#include "device_client.hpp"
#include "host/host_device.hpp"
#include "server/session.hpp"
#include "server/slot_server.hpp"

namespace gpuscan {
namespace {

using namespace protocol;
using namespace test;

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
    auto *slots = new SlotServer{area, 7, devices, server->pool()};
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
