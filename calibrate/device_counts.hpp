// What EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) says of a query that a device ran alone: the count vector of the cost model (engine/cost/tier_cost.hpp)
// and what each step took. And the equations that several such queries give: counts times weights are times.
//
// Counts are the planner's estimates, which are what happens on the scratch tables: their statistics are exact, and what could be
// checked (pages, rows, workers, tables of joins that are kept) is. An equation has a step whose time and counts both are known:
//
//   bring   pages, columns and texts that were not cached: the slowest of what is side by side (feeding, the link, decoding) and the rest
//   fetch   rows or groups to the backend
//   rest    starting, the device's run, and tuples: all else that a hot query took, of executions whose rows nobody timed one by one
//
// A run is not an equation of its own: it has a latency (of a GPU several launches) that the model counts where a fragment starts, and
// which weights of rows would be made up for: on an H200 they came out thirty times too large. For the same reason a weight that takes
// little of every query keeps its value.
//
// Which of the three sides of bringing is the slowest depends on the weights, so it is asked again with those that were found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint.hpp"
#include "engine/cost/tier_profile.hpp"
#include "least_squares.hpp"

namespace calibrate {

namespace tier = gpuscan::tier;

struct DeviceRun {
    tier::Breakdown counts; // (nothing is hidden)
    double phase_ms[6];     // start, feed, texts, run, fetch, emit
    double pages, rows;     // brought, and what the node gave
    double expected_pages, expected_rows;
    double feed_workers, expected_feed_workers; // that helped to bring pages
    double workers, expected_workers;           // of PostgreSQL's nodes that were executed below
    int tables, tables_kept;                    // of joins; built before
    double compile_ms;
    double total_ms;    // of the execution
    std::string device; // its name
};

// Nothing if another node than the device's has a part in it, or if the device gave up: `why` says which.
std::optional<DeviceRun> device_run(const Json &explained, std::string *why);
// How what has happened differs from the counts; "": it does not.
std::string unexpected(const DeviceRun &run);
// Into tables of joins.
double rows_built(const tier::Breakdown &counts);

// Several executions of one query.
struct DeviceQuery {
    std::string name;
    bool cold; // columns were brought
    tier::Breakdown counts;
    double bring_ms, run_ms, fetch_ms;
    double total_ms; // without timing; cold: not known
};

// What is known before, and found: by tier::Count.
struct DeviceWeights {
    bool gpu;
    std::vector<double> ns;      // a weight
    std::vector<double> divisor; // a weight by the price of one now: by how many it is shared
};

struct FittedDevice {
    std::vector<FittedWeight> weights; // by tier::Count
};
FittedDevice fit_device(const std::vector<DeviceQuery> &queries, const DeviceWeights &known);

} // namespace calibrate
