// Admission control: which fragment gets a request slot, who waits for one, and for how long.
//
// A fragment that finds no free slot, or a device process that is only starting, may wait for it, in the order of arrival. It waits while it
// expects to be served sooner than its CPU plan would answer, and until that plan, begun at once, would have answered: so it loses at most
// as much again (ski rental, as in engine/store/admission_credits.hpp). If many wait, the processes of their CPU plans would share the
// machine's cores: while they do, these plans go on more slowly, and waiting is better.
//
// What is expected. Of slots: each is held as long as those before were on the average, or, if it has been held for longer, as long again.
// With n slots and k fragments before this one, k + 1 of them must be given back: (k + 1) / n of that time. Of a device process that
// starts: what the start before took; beyond that, and of the first one, as long again as it has taken so far.
//
// Workers that feed a session (pg/feed/parallel_feed.cpp) have slots of their own, half as many, and never wait: without one their session
// does their share. From one pool, a session would wait for slots that help another.
//
// A backend that holds a slot already does not wait for a second one, because others might do the same. Everybody waits up to 20 ms, which
// the slot takes that the same session has just let go. Who gives up takes a slot that is free just then, whoever stands before.
#pragma once

#include "pg/pg.h"

#include "server/protocol.hpp"

namespace gpuscan {

constexpr int slice_milliseconds = 10; // the longest sleep of a backend between two tests for interrupts

// What answers instead.
struct Alternative {
    double ns;        // that it takes, alone on the machine; 0: nobody knows, or there is none
    double processes; // that it runs in
};

struct Admission {
    uint32 slot;        // Taken, by this process
    uint32 generation;  // of the device process that serves it
    const char *reason; // why there is none
};

// With an alternative of 0 ns it does not wait, but for slots that are just being freed. Serves interrupts, so it may ereport. False: only
// `reason` is set.
bool admit(protocol::Area *area, const Alternative &alternative, Admission *admission);

// A slot for a feed worker, or `reason`. Never waits.
bool admit_worker(protocol::Area *area, Admission *admission);

// Ends a wait that an interrupt has broken off. Callable in abort, never throws.
void stop_waiting();

// Before a slot's state says that it is given back, or will be soon: for how many nanoseconds it was held.
uint64 end_holding(protocol::Slot *slot);
// ... and after that.
void note_release(protocol::Area *area, uint32 slot, uint64 held_ns);

} // namespace gpuscan
