// Processes that compile kernels: the same machine code as in this process, errors in words, and what happens when one
// of them dies.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "cuda/compiler_processes.hpp"
#include "cuda/kernel_cache.hpp"
#include "engine/device.hpp"

namespace gpuscan {
namespace {

using cuda::CompilerProcesses;

constexpr int architecture = 90;

std::string kernel(int number) {
    return "extern \"C\" __global__ void k(int *p) { *p = " + std::to_string(number) + "; }\n";
}

class CompilerProcessesTest : public testing::Test {
  protected:
    void SetUp() override {
        try {
            here = std::make_unique<cuda::Compiler>(cuda::Nvrtc::open());
        } catch (const DeviceError &error) {
            GTEST_SKIP() << error.what();
        }
    }
    std::unique_ptr<cuda::Compiler> here;
};

TEST_F(CompilerProcessesTest, CompilesAsThisProcessDoes) {
    CompilerProcesses processes(2, [] {});
    ASSERT_EQ(processes.pids().size(), 2u);
    processes.warm_up(architecture);
    std::vector<std::string> images(6);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < images.size(); ++i)
        threads.emplace_back([&, i] {
            if (!processes.compile(kernel(static_cast<int>(i)), architecture, images[i]))
                images[i].clear();
        });
    for (std::thread &thread : threads)
        thread.join();
    for (size_t i = 0; i < images.size(); ++i)
        EXPECT_TRUE(images[i] == here->compile(kernel(static_cast<int>(i)), architecture)) << i;
}

TEST_F(CompilerProcessesTest, ReportsErrorsAndGoesOn) {
    CompilerProcesses processes(1, [] {});
    std::string image;
    try {
        processes.compile("this is no kernel", architecture, image);
        ADD_FAILURE() << "it compiled";
    } catch (const DeviceError &error) {
        EXPECT_NE(std::string(error.what()).find("does not compile"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(processes.compile(kernel(1), architecture, image));
    EXPECT_EQ(image.compare(1, 3, "ELF"), 0);
}

TEST_F(CompilerProcessesTest, OthersTakeOverFromTheDead) {
    CompilerProcesses processes(2, [] {});
    std::string image;
    kill(processes.pids().front(), SIGKILL);
    for (int i = 0; i < 4; ++i) {
        image.clear();
        ASSERT_TRUE(processes.compile(kernel(i), architecture, image));
        EXPECT_FALSE(image.empty());
    }
    ASSERT_EQ(processes.pids().size(), 1u);
    kill(processes.pids().front(), SIGKILL);
    EXPECT_FALSE(processes.compile(kernel(9), architecture, image));
    EXPECT_TRUE(processes.pids().empty());
}

TEST_F(CompilerProcessesTest, EndsItsProcesses) {
    std::vector<pid_t> pids;
    {
        CompilerProcesses processes(3, [] {});
        pids = processes.pids();
        processes.warm_up(architecture);
    }
    for (pid_t pid : pids)
        EXPECT_EQ(kill(pid, 0), -1);
}

TEST_F(CompilerProcessesTest, GivesUpWhatItIsToldTo) {
    // A child that ends in its first step serves nobody.
    CompilerProcesses processes(1, [] { _exit(0); });
    std::string image;
    EXPECT_FALSE(processes.compile(kernel(1), architecture, image));
}

} // namespace
} // namespace gpuscan
