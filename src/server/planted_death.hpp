// A death for a test (GPUSCAN_TEST_COMMANDS): whatever workload a harness runs, the server's first device process dies under it, and the
// harness has to notice. GPUSCAN_PLANTED_DEATH in the server's environment says when. Nothing in a normal build.
#pragma once

namespace gpuscan {

namespace protocol {
struct Counters;
}

// To be called by every run of a pipeline: dies in the Nth ("N runs").
void die_after_runs(const protocol::Counters &counters);

// To be called now and then: dies when N seconds have passed since the first call ("N seconds").
void die_after_seconds(const protocol::Counters &counters);

} // namespace gpuscan
