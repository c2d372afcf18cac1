#include "benchmark.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace bench {

std::string data_set(pg::Connection &c, const std::string &table) {
    return c.value("SELECT obj_description('" + table + "'::regclass, 'pg_class')");
}

double rows_of(pg::Connection &c, const std::string &table) {
    return std::stod(c.value("SELECT reltuples FROM pg_class WHERE oid = '" + table + "'::regclass"));
}

// (The extension may be in any schema; ours is none of the tables', which come and go.)
void prewarm_tables(pg::Connection &c, const Benchmark &benchmark) {
    try {
        c.exec("CREATE EXTENSION IF NOT EXISTS pg_prewarm SCHEMA public");
        const std::string schema =
            c.value("SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'pg_prewarm'");
        for (const char *table : benchmark.tables)
            c.exec("SELECT " + schema + ".pg_prewarm($1::regclass)", {table});
    } catch (const pg::Error &e) {
        std::fprintf(stderr, "warning: tables not read into shared_buffers: %s\n", e.what());
    }
}

static std::string read_file(const std::string &path) {
    std::ifstream in(path);
    if (!in)
        throw pg::Error("cannot read " + path);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<Query> read_queries(const Benchmark &benchmark, const std::string &directory,
                                const std::vector<std::string> &only) {
    std::vector<Query> queries;
    for (const std::string &name : benchmark.queries) {
        if (!only.empty() && std::find(only.begin(), only.end(), name) == only.end())
            continue;
        Query q;
        q.name = name;
        for (const std::string &line : split(read_file(directory + "/" + name + ".sql"), '\n'))
            if (line.rfind("--", 0) != 0)
                q.sql += line + "\n";
        q.sql.erase(q.sql.find_last_not_of("; \n\t") + 1);
        queries.push_back(std::move(q));
    }
    if (queries.size() < only.size())
        throw pg::Error("--only takes a list of " + benchmark.queries.front() + " to " + benchmark.queries.back());
    return queries;
}

} // namespace bench
