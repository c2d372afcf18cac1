// What a machine's memory and cores can do, measured within a second or so.
//
// Everything is run several times, and the fastest run counts: what else the machine does makes runs slower, never faster. Little of
// it is long enough to be noticed by others.
#pragma once

#include "engine/cost/tier_profile.hpp"

namespace gpuscan::tier {

// What has been found, and of which values.
struct Measurement {
    Weights weights;
    bool known[device_values];

    void put(Count count, double ns) { put(static_cast<int>(count), ns); }
    void put(int index, double value) {
        weights.values[index] = value;
        known[index] = true;
    }
};

struct HostMeasurement {
    Measurement host;
    // Of this core in relation to the one on which the default rates were measured: 2 = takes twice as long. The rates of
    // PostgreSQL's own code and of the engine's loops are scaled by it.
    double slowness;
};

// Takes about 100 MB of memory for as long as it runs. Throws std::bad_alloc.
HostMeasurement measure_host();

// Default weights of a device, with what does not run on its own memory scaled by the host's cores.
void scale_work(Measurement &measurement, bool gpu, double slowness);

} // namespace gpuscan::tier
