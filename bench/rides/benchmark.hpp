// Forty everyday questions to the tables of a bike sharing company (tables.sql): plain numeric, timestamptz, texts, jsonb, windows,
// subqueries, rows. No rule of the planner was made by them: they judge the rules that others were made by.
#pragma once

#include "../common/benchmark.hpp"

namespace bench {

inline Benchmark rides_benchmark() {
    return {"regret-run",
            "forty questions to the tables of a bike sharing company",
            "bench/regret.sh",
            {"trips", "riders", "repairs", "weather", "bikes", "stations", "districts"},
            1,
            {"above_mean", "ages",          "best_riders",     "both_ends",     "busy_stations",
             "cohorts",    "cold_days",     "countries",       "days",          "durations",
             "first_trip", "hours",         "idle_bikes",      "labels",        "last_week",
             "lost_bikes", "mail_hosts",    "mechanics",       "middle",        "months",
             "never_rode", "one_rider",     "pairs",           "promo",         "rain",
             "ratings",    "referrals",     "repair_per_bike", "repairs_parts", "repairs_wait",
             "retired",    "running_total", "search_mail",     "tags",          "top_per_district",
             "unpaid",     "week_before",   "wide_rows",       "windy",         "years"},
            nullptr,
            nullptr,
            nullptr,
            nullptr};
}

} // namespace bench
