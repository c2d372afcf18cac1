// The library that is preloaded into a server (storage.sh): reads and writes of relation files and temporary files take as long
// as they would on the storage that was asked for. Everything else is left alone: WAL, commit log, configuration, sockets.
//
// 1. *Which files*. A file descriptor is looked at when it is first read or written: PostgreSQL's own names say what it is
//    (base/5/16384, 16384_fsm.1, base/pgsql_tmp/..., in any tablespace). open() and close() make it unknown again.
// 2. *What it costs*. After the true access the storage's streams (streams.hpp) say which of its pages were random. Its latency is what
//    was asked for, less the time that the true access has taken: mostly a copy from the kernel's page cache. So it
//    does not matter what is cached there, as long as the true storage is no slower than the one asked for.
// 3. *Sleeping*. A sleep ends some 50 us late on most machines, which is more than many a page should take. So a process
//    owes its latencies until they make a slice, sleeps once, and measures by how much it came late; the next sleep begins
//    that much earlier. At the end of many accesses the sum is right, whatever the latency of one is.
// 4. *Channels*. A slice occupies one of the storage's channels. With one channel, two processes (or PostgreSQL 18's I/O workers)
//    that read at once take turns, and take as long together as one that reads both.
//
// Up to 17 the backends read and write by themselves; the I/O workers of 18 (io_method = worker) are processes of the server like any
// other. With io_uring the kernel would do it behind this library's back, so its set-up fails here.
//
// Only what async-signal-safe functions may do is done for descriptors that are not delayed: the server's signal handlers write to
// pipes.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "file_kind.hpp"
#include "state.hpp"

using namespace asymmetric_storage;

namespace {

constexpr uint64_t second_ns = 1000000000;
constexpr int most_descriptors = 65536;

State *state; // nullptr: this process is not delayed

// ---- the true functions ----

template <typename Function> class Next {
  public:
    explicit constexpr Next(const char *name) : name_(name) {}
    Function *operator*() {
        Function *f = found_.load(std::memory_order_relaxed);
        if (!f) {
            f = reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name_));
            found_.store(f, std::memory_order_relaxed);
        }
        return f;
    }

  private:
    const char *name_;
    std::atomic<Function *> found_{nullptr};
};

using Open = int(const char *, int, ...);
using Close = int(int);
using Read = ssize_t(int, void *, size_t);
using Write = ssize_t(int, const void *, size_t);
using PositionedRead = ssize_t(int, void *, size_t, off_t);
using PositionedWrite = ssize_t(int, const void *, size_t, off_t);
using Vectored = ssize_t(int, const iovec *, int, off_t);

Next<Open> next_open("open"), next_open64("open64");
Next<Close> next_close("close");
Next<Read> next_read("read");
Next<Write> next_write("write");
Next<PositionedRead> next_pread("pread"), next_pread64("pread64");
Next<PositionedWrite> next_pwrite("pwrite"), next_pwrite64("pwrite64");
Next<Vectored> next_preadv("preadv"), next_preadv64("preadv64"), next_pwritev("pwritev"), next_pwritev64("pwritev64");

// ---- descriptors ----

enum class Delayed : uint8_t { unknown, no, relation, temporary };

struct Descriptor {
    std::atomic<Delayed> delayed;
    std::atomic<uint64_t> file;
};
Descriptor descriptors[most_descriptors];

void forget(int fd) {
    if (fd >= 0 && fd < most_descriptors)
        descriptors[fd].delayed.store(Delayed::unknown, std::memory_order_relaxed);
}

Delayed look_at(int fd, uint64_t *file) {
    struct stat s;
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
        return Delayed::no;
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return Delayed::no;
    path[length] = '\0';
    *file = (static_cast<uint64_t>(s.st_dev) << 48) ^ s.st_ino;
    switch (file_kind(path)) {
    case FileKind::relation:
        return Delayed::relation;
    case FileKind::temporary:
        return Delayed::temporary;
    case FileKind::other:
        break;
    }
    return Delayed::no;
}

// Whether accesses to `fd` are delayed. Leaves errno as it was.
bool is_delayed(int fd) {
    if (!state || fd < 0 || fd >= most_descriptors)
        return false;
    Descriptor &d = descriptors[fd];
    Delayed delayed = d.delayed.load(std::memory_order_relaxed);
    if (delayed == Delayed::unknown) {
        const int error = errno;
        uint64_t file = 0;
        delayed = look_at(fd, &file);
        d.file.store(file, std::memory_order_relaxed);
        d.delayed.store(delayed, std::memory_order_relaxed);
        errno = error;
    }
    return delayed >= Delayed::relation;
}

// ---- time ----

uint64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * second_ns + t.tv_nsec;
}

thread_local uint64_t owed_ns; // latencies not yet slept for
thread_local uint64_t late_ns; // by which the last sleep ended too late

class Locked {
  public:
    Locked() {
        if (pthread_mutex_lock(&state->lock) == EOWNERDEAD)
            pthread_mutex_consistent(&state->lock); // at worst one access was half noted
    }
    ~Locked() { pthread_mutex_unlock(&state->lock); }
    Locked(const Locked &) = delete;
    Locked &operator=(const Locked &) = delete;
};

void sleep_what_is_owed() {
    Counters &c = state->counters;
    const uint64_t from = now(), ready = from - late_ns;
    const unsigned channels = state->asked.channels;
    uint64_t start = ready, until;
    if (channels == 0) {
        until = start + owed_ns;
    } else {
        const Locked lock;
        uint64_t *channel = &state->free_at[0];
        for (unsigned i = 1; i < channels && i < most_channels; ++i)
            if (state->free_at[i] < *channel)
                channel = &state->free_at[i];
        start = *channel > ready ? *channel : ready;
        *channel = until = start + owed_ns;
    }
    uint64_t after = from;
    while (after < until) {
        const timespec t = {static_cast<time_t>(until / second_ns), static_cast<long>(until % second_ns)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr); // a signal only makes it ask the clock once more
        after = now();
    }
    ++c.sleeps;
    c.slept_ns += after - from;
    c.queued_ns += start - ready;
    const uint64_t was_late = late_ns;
    late_ns = after - until;
    if (after == from) { // all of it made up for by lateness, of which some is left
        c.made_up_ns += was_late - late_ns;
    } else {
        c.made_up_ns += was_late;
        c.late_ns += late_ns;
    }
    if (late_ns > second_ns)
        late_ns = second_ns; // a machine that was suspended
    owed_ns = 0;
}

// ---- accesses ----

// `bytes` from `offset` have been read or written, which began at `began`.
void charge(bool writing, int fd, uint64_t offset, uint64_t bytes, uint64_t began) {
    const int error = errno;
    const Asked &asked = state->asked;
    Counters &c = state->counters;
    const Kind kind =
        descriptors[fd].delayed.load(std::memory_order_relaxed) == Delayed::temporary ? temporary : relation;
    const Pattern sequential = writing ? seq_write : seq_read, random = writing ? random_write : random_read;
    const uint64_t sequential_ns = asked.latency_ns[sequential], random_ns = asked.latency_ns[random];

    unsigned readahead = writing ? 0 : asked.readahead.load();
    if (readahead > 0 && sequential_ns > 0) {
        const uint64_t worth = random_ns <= sequential_ns ? 0 : random_ns / sequential_ns - 1;
        readahead = worth < readahead ? static_cast<unsigned>(worth) : readahead;
    }
    Found found;
    {
        const Locked lock;
        found =
            (writing ? state->writes : state->reads)
                .access(descriptors[fd].file.load(std::memory_order_relaxed), offset, bytes, readahead, asked.streams);
    }
    ++c.requests[kind][found.random ? random : sequential];
    c.pages[kind][random] += found.random;
    c.pages[kind][sequential] += found.sequential;
    c.skipped[kind] += found.skipped;
    c.ahead[kind] += found.ahead;

    const uint64_t cost = found.random * random_ns + (found.sequential + found.skipped) * sequential_ns;
    const uint64_t taken = now() - began, own = taken < cost ? taken : cost;
    c.charged_ns += cost;
    c.own_ns += own;
    owed_ns += cost - own;
    if (owed_ns > 0 && owed_ns >= asked.slice_us * uint64_t{1000})
        sleep_what_is_owed();
    errno = error;
}

template <typename Access> ssize_t at_offset(bool writing, int fd, off_t offset, Access access) {
    if (!is_delayed(fd))
        return access();
    const uint64_t began = now();
    const ssize_t n = access();
    if (n > 0)
        charge(writing, fd, offset, n, began);
    return n;
}

// At the file's own position, as databases are copied.
template <typename Access> ssize_t at_position(bool writing, int fd, Access access) {
    if (!is_delayed(fd))
        return access();
    const uint64_t began = now();
    const ssize_t n = access();
    if (n > 0)
        charge(writing, fd, lseek(fd, 0, SEEK_CUR) - n, n, began);
    return n;
}

// ---- the beginning ----

[[noreturn]] void give_up(const char *what, const char *path) {
    fprintf(stderr, "asymmetric storage: %s \"%s\": %s\n", what, path, strerror(errno));
    _exit(127); // rather than a server that runs undelayed
}

// A server, and not a helper beside it, nor initdb's or pg_upgrade's single-user runs.
bool is_server(const char *program) {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    const char *slash = strrchr(path, '/');
    if (strcmp(slash ? slash + 1 : path, program) != 0)
        return false;
    char first[32] = "";
    const int fd = (*next_open)("/proc/self/cmdline", O_RDONLY);
    if (fd < 0)
        return true;
    const ssize_t n = (*next_read)(fd, path, sizeof path - 1);
    (*next_close)(fd);
    if (n > 0) {
        path[n] = '\0';
        const size_t name = strlen(path) + 1;
        snprintf(first, sizeof first, "%s", name < static_cast<size_t>(n) ? path + name : "");
    }
    for (const char *other : {"--boot", "--check", "--single", "--version", "-V", "-C", "--describe-config"})
        if (strcmp(first, other) == 0)
            return false;
    return true;
}

void after_fork() { owed_ns = late_ns = 0; }

__attribute__((constructor)) void begin() {
    const char *path = getenv("ASYMMETRIC_STORAGE");
    if (!path || !*path)
        return;
    const int fd = (*next_open)(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        if (is_server("postgres"))
            give_up("cannot open", path);
        return;
    }
    void *mapping = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct stat s;
    const bool whole = fstat(fd, &s) == 0 && s.st_size == sizeof(State);
    (*next_close)(fd);
    if (mapping == MAP_FAILED || !whole)
        give_up("cannot map", path);
    State *found = static_cast<State *>(mapping);
    if (found->magic != State::expected_magic)
        give_up("made by another version:", path);
    if (!is_server(found->asked.program)) {
        munmap(mapping, sizeof(State));
        return;
    }
    prctl(PR_SET_TIMERSLACK, 1);
    pthread_atfork(nullptr, nullptr, after_fork);
    ++found->servers;
    found->server = getpid();
    state = found;
}

int refuse_io_uring() {
    fprintf(
        stderr,
        "asymmetric storage: io_method = io_uring is refused, since its reads cannot be delayed; use worker or sync\n");
    return -ENOSYS;
}

} // namespace

// ---- what the server calls ----

extern "C" {

__attribute__((visibility("default"))) int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    const int fd = (*next_open)(path, flags, mode);
    forget(fd);
    return fd;
}

__attribute__((visibility("default"))) int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    const int fd = (*next_open64)(path, flags, mode);
    forget(fd);
    return fd;
}

__attribute__((visibility("default"))) int close(int fd) {
    forget(fd);
    return (*next_close)(fd);
}

__attribute__((visibility("default"))) ssize_t read(int fd, void *to, size_t n) {
    return at_position(false, fd, [=] { return (*next_read)(fd, to, n); });
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void *from, size_t n) {
    return at_position(true, fd, [=] { return (*next_write)(fd, from, n); });
}

__attribute__((visibility("default"))) ssize_t pread(int fd, void *to, size_t n, off_t offset) {
    return at_offset(false, fd, offset, [=] { return (*next_pread)(fd, to, n, offset); });
}

__attribute__((visibility("default"))) ssize_t pread64(int fd, void *to, size_t n, off_t offset) {
    return at_offset(false, fd, offset, [=] { return (*next_pread64)(fd, to, n, offset); });
}

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *from, size_t n, off_t offset) {
    return at_offset(true, fd, offset, [=] { return (*next_pwrite)(fd, from, n, offset); });
}

__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *from, size_t n, off_t offset) {
    return at_offset(true, fd, offset, [=] { return (*next_pwrite64)(fd, from, n, offset); });
}

__attribute__((visibility("default"))) ssize_t preadv(int fd, const iovec *parts, int count, off_t offset) {
    return at_offset(false, fd, offset, [=] { return (*next_preadv)(fd, parts, count, offset); });
}

__attribute__((visibility("default"))) ssize_t preadv64(int fd, const iovec *parts, int count, off_t offset) {
    return at_offset(false, fd, offset, [=] { return (*next_preadv64)(fd, parts, count, offset); });
}

__attribute__((visibility("default"))) ssize_t pwritev(int fd, const iovec *parts, int count, off_t offset) {
    return at_offset(true, fd, offset, [=] { return (*next_pwritev)(fd, parts, count, offset); });
}

__attribute__((visibility("default"))) ssize_t pwritev64(int fd, const iovec *parts, int count, off_t offset) {
    return at_offset(true, fd, offset, [=] { return (*next_pwritev64)(fd, parts, count, offset); });
}

// liburing's ways to set up a ring, two of which PostgreSQL uses.
__attribute__((visibility("default"))) int io_uring_queue_init(unsigned, void *, unsigned) { return refuse_io_uring(); }
__attribute__((visibility("default"))) int io_uring_queue_init_params(unsigned, void *, void *) {
    return refuse_io_uring();
}
__attribute__((visibility("default"))) int io_uring_queue_init_mem(unsigned, void *, void *, void *, size_t) {
    return refuse_io_uring();
}

} // extern "C"
