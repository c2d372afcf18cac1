// The results of bench/asymmetric-storage/experiment.sh: times of queries under several configurations and many seeds.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "u_test.hpp"

namespace bench {

struct ConfigurationRun {
    double ms;
    bool cut_off; // by the timeout, which is its time: the true one is longer
    std::string plan;
};

struct Configurations {
    std::vector<std::string> names; // in the order of the file
    std::map<std::string, std::map<std::string, std::map<std::string, ConfigurationRun>>>
        run; // by configuration, seed, query
    std::set<std::string> queries;

    // Seconds of all queries, by seed; only of seeds that are complete.
    std::map<std::string, double> totals(const std::string &configuration) const;
    size_t cut_off(const std::string &configuration) const;
};

// Throws std::runtime_error: no such file, or another one.
Configurations read_configurations(const std::string &path);

// b's total times to a's, of the seeds that both have; and whether the totals could come from one distribution.
struct ConfigurationPair {
    Ratio ratio;
    UTest test;
    size_t of = 0; // pairs that the U-test compares
    size_t same_plans = 0, plans = 0;
};
ConfigurationPair compare(const Configurations &all, const std::string &a, const std::string &b);

} // namespace bench
