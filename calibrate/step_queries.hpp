// What PostgreSQL's executor is asked to do when its steps are measured: queries on the scratch tables that have one plan each.
//
// Steps come together (a row that is sorted was read first), so each is in several queries, in different proportions: scans of few and of many
// columns, conditions and aggregates of each kind of value, joins and groups whose tables are in the caches or not, indexes in the table's order
// and out of it. The query that has most of a step is named in the table of steps (engine/cost/executor_cost.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace calibrate {

struct StepQuery {
    std::string name, sql, settings;
};

// `mixed_rows`: of the table `mixed`.
std::vector<StepQuery> step_queries(size_t mixed_rows);

// For parallel workers, which cannot read temporary tables. The first one has so little to do that it does not matter how many cores there are.
std::vector<StepQuery> parallel_step_queries();
constexpr char first_parallel[] = "parallel workers";
constexpr size_t parallel_workers = 2;

} // namespace calibrate
