// tpch-run: measures the 22 queries of a benchmark like TPC-H with gpuscan off and on; see common/runner.cpp.
#include <cstdio>

#include "../common/runner.hpp"
#include "benchmark.hpp"

using namespace bench;

namespace {

// One statement a query, each behind a comment with its name.
int print(pg::Connection &, const std::vector<Query> &queries) {
    for (const Query &q : queries)
        std::printf("-- %s\n%s;\n", q.name.c_str(), q.sql.c_str());
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    Benchmark benchmark = tpch_benchmark();
    benchmark.own_option = "print";
    benchmark.own_help = "print the queries with their parameters instead of running them";
    benchmark.own_task = print;
    return measure(benchmark, argc, argv);
}
