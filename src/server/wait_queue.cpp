#include "server/wait_queue.hpp"

#include "server/futex.hpp"

namespace gpuscan {

uint32_t WaitQueue::enter() {
    const uint64_t number = last_number_.fetch_add(1) + 1;
    for (uint32_t i = 0; i < capacity; ++i) {
        uint64_t free = 0;
        if (entries_[i].number.compare_exchange_strong(free, number)) {
            length_.fetch_add(1);
            return i;
        }
    }
    return no_entry;
}

void WaitQueue::leave(uint32_t entry) {
    entries_[entry].number.store(0);
    length_.fetch_sub(1);
    wake_first();
}

void WaitQueue::wake_first() {
    if (length() == 0)
        return;
    Entry *first = nullptr;
    uint64_t lowest = UINT64_MAX;
    for (Entry &entry : entries_) {
        const uint64_t number = entry.number.load();
        if (number != 0 && number < lowest) {
            lowest = number;
            first = &entry;
        }
    }
    if (first == nullptr)
        return;
    first->wakes.fetch_add(1);
    futex_wake(first->wakes);
}

uint32_t WaitQueue::before(uint32_t entry) const {
    const uint64_t own = entries_[entry].number.load();
    uint32_t before = 0;
    for (const Entry &other : entries_) {
        const uint64_t number = other.number.load();
        before += number != 0 && number < own;
    }
    return before;
}

void WaitQueue::sleep(uint32_t entry, uint32_t seen, int milliseconds) {
    futex_wait(entries_[entry].wakes, seen, milliseconds);
}

} // namespace gpuscan
