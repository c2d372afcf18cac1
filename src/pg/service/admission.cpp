// See admission.h.
#include "pg/service/admission.h"

#include <algorithm>
#include <limits>

#include "engine/util/machine.hpp"
#include "engine/util/monotonic_clock.hpp"
#include "pg/service/area.h"

namespace gpuscan {

using namespace protocol;

namespace {

constexpr double min_patience_ns = 20e6; // for a slot that the same session has just let go
constexpr uint64 averaged = 16;          // slots, about
constexpr double never = std::numeric_limits<double>::infinity();

uint32 own_entry = WaitQueue::no_entry; // of the queue, while this process waits

const char *why_not_ready(const Area *area) {
    switch (ServiceState(area->state.load())) {
    case ServiceState::Ready:
        return nullptr;
    case ServiceState::Starting:
        return "the device process is starting";
    case ServiceState::Failed:
        return "the device process has no working device";
    case ServiceState::Down:
        break;
    }
    return "the device process is not running";
}

// One of `count` slots from `first` on. Backends begin their search at different ones, so that they seldom meet.
bool take_slot(Area *area, uint32 first, uint32 count, Admission *admission) {
    for (uint32 i = 0; i < count; i++) {
        const uint32 number = first + (uint32(MyProcPid) + i) % count;
        Slot *slot = area->slot(number);
        uint32_t expected = uint32_t(SlotState::Free);
        if (!slot->state.compare_exchange_strong(expected, uint32_t(SlotState::Taken)))
            continue;
        // A request that died with an earlier device process is over.
        slot->reply = slot->request.load();
        slot->cancel = 0;
        slot->message[0] = '\0';
        slot->backend_pid = MyProcPid;
        slot->program = 0;
        slot->query[0] = '\0';
        slot->taken_ns = monotonic_ns(); // (until now 0: it is held since a moment)
        slot->generation = admission->generation;
        admission->slot = number;
        return true;
    }
    return false;
}

// `reason`: NULL: admitted; of a device that is ready, that all slots are taken.
bool try_to_take(Area *area, uint32 first, uint32 count, Admission *admission) {
    admission->generation = area->generation; // before the state: of the process whose state that is, or older
    admission->reason = why_not_ready(area);
    if (admission->reason != nullptr)
        return false;
    if (take_slot(area, first, count, admission))
        return true;
    admission->reason = "all request slots are taken (gpuscan.max_concurrent_fragments)";
    return false;
}

bool try_to_take(Area *area, Admission *admission) { return try_to_take(area, 0, area->nsession_slots, admission); }

double until_slot_ns(Area *area, uint32 before) {
    const uint64 now = monotonic_ns();
    const double usual = static_cast<double>(area->slot_ns.load(std::memory_order_relaxed));
    uint32 free = 0; // now or in a moment
    double held = 0;
    for (uint32 i = 0; i < area->nsession_slots; i++) {
        const Slot *slot = area->slot(i);
        const uint64 taken = slot->taken_ns.load(std::memory_order_relaxed);
        if (slot->state != uint32_t(SlotState::Taken))
            ++free;
        else
            held += std::max(usual, taken != 0 && now > taken ? static_cast<double>(now - taken) : 0.0);
    }
    if (free > before || free == area->nsession_slots)
        return 0;
    return held / (area->nsession_slots - free) * (before + 1 - free) / area->nsession_slots;
}

double until_start_ns(const Area *area) {
    const double took = static_cast<double>(area->start_took_ns.load());
    const double so_far = static_cast<double>(monotonic_ns() - area->start_began_ns.load());
    return took > so_far ? took - so_far : so_far;
}

double expected_ns(Area *area, uint32 before) {
    switch (ServiceState(area->state.load())) {
    case ServiceState::Ready:
        return until_slot_ns(area, before);
    case ServiceState::Starting:
        return until_start_ns(area);
    case ServiceState::Down:
        return area->wanted_devices != 0 ? until_start_ns(area) : never;
    case ServiceState::Failed:
        break;
    }
    return never;
}

// How many times as long as alone the CPU plan would take if everybody who waits gave up.
double crowd_of(const Area *area, const Alternative &alternative) {
    return std::max(area->queue.length() * alternative.processes / machine_cores(), 1.0);
}

} // namespace

bool admit(Area *area, const Alternative &alternative, Admission *admission) {
    if (area->queue.length() == 0 && try_to_take(area, admission))
        return true;
    stop_waiting();
    own_entry = area->queue.enter();
    if (own_entry == WaitQueue::no_entry)
        return try_to_take(area, admission);
    const uint64 began = monotonic_ns();
    uint64 looked = began;
    double progress = 0; // of a CPU plan begun at once, in ns that it takes alone
    bool admitted = false;
    pgstat_report_wait_start(wait_event_device());
    for (;;) {
        const uint32 seen = area->queue.wakes(own_entry);
        const uint32 before = area->queue.before(own_entry);
        admitted = before == 0 && try_to_take(area, admission);
        const double crowd = crowd_of(area, alternative);
        const uint64 now = monotonic_ns();
        progress += static_cast<double>(now - looked) / crowd;
        looked = now;
        const bool done = progress >= alternative.ns && static_cast<double>(now - began) >= min_patience_ns;
        if (admitted || done || expected_ns(area, before) >= std::max(alternative.ns * crowd, min_patience_ns))
            break;
        area->queue.sleep(own_entry, seen, slice_milliseconds);
        CHECK_FOR_INTERRUPTS();
        if (!PostmasterIsAlive())
            proc_exit(1);
    }
    pgstat_report_wait_end();
    stop_waiting();
    return admitted || try_to_take(area, admission);
}

bool admit_worker(Area *area, Admission *admission) {
    return try_to_take(area, area->nsession_slots, area->nslots - area->nsession_slots, admission);
}

void stop_waiting() {
    if (own_entry == WaitQueue::no_entry)
        return;
    const uint32 entry = own_entry;
    own_entry = WaitQueue::no_entry;
    service_area()->queue.leave(entry);
}

uint64 end_holding(Slot *slot) {
    const uint64 taken = slot->taken_ns.exchange(0), now = monotonic_ns();
    return taken != 0 && now > taken ? now - taken : 0;
}

void note_release(Area *area, uint32 slot, uint64 held) {
    if (slot >= area->nsession_slots)
        return;
    const uint64 usual = area->slot_ns.load(std::memory_order_relaxed);
    area->slot_ns.store(usual == 0 ? held : usual - usual / averaged + held / averaged, std::memory_order_relaxed);
    area->queue.wake_first();
}

} // namespace gpuscan
