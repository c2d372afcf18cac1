// accesses DIR PATTERN PAGES PROCESSES: reads or writes so many pages of files below DIR with names like a server's, in one
// pattern, by one or more processes at once; each has a file of its own. With the library preloaded (storage-control create FILE
// --program accesses) the counts and times of its state must be what was asked for, on any machine.
//
//   seq_read, seq_write        one page after the other
//   random_read, random_write  every third page from the end, so that none continues another
//   vectored_read              16 pages at once, the requests one after the other
//   skipping_read              ten pages, then every fourth: reading ahead pays where random reads cost four times as much
//   swapped_read               ten pages, then 4 by 4, of each two requests the second one first, as by two I/O workers
//   interleaved_write          a page to each of 16 temporary files in turn, as a hash join's batches are written
//   other_write                to a file that is no relation
//   io_uring                   none: asks for a ring as PostgreSQL does, and says what it got
//
// Prints what it did: pages, and the seconds it took.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr size_t page = 8192;
constexpr int batches = 16, vector_pages = 16, swapped_pages = 4;
char buffer[vector_pages * page];

[[noreturn]] void fail(const std::string &what) {
    std::perror(("accesses: " + what).c_str());
    _exit(2);
}

int open_file(const std::string &path) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
    if (fd < 0)
        fail(path);
    return fd;
}

void read_pages(int fd, long first, long n = 1) {
    if (pread(fd, buffer, n * page, first * page) != static_cast<ssize_t>(n * page))
        fail("read");
}

void write_page(int fd, long number) {
    if (pwrite(fd, buffer, page, number * page) != static_cast<ssize_t>(page))
        fail("write");
}

void read_vectored(int fd, long first) {
    iovec parts[vector_pages];
    for (int i = 0; i < vector_pages; ++i)
        parts[i] = {buffer + i * page, page};
    if (preadv(fd, parts, vector_pages, first * page) != static_cast<ssize_t>(vector_pages * page))
        fail("preadv");
}

void run(const std::string &dir, const std::string &pattern, long pages, int process) {
    const std::string name = std::to_string(16384 + process);
    const int fd = open_file(pattern == "other_write" ? dir + "/pg_wal/" + name : dir + "/base/5/" + name);
    // A hole reads like any page.
    if (ftruncate(fd, 5 * pages * page) != 0)
        fail("ftruncate");
    if (pattern == "seq_read")
        for (long i = 0; i < pages; ++i)
            read_pages(fd, i);
    else if (pattern == "seq_write" || pattern == "other_write")
        for (long i = 0; i < pages; ++i)
            write_page(fd, i);
    else if (pattern == "random_read")
        for (long i = pages; i-- > 0;)
            read_pages(fd, 3 * i);
    else if (pattern == "random_write")
        for (long i = pages; i-- > 0;)
            write_page(fd, 3 * i);
    else if (pattern == "vectored_read")
        for (long i = 0; i + vector_pages <= pages; i += vector_pages)
            read_vectored(fd, i);
    else if (pattern == "skipping_read")
        for (long i = 0; i < pages; ++i)
            read_pages(fd, i < 10 ? i : 10 + 4 * (i - 10));
    else if (pattern == "swapped_read") {
        for (long i = 0; i < 10; ++i)
            read_pages(fd, i);
        for (long i = 10; i + 2 * swapped_pages <= pages; i += 2 * swapped_pages) {
            read_pages(fd, i + swapped_pages, swapped_pages);
            read_pages(fd, i, swapped_pages);
        }
    } else if (pattern == "interleaved_write") {
        std::vector<int> files;
        for (int b = 0; b < batches; ++b)
            files.push_back(open_file(dir + "/base/pgsql_tmp/pgsql_tmp" + name + "." + std::to_string(b)));
        for (long i = 0; i < pages; ++i)
            write_page(files[i % batches], i / batches);
    } else {
        errno = EINVAL;
        fail(pattern);
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 5) {
        std::fprintf(stderr, "Usage: accesses DIR PATTERN PAGES PROCESSES\n");
        return 2;
    }
    const std::string dir = argv[1];
    if (std::strcmp(argv[2], "io_uring") == 0) {
        using Initialize = int(unsigned, void *, void *);
        auto *initialize = reinterpret_cast<Initialize *>(dlsym(RTLD_DEFAULT, "io_uring_queue_init_params"));
        const int result = initialize ? initialize(8, nullptr, nullptr) : 0;
        std::printf("%s\n", initialize ? std::strerror(-result) : "liburing is not loaded");
        return 0;
    }
    const long pages = std::atol(argv[3]);
    const int processes = std::atoi(argv[4]);
    for (const char *sub : {"", "/base", "/base/5", "/base/pgsql_tmp", "/pg_wal"})
        if (mkdir((dir + sub).c_str(), 0700) != 0 && errno != EEXIST)
            fail(dir + sub);
    const auto began = std::chrono::steady_clock::now();
    for (int p = 0; p < processes; ++p) {
        const pid_t child = fork();
        if (child < 0)
            fail("fork");
        if (child == 0) {
            run(dir, argv[2], pages, p);
            _exit(0);
        }
    }
    int failures = 0;
    for (int status; wait(&status) > 0;)
        failures += status != 0;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("%ld pages, %.3f s\n", pages * processes, took.count());
    return failures > 0;
}
