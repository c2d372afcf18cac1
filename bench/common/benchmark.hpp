// A benchmark: its tables, which a generator has made, and its queries, which lie in files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "answer.hpp"
#include "pg.hpp"

namespace bench {

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
    std::function<void(Query &, std::optional<uint64_t> seed, pg::Connection &)> surrogate;
    // A task of this benchmark alone, instead of measuring: its option (nullptr: none), a line of help, what to do.
    const char *own_option, *own_help;
    std::function<int(pg::Connection &, const std::vector<Query> &)> own_task;
};

// Reads the tables into shared_buffers. If the server has no pg_prewarm, or does not let us, it says so on standard error.
void prewarm_tables(pg::Connection &c, const Benchmark &benchmark);

// Those of the benchmark that `only` names, or all. Throws pg::Error if a file cannot be read or a name is unknown.
std::vector<Query> read_queries(const Benchmark &benchmark, const std::string &directory,
                                const std::vector<std::string> &only);

} // namespace bench
