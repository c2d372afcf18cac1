// Compiling in processes of their own; see compiler_processes.hpp.
//
// A request is a head and the source text, a reply a head and the machine code, or the reason in words. A source of no
// length asks for NVRTC to be started, and to be made warm.
#include "cuda/compiler_processes.hpp"

#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <exception>

#include "cuda/kernel_cache.hpp"
#include "engine/util/descriptors.hpp"

namespace gpuscan::cuda {

namespace {

constexpr int max_kept_piece = 32 << 20; // (the most that malloc allows)
constexpr int kept_bytes = 16 << 20;
constexpr size_t patient_part = 3; // of the processes at most this part compiles what nobody waits for

struct RequestHead {
    uint64_t size;
    int32_t architecture;
    uint32_t quick;
};

struct ReplyHead {
    uint64_t good;
    uint64_t size;
};

bool send_all(int socket, const void *bytes, size_t size) {
    const char *at = static_cast<const char *>(bytes);
    while (size > 0) {
        const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        size -= static_cast<size_t>(sent);
    }
    return true;
}

bool receive_all(int socket, void *bytes, size_t size) {
    char *at = static_cast<char *>(bytes);
    while (size > 0) {
        const ssize_t got = recv(socket, at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= static_cast<size_t>(got);
    }
    return true;
}

bool receive_text(int socket, size_t size, std::string &text) {
    text.resize(size);
    return size == 0 || receive_all(socket, &text[0], size);
}

// ---- in the child ------------------------------------------------------------------------------------------------

// A compilation takes some 7 MB and gives them back. Taking them anew from the kernel each time is 1,700 page faults, and in
// a virtual machine much more than that where its host has to find the pages first.
void keep_memory() {
    mallopt(M_MMAP_THRESHOLD, max_kept_piece);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_TOP_PAD, kept_bytes);
}

std::string answer(std::unique_ptr<Compiler> &compiler, const std::string &source, const RequestHead &request) {
    if (!compiler)
        compiler = std::make_unique<Compiler>(Nvrtc::open());
    if (!source.empty())
        return compiler->compile(source, request.architecture, request.quick != 0);
    compiler->warm_up(request.architecture);
    return std::string();
}

[[noreturn]] void serve(int socket) {
    keep_memory();
    std::unique_ptr<Compiler> compiler;
    for (;;) {
        RequestHead request;
        std::string source;
        if (!receive_all(socket, &request, sizeof(request)) || !receive_text(socket, request.size, source))
            _exit(0);
        ReplyHead reply = {1, 0};
        std::string text;
        try {
            text = answer(compiler, source, request);
        } catch (const std::exception &error) {
            reply.good = 0;
            text = error.what();
        }
        reply.size = text.size();
        if (!send_all(socket, &reply, sizeof(reply)) || !send_all(socket, text.data(), text.size()))
            _exit(0);
    }
}

} // namespace

// ---- in the parent -----------------------------------------------------------------------------------------------

CompilerProcesses::CompilerProcesses(unsigned count, const std::function<void()> &in_child) {
    const pid_t parent = getpid();
    for (unsigned i = 0; i < count; ++i) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
            return;
        auto process = std::make_unique<Process>();
        process->pid = fork();
        if (process->pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(0);
            prctl(PR_SET_NAME, "gpuscan nvrtc");
            close_descriptors(STDERR_FILENO + 1, ends[1]); // who holds the parent's end keeps its process alive
            in_child();
            serve(ends[1]);
        }
        close(ends[1]);
        if (process->pid < 0) {
            close(ends[0]);
            return;
        }
        process->socket = ends[0];
        processes_.push_back(std::move(process));
    }
}

CompilerProcesses::~CompilerProcesses() {
    for (const std::unique_ptr<Process> &process : processes_)
        drop(*process);
}

void CompilerProcesses::drop(Process &process) {
    if (process.socket < 0)
        return;
    close(process.socket); // which ends it, if it has not ended
    process.socket = -1;
    waitpid(process.pid, nullptr, 0);
}

std::vector<pid_t> CompilerProcesses::pids() const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<pid_t> all;
    for (const std::unique_ptr<Process> &process : processes_)
        if (process->socket >= 0)
            all.push_back(process->pid);
    return all;
}

void CompilerProcesses::warm_up(int architecture) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const std::unique_ptr<Process> &process : processes_) {
        if (process->socket < 0 || process->busy || process->warming)
            continue;
        const RequestHead request = {0, architecture, 0};
        process->warming = send_all(process->socket, &request, sizeof(request));
    }
}

// The reply to warm_up(): what it says about itself will be said again. False: the process is gone.
bool CompilerProcesses::take_warmth(Process &process) {
    ReplyHead reply;
    std::string text;
    if (!receive_all(process.socket, &reply, sizeof(reply)) || !receive_text(process.socket, reply.size, text))
        return false;
    process.warming = false;
    return true;
}

void CompilerProcesses::wait_until_warm(std::chrono::milliseconds patience) {
    using std::chrono::milliseconds, std::chrono::steady_clock;
    const auto end = steady_clock::now() + patience;
    std::unique_lock<std::mutex> lock(mutex_);
    for (const std::unique_ptr<Process> &process : processes_) {
        if (process->socket < 0 || process->busy || !process->warming)
            continue; // whoever has it busy waits for its warmth
        process->busy = true;
        lock.unlock();
        const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
        pollfd ready = {process->socket, POLLIN, 0};
        const bool answered = poll(&ready, 1, static_cast<int>(std::max<int64_t>(0, left.count()))) > 0;
        bool alive = true;
        try {
            alive = !answered || take_warmth(*process);
        } catch (const std::exception &) { // no memory for the reply, which is lost half-way
            alive = false;
        }
        lock.lock();
        process->busy = false;
        if (!alive)
            drop(*process);
        idle_.notify_all();
    }
}

// False: the process is gone.
bool CompilerProcesses::exchange(Process &process, const std::string &source, int architecture, bool quick, bool &good,
                                 std::string &image) {
    ReplyHead reply;
    if (process.warming && !take_warmth(process))
        return false;
    const RequestHead request = {source.size(), architecture, quick};
    if (!send_all(process.socket, &request, sizeof(request)) ||
        !send_all(process.socket, source.data(), source.size()) ||
        !receive_all(process.socket, &reply, sizeof(reply)) || !receive_text(process.socket, reply.size, image))
        return false;
    good = reply.good != 0;
    return true;
}

void CompilerProcesses::refuse_patient() {
    std::lock_guard<std::mutex> lock(mutex_);
    refuses_patient_ = true;
    idle_.notify_all();
}

bool CompilerProcesses::compile(const std::string &source, int architecture, std::string &image, Effort effort) {
    const bool quick = effort == Effort::Quick, patient = effort == Effort::Patient;
    std::unique_lock<std::mutex> lock(mutex_);
    const size_t max_patience = std::max<size_t>(1, processes_.size() / patient_part);
    for (;;) {
        Process *mine = nullptr;
        bool any = false;
        for (const std::unique_ptr<Process> &process : processes_) {
            if (process->socket < 0)
                continue;
            any = true;
            // One that is still starting NVRTC only when no other is idle.
            if (!process->busy && (mine == nullptr || (mine->warming && !process->warming)))
                mine = process.get();
        }
        if (!any)
            return false;
        if (patient && refuses_patient_)
            throw DeviceError("no kernel is compiled any more");
        if (mine == nullptr || (patient && patient_ >= max_patience)) {
            idle_.wait(lock);
            continue;
        }
        mine->busy = true;
        patient_ += patient;
        lock.unlock();
        bool good = false, alive = false;
        std::exception_ptr failed;
        try {
            alive = exchange(*mine, source, architecture, quick, good, image);
        } catch (...) { // no memory for the answer, which is lost half-way
            failed = std::current_exception();
        }
        lock.lock();
        mine->busy = false;
        patient_ -= patient;
        if (!alive)
            drop(*mine);
        idle_.notify_all();
        if (failed)
            std::rethrow_exception(failed);
        if (!alive)
            continue;
        if (!good)
            throw NotCompiled(image);
        return true;
    }
}

} // namespace gpuscan::cuda
