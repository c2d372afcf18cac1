#include "benchmark.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace bench {

std::string data_set(pg::Connection &c, const std::string &table) {
    return c.value("SELECT obj_description('" + table + "'::regclass, 'pg_class')");
}

double rows_of(pg::Connection &c, const std::string &table) {
    return std::stod(c.value("SELECT reltuples FROM pg_class WHERE oid = '" + table + "'::regclass"));
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
