// The shared area, an anonymous mapping of its own that the postmaster makes beside PostgreSQL's shared memory: the
// device process can then make all of PostgreSQL's memory read-only and keep this writable. Every process of the
// server inherits it at the same address. Most of it is the slots' buffers, which cost memory only once they have
// been used (MAP_NORESERVE; huge_pages does not touch it).
//
// After the crash of a backend the postmaster throws its shared memory away and calls the startup hook again: the
// old area goes too. The old device process is not the postmaster's child, so nothing else makes the postmaster wait
// for its end; but it holds the old shared memory, which with huge_pages = on must be free before the new one can be
// had. So a shmem-exit callback of the postmaster waits for it. (It is dying at that time: SIGQUIT reaches it through
// the supervisor's process group, and the supervisor's death sends it SIGKILL.)
#include "pg/service/area.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "engine/util/machine.hpp"
#include "pg/guc.h"

namespace gpuscan {

using namespace protocol;

constexpr int device_exit_milliseconds = 5000;
constexpr int min_slots = 32, max_slots = 1024; // of sessions, by default
constexpr uint32 worker_share = 2;              // for so many of these one of feed workers

static shmem_startup_hook_type previous_shmem_startup_hook;
static Area *shared_area;

Area *service_area() { return shared_area; }

bool supervisor_is_missing() {
    constexpr int patience_ms = 10000;
    return shared_area != nullptr && shared_area->generation == 0 &&
           TimestampDifferenceExceeds(PgStartTime, GetCurrentTimestamp(), patience_ms);
}

void area_publish_settings(Area *area) {
    area->cache_size = uint64(guc_cache_size) * 1024;
    area->device_share = guc_device_memory_share;
    area->host_threads = guc_host_threads;
}

// 'Z' for a zombie and so on; 0 if there is no such process. Safe in a signal handler.
static char process_state(pid_t pid) {
    char path[32] = "/proc/", text[512], digits[16];
    int ndigits = 0, length = 6;
    for (pid_t rest = pid; rest > 0; rest /= 10)
        digits[ndigits++] = char('0' + rest % 10);
    while (ndigits > 0)
        path[length++] = digits[--ndigits];
    memcpy(path + length, "/stat", sizeof "/stat");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return kill(pid, 0) == 0 || errno == EPERM ? '?' : '\0';
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    // "pid (name) state ...", where the name may hold anything
    for (ssize_t i = got - 3; i > 0; i--)
        if (text[i] == ')')
            return text[i + 2];
    return '\0';
}

bool wait_until_gone(pid_t pid, int milliseconds) {
    if (pid <= 0)
        return true;
    for (int waited = 0;; waited += 5) {
        char state = process_state(pid);
        if (state == '\0' || state == 'Z' || state == 'X')
            return true;
        if (waited >= milliseconds)
            return false;
        struct timespec nap = {0, 5 * 1000 * 1000};
        nanosleep(&nap, nullptr);
    }
}

static void area_release(int code, Datum argument) {
    (void)code;
    (void)argument;
    if (IsUnderPostmaster || !shared_area)
        return;
    if (!wait_until_gone(shared_area->device_pid, device_exit_milliseconds))
        ereport(LOG, (errmsg("gpuscan device process %d has not ended yet", shared_area->device_pid.load())));
    munmap(shared_area, shared_area->size);
    shared_area = nullptr;
}

static uint32 session_slot_count() {
    if (guc_max_concurrent_fragments > 0)
        return uint32(guc_max_concurrent_fragments);
    // More at once finish no more in a second, and each of them later (doc/performance.md): the others are better off in the queue.
    return uint32(std::clamp(2 * machine_cores(), min_slots, max_slots));
}

static void area_create() {
    const uint32 nsession_slots = session_slot_count();
    const uint32 nslots = nsession_slots + nsession_slots / worker_share;
    uint64 slots_offset = TYPEALIGN64(4096, sizeof(Area));
    uint64 buffers_offset = TYPEALIGN64(4096, slots_offset + nslots * sizeof(Slot));
    uint64 size = buffers_offset + 2 * uint64(nslots) * slot_buffer_size;
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        ereport(FATAL, (errcode(ERRCODE_OUT_OF_MEMORY),
                        errmsg("could not map %llu bytes of shared memory for gpuscan: %m", (unsigned long long)size),
                        errhint("Reduce gpuscan.max_concurrent_fragments.")));
    // Anonymous memory is zero, which is every field's first state.
    Area *area = static_cast<Area *>(memory);
    area->nslots = nslots;
    area->nsession_slots = nsession_slots;
    area->size = size;
    area->slots_offset = slots_offset;
    area->buffers_offset = buffers_offset;
    area->magic = area_magic;
    area_publish_settings(area);
    shared_area = area;
    on_shmem_exit(area_release, Datum(0));
}

static void shmem_startup() {
    if (previous_shmem_startup_hook)
        previous_shmem_startup_hook();
    area_create();
}

void area_init() {
    previous_shmem_startup_hook = shmem_startup_hook;
    shmem_startup_hook = shmem_startup;
}

} // namespace gpuscan
