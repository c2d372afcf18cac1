// The device process measures itself when there is no profile yet (tier_profile.hpp).
#pragma once

#include "server/devices.hpp"
#include "server/protocol.hpp"

namespace gpuscan {

// If the area asks for a profile: starts a thread that measures host and devices beside everything else, publishes what it has found and
// writes it to the area's path. It never ends the process: what cannot be measured keeps its default, what cannot be written is
// told on stderr.
void measure_if_wanted(protocol::Area &area, Devices &devices);

} // namespace gpuscan
