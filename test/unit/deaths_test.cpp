// Who is held responsible for a death of the device process, and what is not sent again.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <thread>

#include "engine/util/crash_handler.hpp"
#include "host/thread_pool.hpp"
#include "server/deaths.hpp"
#include "server/protocol.hpp"

namespace gpuscan {
namespace {

using namespace protocol;

constexpr uint32_t slots = 3;

// An area of three slots, of generation 1.
class DeathsTest : public testing::Test {
  protected:
    DeathsTest() {
        const size_t size = sizeof(Area) + slots * sizeof(Slot);
        memory_ = std::unique_ptr<char[]>(new char[size]());
        area = reinterpret_cast<Area *>(memory_.get());
        area->nslots = slots;
        area->slots_offset = sizeof(Area);
        area->generation = 1;
    }

    void runs(uint32_t number, uint64_t program, const char *query) {
        Slot &slot = *area->slot(number);
        slot.generation = 1;
        slot.state = static_cast<uint32_t>(SlotState::Taken);
        slot.request = slot.reply.load() + 1;
        slot.command = static_cast<uint32_t>(Command::Run);
        slot.program = program;
        slot.backend_of_request = 100 + static_cast<int>(number);
        strcpy(slot.query, query);
    }

    void noted(uint32_t slot, bool from_outside) {
        area->crash.slot = slot;
        area->crash.from_outside = from_outside;
        area->crash.written = 1;
    }

    Area *area;

  private:
    std::unique_ptr<char[]> memory_;
};

TEST_F(DeathsTest, TheCulpritIsRefusedAtOnceAndNobodyElse) {
    runs(0, 7, "select 0");
    runs(2, 9, "select 2");
    noted(2, false);
    const Death &death = record_death(*area, 4711, SIGSEGV, 0, 5);
    EXPECT_EQ(death.requests, 2u);
    EXPECT_EQ(death.program, 9u);
    EXPECT_EQ(death.backend_pid, 102);
    EXPECT_STREQ(death.query, "select 2");
    EXPECT_TRUE(is_refused(area->suspects, 9));
    EXPECT_FALSE(is_refused(area->suspects, 7));
    EXPECT_EQ(area->crash.written.load(), 0u);
}

TEST_F(DeathsTest, WhereNobodyKnowsTheSecondStrikeCounts) {
    runs(0, 7, "select 0");
    runs(1, 8, "select 1");
    const Death &death = record_death(*area, 1, SIGSEGV, 0, 5);
    EXPECT_EQ(death.program, 0u);
    EXPECT_STREQ(death.query, "");
    EXPECT_FALSE(is_refused(area->suspects, 7));
    area->slot(1)->reply = area->slot(1)->request.load(); // it is done
    EXPECT_EQ(record_death(*area, 2, SIGSEGV, 0, 6).program, 7u);
    EXPECT_TRUE(is_refused(area->suspects, 7));
    EXPECT_FALSE(is_refused(area->suspects, 8));
    EXPECT_EQ(area->deaths.count.load(), 2u);
}

TEST_F(DeathsTest, WhoIsKilledFromOutsideProvesNothing) {
    runs(0, 7, "select 0");
    record_death(*area, 1, SIGKILL, 0, 5);
    record_death(*area, 2, SIGKILL, 0, 6);
    noted(0, true);
    record_death(*area, 3, SIGSEGV, 0, 7);
    record_death(*area, 4, 0, 0, 8); // SIGTERM
    EXPECT_EQ(area->suspects.count.load(), 0u);
    record_death(*area, 5, 0, 1, 9);
    EXPECT_EQ(area->suspects.count.load(), 1u);
}

TEST_F(DeathsTest, TheListKeepsTheLastOnes) {
    for (uint32_t i = 0; i < max_deaths + 3; ++i)
        record_death(*area, static_cast<int>(i), SIGKILL, 0, i);
    EXPECT_EQ(area->deaths.count.load(), max_deaths + 3);
    EXPECT_EQ(area->deaths.at[2].pid, static_cast<int>(max_deaths) + 2);
    EXPECT_EQ(area->deaths.at[3].pid, 3);
}

TEST_F(DeathsTest, OldSuspectsMakeRoom) {
    for (uint64_t program = 1; program <= max_suspects + 1; ++program)
        add_strikes(area->suspects, program, strikes_to_refuse);
    EXPECT_FALSE(is_refused(area->suspects, 1));
    EXPECT_TRUE(is_refused(area->suspects, 2));
    EXPECT_TRUE(is_refused(area->suspects, max_suspects + 1));
    EXPECT_FALSE(is_refused(area->suspects, 0));
}

TEST_F(DeathsTest, AFileOfAnotherVersionIsOfNoUse) {
    add_strikes(area->suspects, 5, 2);
    add_strikes(area->suspects, 6, 1);
    const std::string text = suspects_text(area->suspects, "abc");
    Suspects same = {}, other = {}, broken = {};
    read_suspects(same, text, "abc");
    read_suspects(other, text, "abd");
    read_suspects(broken, "abc\n12 x\n13 2\n", "abc");
    EXPECT_TRUE(is_refused(same, 5));
    EXPECT_FALSE(is_refused(same, 6));
    EXPECT_EQ(other.count.load(), 0u);
    EXPECT_EQ(broken.count.load(), 0u);
}

TEST(LibraryVersion, IsThatOfTheBuild) {
    EXPECT_GE(library_version().size(), 7u); // a build ID, or "unknown"
    EXPECT_EQ(library_version().find(' '), std::string::npos);
}

// ---- the handler, in a process of its own ----

[[maybe_unused]] CrashNote *shared_note() { // (AddressSanitizer handles signals itself)
    void *memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<CrashNote *>(memory);
}

template <class Work> int signal_of(CrashNote &note, Work work) {
    const pid_t pid = fork();
    if (pid == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        handle_crashes(note);
        work();
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

#if !defined(__SANITIZE_ADDRESS__)

TEST(CrashHandler, NamesTheSlotOfAHelpingThread) {
    CrashNote &note = *shared_note();
    EXPECT_EQ(signal_of(note,
                        [] {
                            ThreadPool pool(4);
                            const WorkingFor working(17);
                            std::atomic<int> waiting{0};
                            pool.run(4, [&](size_t, unsigned worker) {
                                if (worker != 0)
                                    *static_cast<volatile int *>(nullptr) = 1;
                                while (waiting.load() == 0) // for a helper to come
                                    usleep(1000);
                            });
                        }),
              SIGSEGV);
    EXPECT_EQ(note.written.load(), 1u);
    EXPECT_EQ(note.slot, 17u);
    EXPECT_EQ(note.from_outside, 0u);
}

#if !defined(__SANITIZE_THREAD__) // ThreadSanitizer calls handlers later, by its own stack

// (volatile, so that no compiler makes a loop of it)
#if defined(__GNUC__) && __GNUC__ >= 12
#pragma GCC diagnostic ignored "-Winfinite-recursion"
#endif
int deeper(volatile int *depth) {
    volatile char room[4096];
    room[0] = static_cast<char>(*depth);
    *depth = *depth + 1;
    return deeper(depth) + room[0];
}

TEST(CrashHandler, SeesTheOverflowOfAStack) {
    CrashNote &note = *shared_note();
    EXPECT_EQ(signal_of(note,
                        [] {
                            std::thread([] {
                                const SignalStack stack;
                                const WorkingFor working(3);
                                volatile int depth = 0;
                                deeper(&depth);
                            }).join();
                        }),
              SIGSEGV);
    EXPECT_EQ(note.written.load(), 1u);
    EXPECT_EQ(note.slot, 3u);
}

#endif

TEST(CrashHandler, TellsWhoIsKilledFromOutside) {
    CrashNote &note = *shared_note();
    EXPECT_EQ(signal_of(note,
                        [] {
                            const pid_t victim = getpid();
                            if (fork() == 0) {
                                kill(victim, SIGSEGV);
                                _exit(0);
                            }
                            for (;;)
                                pause();
                        }),
              SIGSEGV);
    EXPECT_EQ(note.from_outside, 1u);
}

#endif

} // namespace
} // namespace gpuscan
