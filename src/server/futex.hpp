// Sleeping on a word of shared memory until another process changes it.
//
// Thin on purpose: backends use it too, so nothing here allocates, throws or touches errno's meaning. A wait may end
// for no reason (a signal, another word's wake); callers look at the word again and decide.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace gpuscan {

// Sleeps while `word` holds `seen`, at most `milliseconds` (negative: without limit).
inline void futex_wait(std::atomic<uint32_t> &word, uint32_t seen, int milliseconds) {
    struct timespec limit = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT, seen, milliseconds < 0 ? nullptr : &limit,
            nullptr, 0);
}

// Wakes everybody who sleeps on `word`.
inline void futex_wake(std::atomic<uint32_t> &word) {
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free,
              "a futex is a plain 32-bit word");

} // namespace gpuscan
