// How long the steps of PostgreSQL's executor take here (engine/cost/executor_cost.hpp), with which the server compares PostgreSQL's plans with
// those of devices.
//
// gpuscan.explain_cost() tells how many of each step a plan takes, and what of its time is known as a time only. Queries that have one plan
// each give an equation each, and least squares the steps' times. Steps come together (a row that is sorted was read first), so each is in
// several queries, in different proportions: scans of few and of many columns, conditions and aggregates of each kind of value, joins and
// groups whose tables are in the caches or not, indexes in the table's order and out of it. What is in force is known well
// enough to decide what the queries do not.
//
// Times are of executions without a clock and without counters of pages, which take longer than some of the steps. A query is left out
// where another plan was executed, rows are not what was estimated, pages had to be read, or much of its time is none of steps.
#include <algorithm>
#include <cmath>

#include "measure.hpp"
#include "one_plan.hpp"

namespace calibrate {
namespace {

constexpr double spread = 0.7; // of a rate's logarithm, as it was known: half of it, or twice
// What ends beyond the caches: tables that a measurement makes are within the last one of a server, where an access takes a fraction of what it
// takes in tables of gigabytes. So these stay about what they were known to be.
constexpr double far_spread = 0.1;
constexpr double relative_error = 0.05;
constexpr double most_other = 0.2;   // of a query's time, that is none of steps
constexpr double most_missed = 0.01; // of its pages, that are not in shared buffers
constexpr double most_ms = 3000;     // that a query is expected to take
constexpr double enough_ms = 500;    // for a query, after least_repeats
constexpr size_t least_repeats = 3, most_warmups = 2;
constexpr int workers = 2;
constexpr double planned_processes = workers + (1 - 0.3 * workers); // PostgreSQL's: the leader has its workers to serve
constexpr double most_extra = 0.05;

std::string text(double number) { return std::to_string(static_cast<long>(number)); }

// For plans with parallel workers, however little there is to do. (What the settings price follows them, but counts do not.)
const std::string parallel = "SET LOCAL max_parallel_workers_per_gather = " + std::to_string(workers) +
                             "; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL "
                             "min_parallel_table_scan_size = 0; "
                             "SET LOCAL parallel_leader_participation = on; ";

bool is_far(const std::string &step) { return step.size() > 4 && step.compare(step.size() - 4, 4, "_far") == 0; }

} // namespace

std::vector<MachineMeasurement::Query> MachineMeasurement::step_queries() const {
    const double rows = static_cast<double>(mixed_rows(scratch_->rows()));
    const std::string half = text(rows / 2), few = text(rows / 20);
    const std::string scan = only({"seqscan"}), hash = only({"seqscan", "hashjoin"}),
                      group = only({"seqscan", "hashagg"}), sort = only({"seqscan", "sort"}),
                      index = only({"indexscan"}), index_only = only({"indexscan", "indexonlyscan"}),
                      bitmap = only({"bitmapscan"}), lookups = only({"seqscan", "indexscan", "nestloop"});
    return {
        // scans
        {"pages and rows", "SELECT count(*) FROM mixed", scan},
        {"narrow rows", "SELECT count(*) FROM dims", scan},
        {"a larger table", "SELECT count(*) FROM facts", scan},
        {"a column", "SELECT count(id) FROM mixed", scan},
        {"the last column", "SELECT count(last) FROM mixed", scan},
        {"all columns", "SELECT count(id), count(k), count(n), count(t), count(last) FROM mixed", scan},
        // conditions
        {"a condition", "SELECT count(*) FROM mixed WHERE v >= 0", scan},
        {"a condition on the last column", "SELECT count(*) FROM mixed WHERE last > 0", scan},
        {"five conditions", "SELECT count(*) FROM mixed WHERE v >= 0 AND id > 0 AND k >= 0 AND many >= 0 AND k <> -1",
         scan},
        {"conditions that few pass", "SELECT count(last) FROM mixed WHERE v = 7", scan},
        {"a condition on numerics", "SELECT count(*) FROM mixed WHERE n >= 0", scan},
        {"conditions on numerics", "SELECT count(*) FROM mixed WHERE n >= 0 AND n < 100000 AND n <> -1 AND kn >= 0",
         scan},
        {"a condition on texts", "SELECT count(*) FROM mixed WHERE t >= '0'", scan},
        {"conditions on texts",
         "SELECT count(*) FROM mixed WHERE t >= '0' AND t <> 'x' AND kt <> 'group x' AND kt >= 'g'", scan},
        {"a pattern", "SELECT count(*) FROM mixed WHERE s NOT LIKE '%no%such%'", scan},
        {"patterns",
         "SELECT count(*) FROM mixed WHERE s NOT LIKE '%no%such%' AND t NOT LIKE '%x%' AND s NOT LIKE '%zz'", scan},
        {"a part of a text", "SELECT count(*) FROM mixed WHERE substr(t, 3, 2) <> 'xx'", scan},
        // aggregates
        {"aggregates", "SELECT sum(v), max(k), min(many), sum(id), max(v), count(*) FROM mixed", scan},
        {"sums of expressions", "SELECT sum(v + k), sum(v * 2 + 1), max(many - id) FROM mixed", scan},
        {"a sum of numerics", "SELECT sum(n) FROM mixed", scan},
        {"aggregates of numerics", "SELECT sum(n), max(n), avg(kn), min(kn) FROM mixed", scan},
        {"a sum of a product", "SELECT sum(n * kn) FROM mixed", scan},
        {"sums of numeric expressions", "SELECT sum(n * (1 - kn)), sum(n * (1 - kn) * (1 + kn)) FROM mixed", scan},
        {"aggregates of texts", "SELECT max(t), min(kt) FROM mixed", scan},
        // groups
        {"few groups", "SELECT k, count(*) FROM mixed GROUP BY k", group},
        {"few groups by a text", "SELECT kt, count(*), sum(v) FROM mixed GROUP BY kt", group},
        {"few groups by a numeric", "SELECT kn, count(*) FROM mixed GROUP BY kn", group},
        {"groups with sums of numerics", "SELECT v, sum(n), sum(n * (1 - kn)), avg(n), count(*) FROM mixed GROUP BY v",
         group},
        {"a thousand groups of a larger table", "SELECT k1000, sum(a) FROM facts GROUP BY k1000", group},
        {"many groups", "SELECT many, count(*) FROM mixed GROUP BY many", group},
        {"many groups of a small table", "SELECT id, sum(v) FROM dims GROUP BY id", group},
        {"many groups by a text", "SELECT t, count(*) FROM mixed GROUP BY t", group},
        {"a sort", "SELECT many, v FROM mixed ORDER BY many", sort},
        {"a sort of few rows", "SELECT many, v FROM mixed WHERE v < 10 ORDER BY many", sort},
        {"a sort of a larger table", "SELECT f FROM facts ORDER BY kmany", sort},
        {"a sort by a text", "SELECT t, v FROM mixed ORDER BY t", sort},
        {"a join with a few rows", "SELECT count(*) FROM mixed m JOIN tiny t ON m.k = t.id", hash},
        {"a join that few rows pass", "SELECT count(*) FROM mixed m JOIN tiny t ON m.v = t.id", hash},
        {"a join of a larger table with a few rows", "SELECT count(*) FROM facts f JOIN tiny t ON f.k10 = t.id", hash},
        {"a join of a larger table that few rows pass", "SELECT count(*) FROM facts f JOIN dims d ON f.kmany = d.id",
         hash},
        {"a join of rows of equal number", "SELECT sum(b.v) FROM mixed a JOIN mixed b ON a.many = b.id", hash},
        {"a join with a part of its rows", "SELECT sum(b.v) FROM mixed a JOIN mixed b ON a.many = b.id WHERE b.v < 30",
         hash},
        {"a join of two small tables", "SELECT sum(b.v) FROM dims a JOIN dims b ON a.id = b.id", hash},
        {"a join with a large table", "SELECT sum(g.a) FROM facts f JOIN facts g ON f.kmany = g.id WHERE g.a < 30",
         hash},
        {"a join of two larger tables", "SELECT count(*) FROM facts f JOIN facts g ON f.kmany = g.id", hash},
        {"a join by texts", "SELECT count(*) FROM mixed a JOIN mixed b ON a.t = b.t", hash},
        {"three joins, a sum",
         "SELECT sum(m.n) FROM mixed m JOIN tiny a ON m.k = a.id JOIN dims b ON m.v = b.id JOIN dims c ON m.many = "
         "c.id",
         hash},
        {"joins and groups",
         "SELECT m.kt, sum(m.n * (1 - m.kn)) FROM mixed m JOIN tiny a ON m.k = a.id JOIN dims b ON m.v = b.id WHERE "
         "m.id > "
         "0 GROUP BY m.kt",
         only({"seqscan", "hashjoin", "hashagg"})},
        // other joins
        {"a merge of two indexes", "SELECT count(*) FROM mixed a JOIN mixed b ON a.id = b.id",
         only({"indexscan", "mergejoin"})},
        {"a merge of sorted rows", "SELECT count(*) FROM mixed a JOIN mixed b ON a.many = b.many",
         only({"seqscan", "sort", "mergejoin"})},
        {"lookups in order", "SELECT sum(m.v) FROM dims d JOIN mixed m ON m.id = d.id WHERE d.id > 0", lookups},
        {"lookups out of order", "SELECT sum(m.v) FROM dims d JOIN mixed m ON m.many = d.id", lookups},
        {"lookups in a larger table", "SELECT sum(f.a) FROM dims d JOIN facts f ON f.kmany = d.id", lookups},
        {"lookups by keys out of order",
         "SELECT sum(f.a) FROM mixed m JOIN facts f ON f.id = m.many WHERE m.v < 30 AND m.many > 0", lookups},
        {"lookups in an index alone", "SELECT count(*) FROM dims d JOIN mixed m ON m.many = d.id",
         only({"seqscan", "indexscan", "indexonlyscan", "nestloop"})},
        {"memoized lookups", "SELECT sum(d.id) FROM mixed m JOIN dims d ON d.id = m.v",
         only({"seqscan", "indexscan", "nestloop", "memoize"})},
        {"all pairs with a few rows", "SELECT count(*) FROM dims d CROSS JOIN tiny t",
         only({"seqscan", "nestloop", "material"})},
        {"pairs by a condition", "SELECT count(*) FROM dims d JOIN tiny t ON d.v * 3 < t.id * 10",
         only({"seqscan", "nestloop", "material"})},
        // indexes
        {"an index in order", "SELECT sum(v) FROM mixed WHERE id <= " + half, index},
        {"an index in order, few rows", "SELECT sum(v) FROM mixed WHERE id <= " + few, index},
        {"an index out of order", "SELECT sum(v) FROM mixed WHERE many < " + half, index},
        {"an index out of order, few rows", "SELECT sum(v) FROM mixed WHERE many < " + few, index},
        {"an index out of order, a larger table", "SELECT sum(a) FROM facts WHERE kmany < " + half, index},
        {"an index alone", "SELECT count(*) FROM mixed WHERE many < " + half, index_only},
        {"an index alone, a larger table", "SELECT count(*) FROM facts WHERE id <= " + half, index_only},
        {"a bitmap", "SELECT sum(v) FROM mixed WHERE many < " + half, bitmap},
        {"a bitmap, few rows", "SELECT sum(v) FROM mixed WHERE many < " + few, bitmap},
        {"a bitmap in order", "SELECT sum(v) FROM mixed WHERE id <= " + half, bitmap},
        {"a bitmap, a larger table", "SELECT sum(a) FROM facts WHERE kmany < " + few, bitmap},
        // rows passed on
        {"rows written down", "SELECT count(m.v) FROM tiny t LEFT JOIN mixed m ON m.v + t.id < 35 WHERE t.id < 5",
         only({"seqscan", "nestloop", "material"})},
        {"a window", "SELECT sum(v) OVER (PARTITION BY many) FROM mixed", sort},
        {"row numbers", "SELECT row_number() OVER (ORDER BY id) FROM mixed", index},
    };
}

// The first one has so little to do that it does not matter how many cores there are.
std::vector<MachineMeasurement::Query> MachineMeasurement::parallel_step_queries() const {
    const std::string scan = only({"seqscan"}) + parallel,
                      lookups = only({"seqscan", "indexscan", "nestloop"}) + parallel;
    if (scratch_->kind() != Scratch::Kind::Schema) // workers cannot read temporary tables
        return {};
    return {
        {"parallel workers", "SELECT count(*) FROM dims", scan},
        {"parallel workers, sums", "SELECT sum(v) FROM mixed", scan},
        {"rows of parallel workers", "SELECT id FROM facts WHERE a < 50", scan},
        {"wider rows of parallel workers", "SELECT id, n, t, v FROM mixed WHERE v >= 0", scan},
        {"lookups of parallel workers", "SELECT sum(m.v) FROM dims d JOIN mixed m ON m.many = d.id", lookups},
        {"lookups of parallel workers in a larger table",
         "SELECT sum(f.a) FROM mixed m JOIN facts f ON f.id = m.many WHERE m.v < 30 AND m.many > 0", lookups},
    };
}

// Why it is left out, or nothing, and the equation.
std::string MachineMeasurement::steps_equation(const Query &query, const std::vector<std::string> &names,
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
    std::vector<Query> queries = step_queries();
    const size_t parallel_from = queries.size();
    for (const Query &query : parallel_step_queries())
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
        if (q == parallel_from && is_contended(equations.back(), names)) {
            note("parallel workers are measured by their start alone: this machine has fewer cores than processes");
            break;
        }
    }
    if (left_out > 0)
        note(std::to_string(left_out) + " of " + std::to_string(queries.size()) +
             " queries for the executor's steps are left out; the file says which, and why");
    std::vector<double> spreads;
    for (const std::string &name : names)
        spreads.push_back(is_far(name) ? far_spread : spread);
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
