// The supervisor: a background worker that keeps one device process alive and does nothing else.
//
// The device process is its child and not the postmaster's, because a child of the postmaster that is attached to
// shared memory and dies by a signal makes the postmaster restart all sessions. The supervisor itself touches no
// driver, no lock and no database; what it does is short enough to be trusted.
//
// A life of the device process:
//   1. generation + 1, state Starting, fork. The child takes over: it makes PostgreSQL's memory read-only, opens its
//      devices and sets the state to Ready (server/).
//   2. Its death arrives as SIGCHLD, which sets the latch. State Down, generation + 1: everyone who waits for a reply
//      is woken, sees the new generation, and runs the CPU plan. Slots that were abandoned under the old generation
//      are freed here, and only here.
//   3. Again from 1: at once the first time, after a growing pause if it keeps dying within seconds, and without the
//      GPU after several such deaths (until the configuration is read again).
// gpuscan.device = none in the configuration file means that there is no child.
//
// A child that hangs (a driver that does not come back, a lock that nobody gives back, SIGSTOP) never dies by itself, and its
// clients would wait until they are cancelled. While it is ready its heartbeat grows four times a second; if it has not grown
// for gpuscan.device_timeout, the child is killed, and what follows is 2. That time is counted in looks at the heartbeat and
// not by the clock: a machine that was suspended, or that has nothing to run the supervisor on either, proves nothing.
// A kernel that takes long does not stop the heartbeat. A thread that goes on with a request whose query is over, cancelled or
// not, does not stop it either: after the same time the child is killed, and the program is refused from then on.
//
// Every death is recorded (server/deaths.hpp), with what was running. A program that has ended the process is not sent
// again, not even after a restart of the server: those programs stand in a file of the cache directory, and another version of
// the library begins anew.
//
// Nobody is left behind: the child dies with the supervisor (PR_SET_PDEATHSIG; the parent is compared after that), the
// supervisor with the postmaster (WL_EXIT_ON_PM_DEATH). Whenever the supervisor leaves in order it ends the child
// first and waits for it; in the immediate shutdown too, in the signal handler, because the postmaster sets up new
// shared memory as soon as its children are gone, and there may be no room for two (huge pages).
//
// The exit status is 1 and not 0: a worker that exits with 0 would not be started again before the next restart of
// the server.
#include "pg/pg.h"

#include "pg/service/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "engine/util/descriptors.hpp"
#include "engine/util/monotonic_clock.hpp"
#include "pg/guc.h"
#include "pg/service/area.h"
#include "pg/service/profile.h"
#include "server/deaths.hpp"
#include "server/device_process.hpp"
#include "server/futex.hpp"

extern "C" PGDLLEXPORT void gpuscan_supervisor_main(Datum argument);

namespace gpuscan {

using namespace protocol;

constexpr char cache_directory[] = "gpuscan"; // below the data directory, which is the working directory
constexpr char suspects_file[] = "gpuscan/refused_programs";
constexpr int quick_death_milliseconds = 5000; // a process that lived no longer than this died quickly
constexpr int quick_deaths_without_cuda = 5;   // after so many in a row the GPU is left alone
constexpr int longest_pause_milliseconds = 5000;
constexpr long wal_milliseconds = 250;  // between looks at where WAL ends, for a device process that follows it
constexpr int term_milliseconds = 500;  // between SIGTERM and SIGKILL
constexpr int looks = 4;                // at a heartbeat that does not grow, within gpuscan.device_timeout
constexpr int kill_milliseconds = 4000; // after SIGKILL: freeing a GPU's registrations takes a second or so

static volatile pid_t device_pid; // of the child, 0 if there is none
static TimestampTz started_at;
static TimestampTz next_start; // not before
static int quick_deaths;       // in a row
static int deaths_of_its_own;  // those of them that nobody outside caused
static uint32 running_devices; // what the child was started with
static TimestampTz next_look;  // at its heartbeat
static uint32 heartbeat_seen;
static int silent_looks; // in a row
// Of each slot: the request that nobody wants any more, and at how many looks in a row it has stood there.
struct Abandoned {
    uint32 request;
    int looks;
};
static Abandoned *abandoned;

static void set_state(Area *area, ServiceState state) {
    area->state = uint32_t(state);
    futex_wake(area->state);
}

// ---- signals -------------------------------------------------------------------------------------------------------

static void handle_sigchld(int signal_number) {
    (void)signal_number;
    int saved_errno = errno;
    SetLatch(MyLatch);
    errno = saved_errno;
}

// Immediate shutdown, or another process crashed: shared memory may be in any state, so no callbacks.
static void handle_sigquit(int signal_number) {
    (void)signal_number;
    if (device_pid > 0) {
        kill(device_pid, SIGKILL);
        (void)wait_until_gone(device_pid, kill_milliseconds);
    }
    _exit(2);
}

// ---- programs that are not sent again ---------------------------------------------------------------------------------

// Neither reading nor writing it can fail in a way that matters: what is lost costs one more death.
static void load_suspects(Area *area) {
    FILE *file = AllocateFile(suspects_file, PG_BINARY_R);
    if (!file)
        return;
    char text[64 * max_suspects];
    size_t size = fread(text, 1, sizeof text, file);
    FreeFile(file);
    read_suspects(area->suspects, std::string(text, size), library_version());
}

static void store_suspects(const Area *area) {
    std::string text = suspects_text(area->suspects, library_version());
    FILE *file = AllocateFile("gpuscan/refused_programs.tmp", PG_BINARY_W);
    if (!file || fwrite(text.data(), 1, text.size(), file) != text.size())
        ereport(LOG, (errcode_for_file_access(), errmsg("could not write file \"%s\": %m", suspects_file)));
    if (file && FreeFile(file) == 0)
        (void)durable_rename("gpuscan/refused_programs.tmp", suspects_file, LOG);
}

// ---- the child -----------------------------------------------------------------------------------------------------

static uint32 wanted_devices(Area *area) {
    // A session may choose any device later, so both are started unless the administrator says otherwise.
    switch (guc_device) {
    case DEVICE_NONE:
        return 0;
    case DEVICE_HOST:
        return 1;
    default:
        return area->cuda_suspended ? 1 : 3;
    }
}

// Runs in the child, with all signals blocked, and never returns. No PostgreSQL code runs after it.
[[noreturn]] static void run_child(const DeviceProcessOptions &options, pid_t parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
    // Even a stray exit() must not run PostgreSQL's callbacks.
    on_exit_reset();
    init_ps_display("gpuscan device process");
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    // A dump would hold all of shared_buffers.
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    close_descriptors(STDERR_FILENO + 1);
    device_process_main(options);
    _exit(1);
}

// Slots that their backends have left under an earlier generation. (The backends free the others themselves.) The bit is the
// last thing that a backend writes; the state alone would free a slot that is about to be marked again.
static void free_abandoned_slots(Area *area) {
    uint32 generation = area->generation;
    for (uint32 i = 0; i < area->nslots; i++) {
        Slot *slot = area->slot(i);
        if (slot->state == uint32_t(SlotState::Abandoned) && slot->generation != generation &&
            (slot->request & request_abandoned) != 0) {
            slot->request &= ~request_abandoned;
            slot->reply = slot->request.load();
            slot->state = uint32_t(SlotState::Free);
        }
    }
    area->queue.wake_first();
}

static void wake_everybody(Area *area) {
    futex_wake(area->generation);
    for (uint32 i = 0; i < area->nslots; i++)
        futex_wake(area->slot(i)->reply);
}

// After the end of the child, however it came. The state goes first: a backend that connects reads the generation and then
// the state, and must not find the new generation, which nobody serves, beside the old state.
static void child_is_gone(Area *area) {
    device_pid = 0;
    area->device_pid = 0;
    area->start_began_ns = monotonic_ns();
    set_state(area, ServiceState::Down);
    area->generation++;
    area->crash.written = 0;
    for (DeviceEntry &entry : area->devices) {
        entry.state = uint32_t(ServiceState::Down);
        entry.memory_used = 0;
        entry.cache_bytes = 0;
    }
    wake_everybody(area);
    free_abandoned_slots(area);
}

// The bits of a lock that whoever changes what it protects sets.
static uint32 exclusive_bits() {
    LWLock lock;
    LWLockInitialize(&lock, LWTRANCHE_FIRST_USER_DEFINED);
    const uint32 unlocked = pg_atomic_read_u32(&lock.state);
    LWLockAcquire(&lock, LW_EXCLUSIVE);
    const uint32 locked = pg_atomic_read_u32(&lock.state);
    LWLockRelease(&lock);
    return locked & ~unlocked;
}

static void start_child(Area *area) {
    DeviceProcessOptions options = {};
    options.area = area;
    static_assert(sizeof(BufferTag) == sizeof(PageTag), "page_identity.cpp compares them as bytes");
    options.pool.pages = reinterpret_cast<const uint8 *>(BufferBlocks);
    options.pool.size = size_t(NBuffers) * BLCKSZ;
    options.pool.descriptors = reinterpret_cast<const uint8 *>(BufferDescriptors);
    options.pool.descriptor_size = sizeof(BufferDescPadded);
    options.pool.tag_offset = offsetof(BufferDesc, tag);
    options.pool.state_offset = offsetof(BufferDesc, state);
    options.pool.lock_offset = page_lock_offset;
    options.pool.lock_held = exclusive_bits();
    options.pool.valid = BM_VALID;
    options.pool.locked = BM_LOCKED;
    options.protect[options.nprotect++] = BufferBlocks;
    options.protect[options.nprotect++] = ProcGlobal;
    // With shared_memory_type = mmap this small segment only tells a new postmaster that old processes are still
    // attached, and the device process is none that it must wait for. With sysv it is the shared memory itself.
    options.detach = shared_memory_type == SHMEM_TYPE_MMAP ? UsedShmemSegAddr : nullptr;
    options.cache_dir = cache_directory;
    if (mkdir(cache_directory, S_IRWXU) != 0 && errno != EEXIST)
        ereport(LOG, (errcode_for_file_access(), errmsg("could not create directory \"%s\": %m", cache_directory)));

    area->generation++;
    free_abandoned_slots(area);
    if (running_devices == 0) // (nobody wanted it until now)
        area->start_began_ns = monotonic_ns();
    running_devices = wanted_devices(area);
    area->wanted_devices = running_devices;
    started_at = GetCurrentTimestamp();
    set_state(area, ServiceState::Starting);

    pid_t parent = getpid();
    sigset_t all, old;
    fflush(nullptr);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    pid_t pid = fork();
    if (pid == 0)
        run_child(options, parent);
    int fork_errno = errno;
    device_pid = pid > 0 ? pid : 0;
    area->device_pid = device_pid;
    sigprocmask(SIG_SETMASK, &old, nullptr);
    errno = fork_errno;
    if (pid < 0) {
        ereport(LOG, (errmsg("could not fork gpuscan device process: %m")));
        set_state(area, ServiceState::Down);
        next_start = started_at + longest_pause_milliseconds * INT64CONST(1000);
    } else
        ereport(LOG, (errmsg("gpuscan device process (PID %d) started", int(pid)),
                      running_devices == 1 ? errdetail("It uses the CPU engine only.") : 0));
}

// Tells the log, the counter and the list of deaths; the requests that were running still stand in their slots. (The query is cut where its
// room ends, which may be within a character.)
static const Death *note_death(Area *area, pid_t pid, int status) {
    int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    TimestampTz now = GetCurrentTimestamp();
    area->counters.restarts++;
    int64 since_1970 = now + (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
    const Death *death =
        &record_death(*area, int(pid), signal_number, signal_number != 0 ? 0 : WEXITSTATUS(status), since_1970);
    char query[query_bytes];
    size_t length = size_t(pg_mbcliplen(death->query, int(strlen(death->query)), int(sizeof query) - 1));
    memcpy(query, death->query, length);
    query[length] = '\0';
    const bool known = death->command != 0;
    if (signal_number != 0)
        ereport(LOG, (errmsg("gpuscan device process (PID %d) was terminated by signal %d: %s", int(pid), signal_number,
                             pg_strsignal(signal_number)),
                      known ? errdetail("It was running for: %s", query) : 0));
    else
        ereport(LOG, (errmsg("gpuscan device process (PID %d) exited with exit code %d", int(pid), WEXITSTATUS(status)),
                      known ? errdetail("It was running for: %s", query) : 0));
    if (area->suspects.count > 0)
        store_suspects(area);
    return death;
}

// The child died by itself: when may the next one start, and with which devices?
static void plan_next_start(Area *area, int status, const Death *death) {
    TimestampTz now = GetCurrentTimestamp();
    if (TimestampDifferenceExceeds(started_at, now, quick_death_milliseconds))
        quick_deaths = deaths_of_its_own = 0;
    else {
        quick_deaths++;
        // (kill -9, the kernel's lack of memory and a program that is refused from now on say nothing about the GPU)
        if ((!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) && !is_refused(area->suspects, death->program))
            deaths_of_its_own++;
    }
    int64 pause = quick_deaths <= 1 ? 0 : (quick_deaths - 1) * INT64CONST(1000);
    if (pause > longest_pause_milliseconds)
        pause = longest_pause_milliseconds;
    next_start = now + pause * 1000;
    if (deaths_of_its_own >= quick_deaths_without_cuda && (running_devices & 2) != 0) {
        area->cuda_suspended = 1;
        ereport(LOG, (errmsg("gpuscan device process ended %d times in a row soon after its start", deaths_of_its_own),
                      errdetail("It is started with the CPU engine only."),
                      errhint("Reload the configuration to try the GPU again.")));
    }
}

// Also those that we ended ourselves: their last thread may go a moment after they were seen to be gone.
static void reap_children(Area *area) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != device_pid)
            continue;
        const Death *death = note_death(area, pid, status);
        child_is_gone(area);
        plan_next_start(area, status, death);
    }
}

// Ends the child by our own will.
static void stop_child(Area *area) {
    if (device_pid == 0)
        return;
    set_state(area, ServiceState::Down);
    kill(device_pid, SIGTERM);
    if (!wait_until_gone(device_pid, term_milliseconds)) {
        kill(device_pid, SIGKILL);
        (void)wait_until_gone(device_pid, kill_milliseconds);
    }
    (void)waitpid(device_pid, nullptr, WNOHANG);
    child_is_gone(area);
    next_start = 0;
}

static int64 milliseconds_between_looks() { return guc_device_timeout / looks; }

// A slot whose thread has worked on for so long though nobody wants the answer any more; no_slot: none.
static uint32 deaf_slot(Area *area) {
    uint32 deaf = no_slot;
    for (uint32 i = 0; i < area->nslots; ++i) {
        const Slot &slot = *area->slot(i);
        const uint32 request = slot.request;
        Abandoned *seen = &abandoned[i];
        const bool open = (request & request_abandoned) != 0 && slot.generation == area->generation;
        seen->looks = open && seen->request == request ? seen->looks + 1 : 0;
        seen->request = request;
        if (seen->looks >= looks)
            deaf = i;
    }
    return deaf;
}

// Kills a child that has been silent for too long, or that goes on with what has been cancelled: then by that request.
static void end_hung_child(Area *area) {
    TimestampTz now = GetCurrentTimestamp();
    uint32 heartbeat = area->heartbeat;
    bool watched = device_pid != 0 && guc_device_timeout > 0 && area->state == uint32_t(ServiceState::Ready);
    if (heartbeat != heartbeat_seen || !watched)
        silent_looks = 0;
    if (watched && now < next_look)
        return;
    if (heartbeat == heartbeat_seen && watched)
        silent_looks++;
    heartbeat_seen = heartbeat;
    next_look = now + milliseconds_between_looks() * 1000;
    const uint32 deaf = watched ? deaf_slot(area) : no_slot;
    if (silent_looks < looks && deaf == no_slot)
        return;
    pid_t pid = device_pid;
    int status = SIGKILL;
    if (silent_looks >= looks)
        ereport(LOG, (errmsg("gpuscan device process (PID %d) has given no sign of life for %d seconds", int(pid),
                             guc_device_timeout / 1000),
                      errdetail("It is terminated and started again.")));
    else {
        ereport(LOG, (errmsg("gpuscan device process (PID %d) has not ended a cancelled request for %d seconds",
                             int(pid), guc_device_timeout / 1000),
                      errdetail("It is terminated and started again.")));
        area->crash.signal = SIGKILL;
        area->crash.slot = deaf;
        area->crash.from_outside = 0;
        area->crash.written = 1;
    }
    silent_looks = 0;
    memset(abandoned, 0, sizeof(Abandoned) * area->nslots);
    set_state(area, ServiceState::Down);
    kill(pid, SIGKILL);
    // One that hangs in the kernel stays there, but never comes back to touch the shared area.
    (void)wait_until_gone(pid, kill_milliseconds);
    (void)waitpid(pid, &status, WNOHANG);
    const Death *death = note_death(area, pid, status);
    child_is_gone(area);
    plan_next_start(area, status, death);
}

static void stop_child_at_exit(int code, Datum argument) {
    (void)code;
    (void)argument;
    stop_child(service_area());
}

// ---- the worker ----------------------------------------------------------------------------------------------------

static void reload_configuration(Area *area) {
    ProcessConfigFile(PGC_SIGHUP);
    quick_deaths = deaths_of_its_own = 0;
    next_start = 0;
    area->cuda_suspended = 0;
    area_publish_settings(area);
    load_profile(area);
    area->config_version++;
    futex_wake(area->config_version);
    if (wanted_devices(area) != running_devices) {
        stop_child(area);
        area->wanted_devices = running_devices = wanted_devices(area);
    }
}

static long milliseconds_to_sleep(const Area *area) {
    if (device_pid != 0) {
        const long look = guc_device_timeout > 0 ? long(milliseconds_between_looks()) : 10000;
        return area->wal_is_followed != 0 ? std::min(look, wal_milliseconds) : look;
    }
    long pause = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), next_start);
    return pause < 10 ? 10 : pause;
}

static void supervise(Area *area) {
    for (;;) {
        if (ShutdownRequestPending)
            proc_exit(1);
        if (ConfigReloadPending) {
            ConfigReloadPending = false;
            reload_configuration(area);
        }
        reap_children(area);
        end_hung_child(area);
        if (!RecoveryInProgress())
            area->flushed_wal = GetFlushRecPtr(nullptr);
        bool wanted = wanted_devices(area) != 0;
        if (device_pid == 0 && wanted && GetCurrentTimestamp() >= next_start)
            start_child(area);
        free_abandoned_slots(area);
        (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (wanted ? WL_TIMEOUT : 0),
                        milliseconds_to_sleep(area), PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
    }
}

static void supervisor_run() {
    Area *area = service_area();
    pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGQUIT, handle_sigquit);
    pqsignal(SIGCHLD, handle_sigchld);
    BackgroundWorkerUnblockSignals();

    abandoned = static_cast<Abandoned *>(MemoryContextAllocZero(TopMemoryContext, sizeof(Abandoned) * area->nslots));

    // An earlier supervisor's child dies with its parent, but that may take a moment.
    if (!wait_until_gone(area->device_pid, kill_milliseconds))
        ereport(LOG, (errmsg("gpuscan device process %d has not ended yet", area->device_pid.load())));
    bool first = area->generation == 0;
    child_is_gone(area);
    if (first)
        load_suspects(area);
    if (!first)
        started_at = GetCurrentTimestamp(); // what starts now is a restart
    area_publish_settings(area);
    load_profile(area);
    before_shmem_exit(stop_child_at_exit, Datum(0));

    supervise(area);
}

void supervisor_register() {
    BackgroundWorker worker = {};
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
    worker.bgw_start_time = BgWorkerStart_ConsistentState;
    worker.bgw_restart_time = 1;
    strlcpy(worker.bgw_library_name, "gpuscan", sizeof worker.bgw_library_name);
    strlcpy(worker.bgw_function_name, "gpuscan_supervisor_main", sizeof worker.bgw_function_name);
    strlcpy(worker.bgw_name, "gpuscan supervisor", sizeof worker.bgw_name);
    strlcpy(worker.bgw_type, "gpuscan supervisor", sizeof worker.bgw_type);
    RegisterBackgroundWorker(&worker);
}

} // namespace gpuscan

extern "C" void gpuscan_supervisor_main(Datum argument) {
    (void)argument;
    gpuscan::supervisor_run();
}
