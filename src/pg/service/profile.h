// The file with this machine's costs (gpuscan.cost_profile_file).
#pragma once

#include "pg/service/area.h"

namespace gpuscan {

// Reads the file that the setting names and publishes what it says. If there is none, asks the device process to measure and to write it;
// if it cannot be understood, says why in the log and publishes the defaults. To be called by the supervisor, when it starts and when the
// configuration was read again.
void load_profile(protocol::Area *area);

} // namespace gpuscan
