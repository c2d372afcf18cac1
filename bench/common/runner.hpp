// Measures a benchmark's queries with gpuscan off and on: the part that does not depend on which benchmark.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pg.hpp"

namespace bench {

struct Options {
    std::string dbname, schema, queries, csv, device, offload;
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
    bool own_task = false;
};

struct Query {
    std::string name;
    std::string sql; // without comments and the final semicolon

    std::vector<std::string> order_columns() const; // the names in ORDER BY
    std::string without_limit() const;
    int limit() const; // rows that LIMIT lets through, or -1
};

std::string lower(std::string s);
std::vector<std::string> split(const std::string &text, char at);

// Of the set that the benchmark's tables hold; empty if they were not made by its generator.
std::string data_set(pg::Connection &c, const std::string &table);
double rows_of(pg::Connection &c, const std::string &table);

struct Benchmark {
    const char *program;              // such as "ssb-run"
    const char *title;                // such as "the 13 queries of the Star Schema Benchmark"
    const char *generator;            // makes the tables
    std::vector<const char *> tables; // the largest first
    size_t parallel_tables;           // of so many of them --workers sets the storage parameter, too
    std::vector<std::string> queries; // names; each has a file NAME.sql
    // Fills in the parameters of a query's text; empty: there are none, and no option --seed.
    std::function<void(Query &, std::optional<uint64_t> seed, pg::Connection &)> substitute;
    // A task of this benchmark alone, instead of measuring: its option (nullptr: none), a line of help, what to do.
    const char *own_option, *own_help;
    std::function<int(pg::Connection &, const std::vector<Query> &)> own_task;
};

// What the command line says (options.cpp). Exits where it asks for help, or is wrong.
Options parse_options(const Benchmark &benchmark, int argc, char **argv);

// main() of a runner.
int measure(const Benchmark &benchmark, int argc, char **argv);

} // namespace bench
