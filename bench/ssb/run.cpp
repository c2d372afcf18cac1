// ssb-run: measures the 13 queries of the Star Schema Benchmark (O'Neil, O'Neil, Chen, Revilak, TPCTC 2009)
// with gpuscan off and on; see common/runner.cpp.
//
// --selectivity shows instead which share of the line orders each query selects, beside the paper's.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "../common/runner.hpp"
#include "benchmark.hpp"

using namespace bench;

namespace {

// The paper's filter factors, and how each is spread over the dimensions (1 = not restricted): --selectivity
// derives from these how far chance may take a measured value.
struct QueryFacts {
    const char *name;
    double line_and_date, customer, supplier, part;

    double factor() const { return line_and_date * customer * supplier * part; }
};
constexpr QueryFacts facts[] = {
    {"q1.1", 1 / 7.0 * 0.5 * 3 / 11, 1, 1, 1},
    {"q1.2", 1 / 84.0 * 0.2 * 3 / 11, 1, 1, 1},
    {"q1.3", 1 / 364.0 * 0.1 * 3 / 11, 1, 1, 1},
    {"q2.1", 1, 1, 1 / 5.0, 1 / 25.0},
    {"q2.2", 1, 1, 1 / 5.0, 1 / 125.0},
    {"q2.3", 1, 1, 1 / 5.0, 1 / 1000.0},
    {"q3.1", 6 / 7.0, 1 / 5.0, 1 / 5.0, 1},
    {"q3.2", 6 / 7.0, 1 / 25.0, 1 / 25.0, 1},
    {"q3.3", 6 / 7.0, 1 / 125.0, 1 / 125.0, 1},
    {"q3.4", 1 / 84.0, 1 / 125.0, 1 / 125.0, 1},
    {"q4.1", 1, 1 / 5.0, 1 / 5.0, 2 / 5.0},
    {"q4.2", 2 / 7.0, 1 / 5.0, 1 / 5.0, 2 / 5.0},
    {"q4.3", 2 / 7.0, 1 / 5.0, 1 / 25.0, 1 / 25.0},
};

// Counts the line orders that pass a query's filters and joins.
std::string count_sql(const Query &q) {
    const std::string s = lower(q.sql);
    const size_t from = s.find("from");
    return "select count(*) " + q.sql.substr(from, s.find("group by") - from);
}

int show_selectivity(pg::Connection &c, const std::vector<Query> &queries) {
    c.exec("SET gpuscan.offload = off");
    const double lines = rows_of(c, "lineorder");
    std::printf("%s\n%-6s %12s %12s %8s %10s  %s\n", data_set(c, "lineorder").c_str(), "query", "paper", "measured",
                "ratio", "rows", "within");
    bool all_good = true;
    for (const Query &q : queries) {
        const QueryFacts &f =
            *std::find_if(std::begin(facts), std::end(facts), [&](const QueryFacts &x) { return q.name == x.name; });
        const double count = std::stod(c.value(count_sql(q)));
        const double measured = count / lines;
        // The paper rounds 24/50 to 1/2 and counts seven full years, where orders end on 1998-08-02: 20
        // %. Add four standard deviations of random dimensions and of the lines themselves.
        const auto noise = [](double share, double rows) { return share < 1 ? (1 - share) / (share * rows) : 0; };
        const double variance = noise(f.customer, rows_of(c, "customer") * 2 / 3) +
                                noise(f.supplier, rows_of(c, "supplier")) + noise(f.part, rows_of(c, "part")) +
                                1 / (f.factor() * lines);
        const double tolerance = 0.20 + 4 * std::sqrt(variance);
        const double ratio = measured / f.factor();
        const bool good = std::abs(ratio - 1) <= tolerance;
        all_good = all_good && good;
        std::printf("%-6s %12.3g %12.3g %8.3f %10.0f  %s (1 +- %.2f)\n", q.name.c_str(), f.factor(), measured, ratio,
                    count, good ? "yes" : "NO", tolerance);
    }
    return all_good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
    Benchmark benchmark = ssb_benchmark();
    benchmark.own_option = "selectivity";
    benchmark.own_help = "show which share of lineorder each query selects, beside the paper's value";
    benchmark.own_task = show_selectivity;
    return measure(benchmark, argc, argv);
}
