// storage-control: makes, changes and reads the state file of a storage (state.hpp). Servers look at it at each access, so latencies
// can be changed while they run.

#include <fcntl.h>
#include <getopt.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "state.hpp"

using namespace asymmetric_storage;

namespace {

[[noreturn]] void fail(const std::string &message) {
    std::fprintf(stderr, "storage-control: %s\n", message.c_str());
    std::exit(2);
}

void help() {
    std::printf(R"(Usage: storage-control create FILE [OPTION]...    a new state file, for anybody's server
       storage-control set FILE [OPTION]...       changes what is named; running servers follow at once
       storage-control reset FILE                 counts and times begin at 0 again
       storage-control show FILE                  what was asked for, and what has happened: lines "NAME VALUE"
       storage-control check FILE                 whether a server has loaded the library (exit status 0) or not (1)

  --seq-read US --random-read US --seq-write US --random-write US
                    latency of a page of 8 kB by its pattern, in microseconds, 0.001 and more; 0 (the default): as fast as it is
  --streams N       sequences that the storage follows at once, of reads and of writes each, 1 to %u (default 8)
  --readahead N     pages that a sequence of reads may pass over, 0 to %u (default 16, the kernel's 128 kB)
  --channels N      accesses that are served at the same time, 1 to %u; 0: any number (default 1)
  --slice US        what a process owes before it sleeps (default 500)
  --program NAME    the executable that is delayed (default postgres)
)",
                most_streams, most_readahead, most_channels);
}

State *map_file(const char *path, bool create) {
    const int fd = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0666);
    if (fd < 0)
        fail(std::string("cannot open ") + path + ": " + std::strerror(errno));
    // Whoever runs the server writes it, whatever this user's umask is.
    if (create && (fchmod(fd, 0666) != 0 || ftruncate(fd, sizeof(State)) != 0))
        fail(std::string("cannot make ") + path + ": " + std::strerror(errno));
    struct stat s;
    if (fstat(fd, &s) != 0 || s.st_size != sizeof(State))
        fail(std::string(path) + " is not a storage's state file");
    void *p = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        fail(std::string("cannot map ") + path + ": " + std::strerror(errno));
    close(fd);
    State *state = create ? new (p) State{} : static_cast<State *>(p);
    if (!create && state->magic != State::expected_magic)
        fail(std::string(path) + " was made by another version");
    return state;
}

void initialize(State &s) {
    s.asked.streams = 8;
    s.asked.readahead = 16;
    s.asked.channels = 1;
    s.asked.slice_us = 500;
    std::strcpy(s.asked.program, "postgres");
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&s.lock, &a);
    s.magic = State::expected_magic;
}

double number(const char *option, const char *text, double least, double most) {
    char *end = nullptr;
    const double v = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(v >= least && v <= most)) {
        char message[160];
        std::snprintf(message, sizeof message, "--%s takes a number from %g to %g, not '%s'", option, least, most,
                      text);
        fail(message);
    }
    return v;
}

void change(State &s, int argc, char **argv) {
    enum { streams = patterns, readahead, channels, slice, program };
    const option known[] = {{"seq-read", required_argument, nullptr, seq_read},
                            {"random-read", required_argument, nullptr, random_read},
                            {"seq-write", required_argument, nullptr, seq_write},
                            {"random-write", required_argument, nullptr, random_write},
                            {"streams", required_argument, nullptr, streams},
                            {"readahead", required_argument, nullptr, readahead},
                            {"channels", required_argument, nullptr, channels},
                            {"slice", required_argument, nullptr, slice},
                            {"program", required_argument, nullptr, program},
                            {nullptr, 0, nullptr, 0}};
    int index = 0;
    for (int c; (c = getopt_long(argc, argv, "", known, &index)) != -1;) {
        const char *name = c == '?' ? "" : known[index].name;
        switch (c) {
        case seq_read:
        case random_read:
        case seq_write:
        case random_write:
            s.asked.latency_ns[c] = static_cast<uint64_t>(number(name, optarg, 0, 1e7) * 1000 + 0.5);
            break;
        case streams:
            s.asked.streams = static_cast<uint32_t>(number(name, optarg, 1, most_streams));
            break;
        case readahead:
            s.asked.readahead = static_cast<uint32_t>(number(name, optarg, 0, most_readahead));
            break;
        case channels:
            s.asked.channels = static_cast<uint32_t>(number(name, optarg, 0, most_channels));
            break;
        case slice:
            s.asked.slice_us = static_cast<uint32_t>(number(name, optarg, 0, 1e6));
            break;
        case program:
            if (std::strlen(optarg) >= sizeof s.asked.program)
                fail("--program takes the name of an executable");
            std::strcpy(s.asked.program, optarg);
            break;
        default:
            std::exit(2);
        }
    }
    if (optind < argc)
        fail(std::string("what is '") + argv[optind] + "'?");
}

void print(const char *prefix, const char *name, const char *suffix, uint64_t value) {
    std::printf("%s%s%s %llu\n", prefix, name, suffix, static_cast<unsigned long long>(value));
}

void show(const State &s) {
    for (int p = 0; p < patterns; ++p)
        std::printf("%s_us %.3f\n", pattern_names[p], s.asked.latency_ns[p] / 1e3);
    print("", "streams", "", s.asked.streams);
    print("", "readahead", "", s.asked.readahead);
    print("", "channels", "", s.asked.channels);
    print("", "slice_us", "", s.asked.slice_us);
    print("", "servers", "", s.servers);
    const Counters &c = s.counters;
    for (int k = 0; k < kinds; ++k) {
        const std::string kind = std::string(kind_names[k]) + "_";
        for (int p = 0; p < patterns; ++p) {
            print(kind.c_str(), pattern_names[p], "_requests", c.requests[k][p]);
            print(kind.c_str(), pattern_names[p], "_pages", c.pages[k][p]);
        }
        print(kind.c_str(), "skipped", "_pages", c.skipped[k]);
        print(kind.c_str(), "ahead", "_pages", c.ahead[k]);
    }
    const std::pair<const char *, const std::atomic<uint64_t> *> times[] = {
        {"charged", &c.charged_ns}, {"own", &c.own_ns},         {"slept", &c.slept_ns},
        {"late", &c.late_ns},       {"made_up", &c.made_up_ns}, {"queued", &c.queued_ns}};
    for (const auto &[name, ns] : times)
        print("", name, "_us", *ns / 1000);
    print("", "sleeps", "", c.sleeps);
}

void reset(State &s) {
    Counters &c = s.counters;
    for (int k = 0; k < kinds; ++k) {
        for (int p = 0; p < patterns; ++p)
            c.requests[k][p] = c.pages[k][p] = 0;
        c.skipped[k] = c.ahead[k] = 0;
    }
    for (std::atomic<uint64_t> *v :
         {&c.charged_ns, &c.own_ns, &c.slept_ns, &c.late_ns, &c.made_up_ns, &c.queued_ns, &c.sleeps})
        *v = 0;
}

} // namespace

int main(int argc, char **argv) {
    const std::string command = argc > 1 ? argv[1] : "";
    if (command == "--help" || command == "help") {
        help();
        return 0;
    }
    if (argc < 3 ||
        (command != "create" && command != "set" && command != "reset" && command != "show" && command != "check")) {
        help();
        return 2;
    }
    State *state = map_file(argv[2], command == "create");
    if (command == "create")
        initialize(*state);
    argv[2] = argv[0];
    if (command == "create" || command == "set")
        change(*state, argc - 2, argv + 2);
    else if (argc > 3)
        fail(command + " takes a file and nothing else");
    if (command == "reset")
        reset(*state);
    if (command == "show")
        show(*state);
    return command == "check" && state->servers == 0 ? 1 : 0;
}
