// The device process's last words; see crash_handler.hpp.
//
// The handler calls nothing that takes a lock or memory, with one exception: backtrace_symbols_fd looks at the loaded
// libraries. Should it never come back, the alarm ends the process. (The heartbeat would not notice: the main thread lives.)
#include "engine/util/crash_handler.hpp"

#include <execinfo.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

namespace gpuscan {
namespace {

constexpr size_t signal_stack_bytes = 64 * 1024;
constexpr int max_frames = 64;
constexpr unsigned last_words_seconds = 3;

CrashNote *the_note;
std::atomic<bool> dying{false};
thread_local uint32_t current_slot = no_slot;

void say(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) {
        // Nobody reads the log; there is nothing to be done about it.
    }
}

void say_number(uint64_t number) {
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    say(digits + at);
}

void leave_note(int number, bool from_outside, uint64_t address) {
    the_note->signal = number;
    the_note->slot = current_slot;
    the_note->from_outside = from_outside;
    the_note->address = address;
    the_note->written.store(1);
}

[[maybe_unused]] void last_words(int number, siginfo_t *info, void *) {
    if (dying.exchange(true)) // another thread's death is on its way
        for (;;)
            pause();
    signal(SIGALRM, SIG_DFL);
    alarm(last_words_seconds);
    const bool from_outside = info->si_code <= 0 && info->si_pid != getpid();
    leave_note(number, from_outside, reinterpret_cast<uintptr_t>(info->si_addr));
    say("gpuscan: the device process (PID ");
    say_number(static_cast<uint64_t>(getpid()));
    say(") got signal ");
    say_number(static_cast<uint64_t>(number));
    say(from_outside ? " from another process\n" : "; where it was:\n");
    if (!from_outside) {
        void *frames[max_frames];
        backtrace_symbols_fd(frames, backtrace(frames, max_frames), STDERR_FILENO);
    }
    signal(number, SIG_DFL);
    raise(number); // it is blocked until the handler returns
}

} // namespace

void handle_crashes(CrashNote &note) {
    the_note = &note;
    void *frame[1];
    (void)backtrace(frame, 1); // loads what it needs, while there is time
#if !defined(__SANITIZE_ADDRESS__)
    struct sigaction action = {};
    action.sa_sigaction = last_words;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int number : fatal_signals)
        sigaction(number, &action, nullptr);
#endif
}

void note_own_end() {
    if (the_note != nullptr && !dying.exchange(true))
        leave_note(0, false, 0);
}

uint32_t working_for() { return current_slot; }

WorkingFor::WorkingFor(uint32_t slot) : before_(current_slot) { current_slot = slot; }
WorkingFor::~WorkingFor() { current_slot = before_; }

SignalStack::SignalStack() : memory_(new char[signal_stack_bytes]) {
    stack_t stack = {};
    stack.ss_sp = memory_.get();
    stack.ss_size = signal_stack_bytes;
    sigaltstack(&stack, nullptr);
}

SignalStack::~SignalStack() {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
}

} // namespace gpuscan
