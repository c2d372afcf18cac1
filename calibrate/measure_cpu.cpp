// What PostgreSQL's own plans take, by what its planner counts: pages in order and out of order (cached ones here), tuples, index
// tuples, operators.
//
// The counts come from EXPLAIN: under settings that price one kind of work at 1 and the others at 0, the cost of a plan is the number of
// that kind (Stark, pgsql-performance, March 2005, asked for these counts to calibrate with). Each query has one plan only, under the settings
// that forbid the others; where another one comes all the same, or the counts do not add up to the cost, the query is left out.
#include <algorithm>
#include <cmath>

#include "measure.hpp"
#include "measure_report.hpp"
#include "one_plan.hpp"

namespace calibrate {
namespace {

constexpr const char *priced[] = {"seq_page_cost", "random_page_cost", "cpu_tuple_cost", "cpu_index_tuple_cost",
                                  "cpu_operator_cost"};
constexpr size_t npriced = 5;
// ns, to begin with: of a processor of 2023.
const std::vector<double> expected_ns = {200, 400, 40, 20, 15};
constexpr double relative_error = 0.05;

} // namespace

std::optional<Equation> MachineMeasurement::processor_equation(const Query &query) {
    const std::string settings = scratch_->path() + postgresql_alone + query.settings;
    const Json planned = explain("", settings, query.sql);
    const std::string shape = shape_of(planned.at(0).at("Plan"));
    Equation equation{std::vector<double>(npriced), 0, 0};
    double sum = 0;
    for (size_t p = 0; p < npriced; ++p) {
        std::string prices;
        for (size_t i = 0; i < npriced; ++i)
            prices += std::string("SET LOCAL ") + priced[i] + (i == p ? " = 1; " : " = 0; ");
        const Json counted = explain("", settings + prices, query.sql);
        if (shape_of(counted.at(0).at("Plan")) != shape)
            return std::nullopt;
        equation.amounts[p] = counted.at(0).at("Plan").at("Total Cost").get<double>();
        sum += equation.amounts[p] * setting(priced[p]);
    }
    const double cost = planned.at(0).at("Plan").at("Total Cost");
    if (std::fabs(sum - cost) > 0.02 * cost)
        return std::nullopt;
    std::vector<double> ms;
    for (size_t run = 0; run <= plan_.repeats; ++run) {
        const Json done = explain("ANALYZE, TIMING OFF, BUFFERS, ", settings, query.sql);
        const Json &plan = done.at(0).at("Plan");
        if (shape_of(plan) != shape)
            return std::nullopt;
        if (run == 0) // brings what it needs into the caches
            continue;
        if (plan.value("Shared Read Blocks", 0.0) > 0.01 * plan.value("Shared Hit Blocks", 0.0) ||
            plan.value("Temp Written Blocks", 0.0) > 0)
            return std::nullopt;
        ms.push_back(done.at(0).at("Execution Time"));
    }
    sample("processor", query.name, ms, {{"counts", equation.amounts}});
    equation.time = undisturbed(ms) * 1e6;
    equation.error = relative_error * equation.time;
    return equation;
}

void MachineMeasurement::measure_processor() {
    if (scratch_->kind() == Scratch::Kind::None) {
        note("PostgreSQL's own rates are not measured: " + scratch_->why());
        return;
    }
    const std::string few = std::to_string(scratch_->rows() / 50), many = std::to_string(scratch_->rows() / 2);
    const std::vector<Query> queries = {
        {"scan", "SELECT count(*) FROM facts", only({"seqscan"})},
        {"scan, a condition", "SELECT count(*) FROM facts WHERE a < 0", only({"seqscan"})},
        {"scan, four conditions", "SELECT count(*) FROM facts WHERE a >= 0 AND k10 >= 0 AND k1000 >= 0 AND b > 0",
         only({"seqscan"})},
        {"scan, sums", "SELECT sum(a), sum(k10), max(f), min(b) FROM facts", only({"seqscan"})},
        {"small scan", "SELECT count(*) FROM dims", only({"seqscan"})},
        {"small scan, a condition", "SELECT count(*) FROM dims WHERE v < 50", only({"seqscan"})},
        {"groups", "SELECT k1000, sum(a), count(*) FROM facts GROUP BY k1000", only({"seqscan", "hashagg"})},
        {"sort", "SELECT id FROM dims ORDER BY v, id", only({"seqscan", "sort"})},
        {"larger sort", "SELECT f FROM facts ORDER BY kmany", only({"seqscan", "sort"})},
        {"hash join", "SELECT count(*) FROM facts JOIN dims ON facts.k1000 = dims.id", only({"seqscan", "hashjoin"})},
        {"range of an index in order", "SELECT sum(a) FROM facts WHERE id <= " + many, only({"indexscan"})},
        {"small range of an index in order", "SELECT sum(a) FROM facts WHERE id <= " + few, only({"indexscan"})},
        {"range of an index out of order", "SELECT sum(a) FROM facts WHERE kmany < " + many, only({"indexscan"})},
        {"small range of an index out of order", "SELECT sum(a) FROM facts WHERE kmany < " + few, only({"indexscan"})},
        {"index only", "SELECT count(*) FROM facts WHERE kmany < " + many, only({"indexscan", "indexonlyscan"})},
        {"bitmap", "SELECT sum(a) FROM facts WHERE kmany < " + few, only({"bitmapscan"})},
        {"lookups", "SELECT sum(f.a) FROM dims d JOIN facts f ON f.kmany = d.id WHERE d.v < 20",
         only({"seqscan", "indexscan", "nestloop"})},
    };
    progress_.begin("processor", queries.size());
    std::vector<Equation> equations;
    for (size_t q = 0; q < queries.size(); ++q) {
        progress_.step(q, queries[q].name);
        if (const std::optional<Equation> e = processor_equation(queries[q]))
            equations.push_back(*e);
    }
    const std::vector<FittedWeight> fitted = fit_weights(equations, expected_ns);
    processor_ = {fitted[0], fitted[1], fitted[2], fitted[3], fitted[4]};
    const FittedWeight &tuple = fitted[2], &operation = fitted[4];
    if (tuple.verdict == Verdict::Unseen || operation.verdict == Verdict::Unseen) {
        note(std::string("PostgreSQL's own rates are not measured: of ") + std::to_string(equations.size()) +
             " queries " + "could be used, and they say too little");
        return;
    }
    // A tuple and an operator come together in most queries, so their sum is better known than either: what it differs by, as one kind of
    // work of 1 ns.
    for (Equation &e : equations)
        e.amounts = {e.amounts[0], e.amounts[1], e.amounts[2] * tuple.value + e.amounts[4] * operation.value,
                     e.amounts[3]};
    const FittedWeight both = fit_weights(equations, {fitted[0].value, fitted[1].value, 1, fitted[3].value})[2];
    const double ns = (tuple.value + operation.value) /
                      (setting("cpu_tuple_cost", "boot_val") + setting("cpu_operator_cost", "boot_val"));
    unit_ = {ns, ns * both.low / both.value, ns * both.high / both.value, Verdict::Measured};
    if (is_doubtful(unit_->value, unit_->low, unit_->high))
        note("the machine was too busy for these times to be relied on: measure again in a quiet hour");
}

} // namespace calibrate
