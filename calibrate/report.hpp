// What a calibration's file says, for people and for programs. Needs no server.
#pragma once

#include <string>
#include <vector>

#include "checkpoint.hpp"

namespace bench {
struct Configurations; // bench/common/configurations.hpp
}

namespace calibrate {

// One object: "result" (null before there is one), "plan", "server", "present", "defaults", "executions" and "cycles" so far,
// "applied" (whether, and what it replaced), the walk as "trace", and "correlation": how well costs rank the times of the queries'
// plans, under the present and the best weights (Kendall's tau, from -1 to 1; null where there is none).
Json summary_of(const std::vector<Json> &lines);

// Adds "results": total times of several configurations under seeds that were not calibrated with, and how each two of them compare.
void add_results(Json &summary, const bench::Configurations &all);

// Whether it went to its end.
bool is_complete(const Json &summary);

// The tables that a terminal wants.
std::string report_text(const Json &summary);

// "setting = value" lines: for a configuration file, or a configuration of bench/asymmetric-storage/experiment.sh. Throws
// CheckpointError if there is no result.
std::string report_settings(const Json &summary);

} // namespace calibrate
