// One thread per request slot: sleeps until a backend asks, answers through a Session, sleeps again.
#pragma once

#include "server/devices.hpp"
#include "server/source_feed.hpp"

namespace gpuscan {

struct SlotServer {
    protocol::Area *area;
    uint32_t generation; // of this process; slots of others are left alone
    Devices *devices;
    BufferPool pool;

    // Starts the threads; call with all signals blocked. They never end. Throws std::runtime_error.
    void start();
    // Tells running requests of abandoned slots to stop (a backend says so itself; this is for one that could not).
    void cancel_abandoned();
};

} // namespace gpuscan
