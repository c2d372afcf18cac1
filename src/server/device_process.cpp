// The device process: its own protection, its devices, its threads, and the housekeeping of its main thread.
//
// Order matters. First the ties to the server: die with the parent, no core dump (it would hold all of shared_buffers),
// PostgreSQL's memory read-only before any code that could go wrong has run. Then, while there is a single thread, the
// processes that compile kernels. Then the devices and the slots' threads,
// with every signal from outside blocked, so that all of them are started blocked and signals reach the main thread only. Then the
// main thread lets signals in, says that the service is ready, and looks after things four times a second. Each round ends
// with a beat of the heart: it has taken the caches' locks and got an answer from the drivers, so whatever hangs in one of
// them stops the beat, and the supervisor ends the process.
//
// The process has no state worth saving: its end, wherever it comes, is _exit. Its messages go to stderr, which is the
// server's log.
#include "server/device_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <thread>

#include "engine/util/crash_handler.hpp"
#include "engine/util/monotonic_clock.hpp"
#include "server/device_setup.hpp"
#include "server/futex.hpp"
#include "server/give_back.hpp"
#include "server/planted_death.hpp"
#include "server/protect_shared_memory.hpp"
#include "server/self_measurement.hpp"
#include "server/slot_server.hpp"

namespace gpuscan {

using namespace protocol;

namespace {

constexpr int housekeeping_milliseconds = 250;
constexpr unsigned long timer_slack_ns = 1000;
constexpr char oom_score_adj[] = "300"; // the kernel should rather take this process than the server

void end_process(int) { _exit(0); }

// But for those that a thread's own faults raise: who has them blocked dies without a word.
void block_all_signals() {
    sigset_t all;
    sigfillset(&all);
    for (int number : fatal_signals)
        sigdelset(&all, number);
    sigprocmask(SIG_SETMASK, &all, nullptr);
}

// In the main thread, when all others exist.
void let_signals_in(Area &area) {
    for (int number = 1; number < NSIG; ++number)
        signal(number, SIG_DFL);
    for (int number : {SIGHUP, SIGINT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGURG, SIGCHLD})
        signal(number, SIG_IGN);
    signal(SIGTERM, end_process);
    signal(SIGQUIT, end_process);
    handle_crashes(area.crash);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The supervisor has compared the parent already; this is for those who call without one (tests).
pid_t tie_to_parent() {
    const pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    return parent;
}

void be_a_modest_process() {
    // Threads take it over: while they wait for a GPU they sleep some 20 us at a time, and the default slack is 50.
    prctl(PR_SET_TIMERSLACK, timer_slack_ns, 0, 0, 0);
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, oom_score_adj, strlen(oom_score_adj)) < 0) {
        // A container may forbid it; nothing depends on it.
    }
    close(fd);
}

void set_state(Area &area, ServiceState state) {
    area.state.store(static_cast<uint32_t>(state));
    futex_wake(area.state);
}

// Behind the queries' backs, so that none finds much to read.
void follow_wal(Area &area, Devices &devices) {
    bool wanted = false;
    for (const ServedDeviceRef &device : devices.all()) {
        wanted = wanted || device->wal.is_wanted();
        device->wal.keep_up(area.flushed_wal.load());
    }
    area.wal_is_followed.store(wanted);
}

[[noreturn]] void keep_house(Area &area, DeviceSetup &setup, Devices &devices, SlotServer &server, pid_t parent) {
    uint32_t config = area.config_version.load();
    MemoryKeeper memory;
    for (;;) {
        measure_if_wanted(area, devices);
        die_after_seconds(area.counters);
        futex_wait(area.config_version, config, housekeeping_milliseconds);
        if (getppid() != parent)
            _exit(1);
        if (area.config_version.load() != config) {
            config = area.config_version.load();
            setup.configure();
        }
        server.cancel_abandoned();
        try {
            setup.evict_gone();
            setup.update_entries();
            setup.ping();
            memory.look();
            follow_wal(area, devices);
        } catch (const std::bad_alloc &) { // another time; whoever runs now gives memory back
        }
        area.heartbeat.fetch_add(1);
    }
}

[[noreturn]] void serve(const DeviceProcessOptions &options, pid_t parent) {
    Area &area = *options.area;
    // Never destroyed: threads use them to the end.
    auto *devices = new Devices;
    auto *setup = new DeviceSetup(options, *devices);
    setup->start_compilers();
    auto *server = new SlotServer{&area, area.generation.load(), devices, options.pool};
    const bool usable = setup->start();
    if (usable)
        server->start();
    let_signals_in(area);
    area.start_took_ns.store(monotonic_ns() - area.start_began_ns.load());
    set_state(area, usable ? ServiceState::Ready : ServiceState::Failed);
    area.queue.wake_first();
    keep_house(area, *setup, *devices, *server, parent);
}

} // namespace

void device_process_main(const DeviceProcessOptions &options) {
    block_all_signals();
    limit_arenas();
    const pid_t parent = tie_to_parent();
    be_a_modest_process();
    if (!guard_memory(options))
        _exit(4);
    try {
        serve(options, parent);
    } catch (const std::exception &error) {
        fprintf(stderr, "gpuscan: the device process ends: %s\n", error.what());
    } catch (...) {
        fprintf(stderr, "gpuscan: the device process ends for an unknown reason\n");
    }
    _exit(2);
}

} // namespace gpuscan
