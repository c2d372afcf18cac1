// The device process as a process: what it may write, that it answers, and how it ends.
#include <signal.h>
#include <sys/wait.h>

#include <cinttypes>

#include "device_client.hpp"
#include "server/device_process.hpp"

namespace gpuscan {
namespace {

using namespace protocol;
using namespace test;

// The rights of the mapping that holds an address of another process, "rw-s" and the like.
std::string rights_of(pid_t pid, const void *address) {
    FILE *maps = fopen(("/proc/" + std::to_string(pid) + "/maps").c_str(), "r");
    char line[512], rights[8] = "";
    for (uintptr_t start, end; maps != nullptr && fgets(line, sizeof line, maps) != nullptr;)
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &start, &end, rights) == 3 &&
            start <= reinterpret_cast<uintptr_t>(address) && reinterpret_cast<uintptr_t>(address) < end)
            break;
    if (maps != nullptr)
        fclose(maps);
    return rights;
}

class DeviceProcessTest : public ::testing::Test {
  protected:
    void SetUp() override {
        area = make_area(2);
        ASSERT_NE(area, nullptr);
        area->generation = 1;
        area->wanted_devices = 1;
        area->cache_size = size_t(64) << 20;
        area->host_threads = 2;
        area->state = static_cast<uint32_t>(ServiceState::Starting);
        DeviceProcessOptions options = {};
        options.area = area;
        options.pool.pages = server.pool().pages;
        options.pool.size = server.pool().size;
        options.protect[options.nprotect++] = server.pool().pages + 100;
        pid = fork();
        if (pid == 0)
            device_process_main(options);
        for (int i = 0; i < 500 && area->state == static_cast<uint32_t>(ServiceState::Starting); ++i)
            futex_wait(area->state, static_cast<uint32_t>(ServiceState::Starting), 20);
        ASSERT_EQ(area->state.load(), static_cast<uint32_t>(ServiceState::Ready));
    }

    void TearDown() override {
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, nullptr, 0);
        }
        munmap(area, area->size);
    }

    int end_with(int signal_number) {
        int status = -1;
        kill(pid, signal_number);
        for (int i = 0; i < 100 && waitpid(pid, &status, WNOHANG) == 0; ++i)
            usleep(10 * 1000);
        pid = 0;
        return status;
    }

    Server server;
    Area *area = nullptr;
    pid_t pid = 0;
};

TEST_F(DeviceProcessTest, AnswersAndMayNotWriteSharedBuffers) {
    EXPECT_EQ(rights_of(pid, server.pool().pages), "r--s");
    EXPECT_EQ(rights_of(pid, area), "rw-s");
    SlotClient client(area, 1);
    client.take();
    for (int round = 0; round < 2; ++round) {
        Course course{client, server};
        Groups groups;
        ASSERT_TRUE(course.run(true, &groups)) << course.message;
        EXPECT_EQ(groups, expected_groups(true));
    }
    EXPECT_STREQ(area->devices[0].name, "host");
    EXPECT_EQ(area->devices[0].state, static_cast<uint32_t>(ServiceState::Ready));
    EXPECT_EQ(area->counters.chunks_built.load(), 2u);
}

TEST_F(DeviceProcessTest, EndsBySigterm) {
    const int status = end_with(SIGTERM);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(DeviceProcessTest, DiesWithASegmentationFault) {
    const int status = end_with(SIGSEGV);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && !WCOREDUMP(status)) << status;
}

} // namespace
} // namespace gpuscan
