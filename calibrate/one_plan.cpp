#include "one_plan.hpp"

#include <algorithm>
#include <cmath>

namespace calibrate {
namespace {

constexpr double tolerance = 0.3;  // of a node's rows, in all its loops
constexpr double least_rows = 100; // that matter
constexpr const char *kinds[] = {"seqscan",  "indexscan", "indexonlyscan", "bitmapscan",
                                 "hashjoin", "mergejoin", "nestloop",      "hashagg",
                                 "sort",     "material",  "memoize",       "incremental_sort"};

bool is_as_estimated(const Json &plan, bool limited) {
    if (plan.value("Workers Launched", 0) < plan.value("Workers Planned", 0))
        return false;
    const double loops = plan.value("Actual Loops", 1.0);
    const double planned = plan.value("Plan Rows", 0.0) * loops, done = plan.value("Actual Rows", 0.0) * loops;
    if (!limited && std::fabs(planned - done) > std::max(tolerance * std::max(planned, done), least_rows))
        return false;
    const auto below = plan.find("Plans");
    return below == plan.end() || std::all_of(below->begin(), below->end(), [&](const Json &child) {
               return is_as_estimated(child, plan.value("Node Type", "") == "Limit");
           });
}

} // namespace

const char postgresql_alone[] =
    "SET LOCAL gpuscan.offload = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off; "
    "SET LOCAL work_mem = '1GB'; SET LOCAL gpuscan.seq_read_page_cost = -1; SET LOCAL "
    "gpuscan.random_read_page_cost = -1; SET LOCAL gpuscan.seq_write_page_cost = -1; SET LOCAL "
    "gpuscan.random_write_page_cost = -1; SET LOCAL gpuscan.hashagg_write_page_cost = -1; ";

std::string only(std::initializer_list<const char *> allowed) {
    std::string sql;
    for (const char *kind : kinds) {
        const bool on = std::find_if(allowed.begin(), allowed.end(),
                                     [&](const char *a) { return std::string(a) == kind; }) != allowed.end();
        sql += std::string("SET LOCAL enable_") + kind + (on ? " = on; " : " = off; ");
    }
    return sql;
}

std::string shape_of(const Json &plan) {
    std::string shape =
        plan.value("Node Type", "") + " " + plan.value("Alias", "") + " " + plan.value("Index Name", "");
    if (const auto children = plan.find("Plans"); children != plan.end())
        for (const Json &child : *children)
            shape += "(" + shape_of(child) + ")";
    return shape;
}

bool is_as_estimated(const Json &plan) { return is_as_estimated(plan, false); }

} // namespace calibrate
