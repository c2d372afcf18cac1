// Measures a benchmark's queries with gpuscan off and on: the part that does not depend on which benchmark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmark.hpp"

namespace bench {

struct Options {
    std::string dbname, schema, queries, csv, device, beside, offload;
    std::vector<std::string> only;
    std::vector<std::pair<std::string, std::string>> settings;
    int reps = 5;
    int warmups = 2;
    int postgres_reps = 3; // 0: PostgreSQL's own plans are not run
    int postgres_warmups = 1;
    int workers = -1;
    int timeout = 0;     // seconds that a query may take; 0: any number
    int budget = 0;      // seconds for all runs of a query on one side but the first counted; 0: any number
    std::string answers; // directory of PostgreSQL's times and answers
    std::optional<uint64_t> seed;
    bool cold = false;
    bool first = false;
    bool new_connections = false;
    bool extension = true;
    bool refusals = false;
    bool where = false;
    bool own_task = false;
};

// What the command line says (options.cpp). Exits where it asks for help, or is wrong.
Options parse_options(const Benchmark &benchmark, int argc, char **argv);

// main() of a runner.
int measure(const Benchmark &benchmark, int argc, char **argv);

} // namespace bench
