// Who is next for a request slot: backends that found none free, in the order in which they came.
//
// In the shared area, without a lock: any of these processes may die at any moment, and the device process gives slots back, too. A
// waiter takes a number, which is its place in the order, and an entry, on whose word it sleeps. Whoever gives a slot back wakes the one
// with the lowest number, and nobody else. That one takes the slot; as it leaves it wakes the next, who looks whether there is another
// one. (Who gives up waiting may take one, too: pg/service/admission.) A wake that is lost (its waiter was just leaving) costs a slice of sleep, since waiters look again from time to time.
#pragma once

#include <atomic>
#include <cstdint>

namespace gpuscan {

class WaitQueue {
  public:
    static constexpr uint32_t capacity = 1024;
    static constexpr uint32_t no_entry = UINT32_MAX;

    // At the end of the queue: the entry, or no_entry if so many are waiting that there is no room.
    uint32_t enter();
    void leave(uint32_t entry); // and wakes the next
    void wake_first();

    // How many stand before this one.
    uint32_t before(uint32_t entry) const;
    uint32_t length() const { return length_.load(std::memory_order_relaxed); }
    // Until woken, or so long.
    void sleep(uint32_t entry, uint32_t seen, int milliseconds);
    uint32_t wakes(uint32_t entry) const { return entries_[entry].wakes.load(); }

  private:
    struct Entry {
        std::atomic<uint64_t> number; // 0: free
        std::atomic<uint32_t> wakes;  // futex
        uint32_t unused;
    };
    std::atomic<uint64_t> last_number_;
    std::atomic<uint32_t> length_;
    uint32_t unused_;
    Entry entries_[capacity];
};

} // namespace gpuscan
