// What a calibration's file says, for people and for programs. Needs no server.
#pragma once

#include <string>
#include <vector>

#include "checkpoint.hpp"

namespace calibrate {

// One object: "result" (null before there is one), "plan", "server", "present", "defaults", "executions" and "cycles" so far,
// "applied" (whether, and what it replaced), and the walk as "trace".
Json summary_of(const std::vector<Json> &lines);

// Whether it went to its end.
bool is_complete(const Json &summary);

// The tables that a terminal wants.
std::string report_text(const Json &summary);

// "setting = value" lines: for a configuration file, or a configuration of bench/asymmetric-storage/experiment.sh. Throws
// CheckpointError if there is no result.
std::string report_settings(const Json &summary);

} // namespace calibrate
