// How long the steps of PostgreSQL's executor take here (engine/cost/executor_cost.hpp), with which the server compares PostgreSQL's plans with
// those of devices.
//
// gpuscan.explain_cost() tells how many of each step a plan takes, and what of its time is known as a time only. Queries that have one plan
// each (step_queries.hpp) give an equation each, and least squares the steps' times. What is in force is known well enough to decide what the
// queries do not.
//
// Times are of executions without a clock and without counters of pages, which take longer than some of the steps. A query is left out
// where another plan was executed, rows are not what was estimated, pages had to be read, or much of its time is none of steps.
#include <algorithm>
#include <cmath>

#include "measure.hpp"
#include "one_plan.hpp"
#include "step_queries.hpp"

namespace calibrate {
namespace {

constexpr double spread = 0.7; // of a rate's logarithm, as it was known: half of it, or twice
// What ends beyond the caches: tables that a measurement makes are within the last one of a server, where an access takes a fraction of what it
// takes in tables of gigabytes. So this stays about what it was known to be.
constexpr char far_step[] = "cache_miss";
constexpr double far_spread = 0.1;
constexpr double relative_error = 0.05;
constexpr double most_other = 0.2;   // of a query's time, that is none of steps
constexpr double most_missed = 0.01; // of its pages, that are not in shared buffers
constexpr double most_ms = 3000;     // that a query is expected to take
constexpr double enough_ms = 500;    // for a query, after least_repeats
constexpr size_t least_repeats = 3, most_warmups = 2;
constexpr double planned_processes =
    parallel_workers + (1 - 0.3 * parallel_workers); // PostgreSQL's: the leader has its workers to serve
constexpr double most_extra = 0.05;

} // namespace

// Why it is left out, or nothing, and the equation.
std::string MachineMeasurement::steps_equation(const StepQuery &query, const std::vector<std::string> &names,
                                               Equation *equation) {
    const std::string settings = scratch_->path() + postgresql_alone + query.settings;
    const Json planned = explain("", settings, query.sql);
    const std::string shape = shape_of(planned.at(0).at("Plan"));
    const pg::Result counted =
        session_.query(settings + "SELECT component, work, amount, ms, cost FROM " +
                       session_.of_extension("gpuscan.explain_cost") + "(" + session_.quote(query.sql) +
                       ") WHERE alternative = 'postgresql' AND component IN ('steps', 'other', 'total')");
    *equation = {std::vector<double>(names.size()), 0, 0};
    double other_ms = 0, cost = 0, expected_ms = 0;
    for (int i = 0; i < counted.rows(); ++i) {
        const std::string component = counted.get(i, 0);
        if (component == "total") {
            cost = std::stod(counted.get(i, 4));
            expected_ms = std::stod(counted.get(i, 3));
        }
        if (component == "other" && !counted.is_null(i, 3))
            other_ms = std::stod(counted.get(i, 3));
        for (size_t s = 0; component == "steps" && s < names.size(); ++s)
            if (counted.get(i, 1) == names[s])
                equation->amounts[s] = std::stod(counted.get(i, 2));
    }
    if (std::fabs(cost - planned.at(0).at("Plan").at("Total Cost").get<double>()) > 0.01 + 1e-6 * cost)
        return "another plan was counted than is executed";
    if (expected_ms > most_ms)
        return "it would take too long";
    const auto execute = [&](const char *options, Json *done) -> std::string {
        *done = explain(options, settings, query.sql).at(0);
        if (shape_of(done->at("Plan")) != shape)
            return "another plan is executed";
        return is_as_estimated(done->at("Plan")) ? ""
                                                 : "rows are not what was estimated, or parallel workers did not start";
    };
    Json done;
    double missed = 1;
    for (size_t run = 0; run < most_warmups && missed > most_missed; ++run) {
        if (const std::string why = execute("ANALYZE, TIMING OFF, BUFFERS, ", &done); !why.empty())
            return why;
        const Json &plan = done.at("Plan");
        if (plan.value("Temp Written Blocks", 0.0) > 0)
            return "it writes files";
        const double read = plan.value("Shared Read Blocks", 0.0) + plan.value("Local Read Blocks", 0.0);
        missed =
            read / std::max(read + plan.value("Shared Hit Blocks", 0.0) + plan.value("Local Hit Blocks", 0.0), 1.0);
    }
    if (missed > most_missed)
        return "its pages do not stay in shared buffers";
    std::vector<double> ms;
    for (double spent_ms = 0; ms.size() < plan_.repeats && (ms.size() < least_repeats || spent_ms < enough_ms);) {
        if (const std::string why = execute("ANALYZE, TIMING OFF, BUFFERS OFF, ", &done); !why.empty())
            return why;
        ms.push_back(done.at("Execution Time"));
        spent_ms += ms.back();
    }
    const double time_ms = undisturbed(ms);
    sample("steps", query.name, ms, {{"counts", equation->amounts}, {"other", other_ms}});
    if (other_ms > most_other * time_ms)
        return "too much of its time is none of steps";
    equation->time = (time_ms - other_ms) * 1e6;
    equation->error = relative_error * time_ms * 1e6;
    return "";
}

// Does a process of the first parallel query count more than its share of the rows?
bool MachineMeasurement::is_contended(const Equation &equation, const std::vector<std::string> &names) const {
    const double share = static_cast<double>(dims_rows(scratch_->rows())) / planned_processes;
    for (size_t s = 0; s < names.size(); ++s)
        if (names[s] == "tuple")
            return equation.amounts[s] > share * (1 + most_extra) + 1;
    return false;
}

// Lines of the result, and the profile's values that are new. A rate in force follows PostgreSQL's settings; a profile's is that at their
// defaults.
void MachineMeasurement::measure_steps() {
    const std::string profile = session_.of_extension("gpuscan.cost_profile"),
                      function = session_.of_extension("gpuscan.explain_cost");
    const auto kept = [&](const std::string &why) { note("steps of PostgreSQL's executor are not measured: " + why); };
    if (scratch_->kind() == Scratch::Kind::None || !session_.has_setting("gpuscan.offload") || profile.empty())
        return; // (which measure_processor or measure_device say)
    if (function.empty())
        return kept("this version of the extension has none");
    if (session_.value("SELECT pg_catalog.has_table_privilege(" + session_.quote(profile) +
                       ", 'SELECT') AND pg_catalog.has_function_privilege(" + session_.quote(function + "(text)") +
                       ", 'EXECUTE')") != "t")
        return kept("this role may not use gpuscan.cost_profile and gpuscan.explain_cost()");
    const pg::Result rates = session_.query("SELECT name, value, default_value, price, unit FROM " + profile +
                                            " WHERE device = 'server' AND price IS NOT NULL");
    if (rates.rows() == 0)
        return kept("this version of the extension has none");
    std::vector<std::string> names;
    std::vector<double> known;
    for (int i = 0; i < rates.rows(); ++i) {
        names.push_back(rates.get(i, 0));
        known.push_back(std::stod(rates.get(i, 3)));
    }
    std::vector<StepQuery> queries = step_queries(mixed_rows(scratch_->rows()));
    if (scratch_->kind() == Scratch::Kind::Schema)
        for (const StepQuery &query : parallel_step_queries())
            queries.push_back(query);
    std::vector<Equation> equations;
    size_t left_out = 0;
    progress_.begin("steps of PostgreSQL's executor", queries.size());
    for (size_t q = 0; q < queries.size(); ++q) {
        progress_.step(q, queries[q].name);
        Equation equation;
        if (const std::string why = steps_equation(queries[q], names, &equation); !why.empty()) {
            checkpoint_.append({{"type", "left out"}, {"part", "steps"}, {"query", queries[q].name}, {"why", why}});
            ++left_out;
            continue;
        }
        equations.push_back(std::move(equation));
        if (queries[q].name == first_parallel && is_contended(equations.back(), names)) {
            note("parallel workers are measured by their start alone: this machine has fewer cores than processes");
            break;
        }
    }
    if (left_out > 0)
        note(std::to_string(left_out) + " of " + std::to_string(queries.size()) +
             " queries for the executor's steps are left out; the file says which, and why");
    std::vector<double> spreads;
    for (const std::string &name : names)
        spreads.push_back(name == far_step ? far_spread : spread);
    const std::vector<FittedWeight> fitted = fit_weights(equations, known, spreads);
    for (int i = 0; i < rates.rows(); ++i) {
        const FittedWeight &f = fitted[static_cast<size_t>(i)];
        const double value = std::stod(rates.get(i, 1)), price = known[static_cast<size_t>(i)];
        const double at_defaults = price > 0 ? value / price : 1;
        Measured line{"server",
                      names[static_cast<size_t>(i)],
                      "ns a " + rates.get(i, 4),
                      value,
                      std::nullopt,
                      std::nullopt,
                      value,
                      std::stod(rates.get(i, 2)),
                      f.verdict != Verdict::Unseen,
                      words_of(f.verdict)};
        if (line.measured) {
            line.value = f.value * at_defaults;
            line.low = f.low * at_defaults;
            line.high = f.high * at_defaults;
            profile_["server"][line.name] = *line.value;
        }
        steps_.push_back(line);
    }
}

} // namespace calibrate
