// Looking at a word for a moment before sleeping on it.
//
// Where a core is free, looking for a moment saves a sleep and a wake-up, 5 to 10 us each. Where all cores have work, who looks keeps
// one of them from those that he waits for. No counter tells cheaply which it is, but who looks finds out: some looks and a question
// for the time take 3 us, unless another thread has taken his core. Then all who share the gate sleep at once for a while, and try again.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "engine/util/monotonic_clock.hpp"

namespace gpuscan {

inline void spin_pause() { __builtin_ia32_pause(); }

// In memory that all share; zeros are a gate that is open.
class SpinGate {
  public:
    static constexpr uint64_t longest_ns = 50000; // look, then sleep

    bool is_open(uint64_t now, unsigned cores = real_cores()) const {
        return cores >= min_cores && now >= closed_until_.load(std::memory_order_relaxed);
    }
    // Somebody who has done nothing but look in between asked for the time twice (monotonic_ns()).
    void note_gap(uint64_t before, uint64_t now) {
        if (now - before > longest_gap_ns)
            closed_until_.store(now + closed_ns, std::memory_order_relaxed);
    }
    // Looks whether done() for longest_ns, or not at all. True: it is.
    template <class Done> bool spin(const Done &done) {
        const uint64_t start = monotonic_ns();
        for (uint64_t now = start; is_open(now) && now - start < longest_ns;) {
            for (int i = 0; i < looks; ++i) {
                if (done())
                    return true;
                spin_pause();
            }
            const uint64_t before = now;
            now = monotonic_ns();
            note_gap(before, now);
        }
        return done();
    }

  private:
    // Those of the machine, though a container may have been given fewer.
    static unsigned real_cores() {
        static const unsigned cores = std::thread::hardware_concurrency();
        return cores;
    }

    static constexpr unsigned min_cores = 3;
    static constexpr int looks = 64; // between two questions for the time
    static constexpr uint64_t longest_gap_ns = 30000;
    static constexpr uint64_t closed_ns = 20000000;

    std::atomic<uint64_t> closed_until_{0};
};

} // namespace gpuscan
