// What the device process does with a fatal signal before it dies of it: a backtrace into the server's log, and a note in the
// shared area that says whose request the dying thread worked on (deaths.hpp).
//
// Threads that work for a request say so: the slot's own thread, and the helpers that take a part of its work. Signals are
// handled on a stack of their own, so that the overflow of a thread's stack is seen, too.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>

namespace gpuscan {

constexpr uint32_t no_slot = UINT32_MAX;

// What a thread that met a fatal signal leaves for the supervisor. Written by the device process, once.
struct CrashNote {
    std::atomic<uint32_t> written; // 1: the rest is there
    int32_t signal;
    uint32_t slot;         // whose request it worked on, or no_slot
    uint32_t from_outside; // 1: another process has sent the signal
    uint64_t address;
};

// What a thread's own faults raise.
constexpr int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// Handles the fatal signals from now on. The process dies of the same signal afterwards.
void handle_crashes(CrashNote &note);

// Notes a death that the process chooses itself, by _exit, because of this thread's request.
void note_own_end();

// The slot for whose request this thread works: no_slot if for none.
uint32_t working_for();

// While it lives, this thread works for that slot.
class WorkingFor {
  public:
    explicit WorkingFor(uint32_t slot);
    ~WorkingFor();
    WorkingFor(const WorkingFor &) = delete;
    WorkingFor &operator=(const WorkingFor &) = delete;

  private:
    const uint32_t before_;
};

// This thread's stack for signals, as long as it lives. To be made at the thread's start.
class SignalStack {
  public:
    SignalStack();
    ~SignalStack();
    SignalStack(const SignalStack &) = delete;
    SignalStack &operator=(const SignalStack &) = delete;

  private:
    std::unique_ptr<char[]> memory_;
};

} // namespace gpuscan
