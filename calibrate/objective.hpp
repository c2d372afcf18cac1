// What is minimized: the total time of the workload, plus a penalty for each query that is slower than under PostgreSQL's defaults, so
// that some gain in one query does not buy a loss in another one. With p as penalty and t as tolerance:
//
//   sum over queries (time + p * max(0, time - (1 + t) * time under defaults))
#pragma once

#include <algorithm>
#include <optional>

namespace calibrate {

struct Objective {
    double penalty = 1;
    double tolerance = 0.05; // noise is no loss

    // A query's share. Under defaults it may not have ended (nothing): then nothing is a loss.
    double of(double ms, std::optional<double> default_ms) const {
        return ms + (default_ms ? penalty * std::max(0.0, ms - (1 + tolerance) * *default_ms) : 0);
    }
};

} // namespace calibrate
