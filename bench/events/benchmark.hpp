// Fourteen questions of a dashboard to the events of a web shop (gen.cpp), written as people write them: some are what devices are good at,
// some are PostgreSQL's. `make demo-events` shows both.
#pragma once

#include "../common/benchmark.hpp"

namespace bench {

inline Benchmark events_benchmark() {
    return {"events-run",
            "fourteen questions of a dashboard to the events of a web shop",
            "events-gen",
            {"events", "users", "products"},
            1,
            {"days", "dau", "funnel", "retention", "top_pages", "revenue", "devices", "latency", "months", "running",
             "power_users", "categories", "sessions", "one_user"},
            nullptr,
            nullptr,
            nullptr,
            nullptr};
}

} // namespace bench
