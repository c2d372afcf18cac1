// The report as one HTML page that needs nothing else: the search (objective and weights over the cycles, as figure 3 of Bausch et al.),
// the speed-up of each query (their figure 2), and the tables.
#pragma once

#include <string>

#include "checkpoint.hpp"

namespace calibrate {

// Of report.hpp's summary.
std::string report_page(const Json &summary);

} // namespace calibrate
