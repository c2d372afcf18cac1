// regret-run: how good are the choices of gpuscan.offload = auto? Every plan that a session can be made to choose for a query is
// run and timed; what counts is the plan that gpuscan chooses by itself against the best of them. (statistics.hpp says how.)
//
// A *case* is a query on a set of data, with gpuscan's cache either empty before each run (cold; pages are in shared_buffers) or as
// the runs before have left it (hot). In that state the query is planned in all the ways of alternatives.cpp; equal plans are one
// alternative. Plans are prepared, so what is timed is the plan that was shown, without its planning.
//
// An alternative runs --warmups times uncounted, then --reps times; the median counts. One that takes more than --limit times the
// best so far is stopped (and 20 ms more, so that a disturbance stops nobody): it is known to take longer than that, not how long.
// The plan that was chosen is never stopped. The smallest of several medians is too small by chance, so the plan that was chosen
// and the one that seems best are then run in turns, and these times decide. A plan without a device is as fast hot as cold, and
// measured once.
//
// The last line is about the best of all plans. The line before it leaves out those that PostgreSQL would not have chosen for its
// part (found by enable_nestloop = off and the like): it tells how well gpuscan chooses between devices and PostgreSQL.
//
// All runs give the same answer as PostgreSQL's plan, or the exit status is 1.
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../common/answer.hpp"
#include "../common/benchmark.hpp"
#include "../common/command_line.hpp"
#include "../common/pg.hpp"
#include "../rides/benchmark.hpp"
#include "../ssb/benchmark.hpp"
#include "../tpch/benchmark.hpp"
#include "alternatives.hpp"
#include "indexed.hpp"
#include "measurements.hpp"
#include "plan_tree.hpp"
#include "statistics.hpp"

namespace {

using namespace bench;
using Clock = std::chrono::steady_clock;

struct Options {
    std::vector<std::pair<std::string, std::string>> targets; // benchmark, schema
    std::vector<std::string> only, states = {"cold", "hot"};
    std::string csv = "regret.csv", report, device, dbname;
    Settings settings;
    int reps = 5, warmups = 1;
    double limit = 3, budget_s = 0;
    Tolerance tolerance;
};

Options parse_options(int argc, char **argv) {
    Options o;
    CLI::App app("Forces the plans of every query and times them, and says how good gpuscan's choices are.",
                 "regret-run");
    app.footer("The last line: cases N, wrong P %, regret R, rank correlation C. Exit status: 0, 1 if a result was "
               "wrong, 2 for any "
               "other error.");
    prepare_command_line(app);
    add_pairs(
        app, "--target", ':', o.targets,
        "BENCHMARK:SCHEMA: the benchmark (ssb, tpch, indexed, rides), whose tables are in the schema; may be repeated");
    app.add_option("--csv", o.csv, "what was measured; a second start goes on from there")->capture_default_str();
    app.add_option("--report", o.report, "the cases as a table, a file (default: none)");
    app.add_option("--reps", o.reps, "counted runs of each plan; their median counts")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--warmups", o.warmups, "runs before them that are not counted")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    app.add_option("--limit", o.limit, "a plan that takes so many times the best so far is stopped")
        ->capture_default_str()
        ->check(CLI::Range(1.0, 1e9));
    app.add_option("--floor", o.tolerance.floor_ms,
                   "ms that a choice must take longer than the best to be called wrong, besides a tenth of it")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    app.add_option("--state", o.states, "hot, cold or both (default hot,cold)")
        ->delimiter(',')
        ->transform(lower)
        ->check(CLI::IsMember({"hot", "cold"}));
    app.add_option("--only", o.only, "some of the queries, by their names in any of the benchmarks")
        ->delimiter(',')
        ->transform(lower);
    app.add_option("--device", o.device,
                   "gpuscan.device for gpuscan's choice (host, cuda, ...; default: the server's setting)");
    app.add_option("--budget", o.budget_s, "begin no further case after so many seconds (default: all cases)")
        ->check(CLI::NonNegativeNumber);
    add_pairs(app, "--set", '=', o.settings, "NAME=VALUE: a setting of the measured session; may be repeated");
    app.add_option("--dbname", o.dbname, "database, connection string or URI (default: the PG* variables)");
    app.get_option("--target")->required();
    parse_command_line(app, argc, argv);
    std::sort(o.states.begin(),
              o.states.end()); // cold first: PostgreSQL's plans are stopped later there, and measured once
    return o;
}

// ---- a benchmark's queries ----

struct Target {
    Benchmark benchmark;
    std::string name, schema, data;
    std::vector<Query> queries;
};

std::string directory_of_program() {
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    const std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
    return self.substr(0, self.rfind('/'));
}

Benchmark benchmark_named(const std::string &name) {
    if (name == "ssb")
        return ssb_benchmark();
    if (name == "tpch")
        return tpch_benchmark();
    if (name == "indexed")
        return indexed_benchmark();
    if (name == "rides")
        return rides_benchmark();
    throw pg::Error("no benchmark is called '" + name + "'");
}

// ---- a case ----

struct Alternative {
    PlanTree tree;
    std::string plan;                             // hash
    std::vector<std::string> names;               // the ways that lead to it
    std::vector<std::pair<double, double>> costs; // by the scale of PostgreSQL's costs
    Settings settings;                            // of the first way
    std::string statement;                        // prepared
    Measurement measured;
    double first_ms = 0;  // of the warm-ups: a bound of what it takes
    bool tampered = true; // only reached by telling PostgreSQL how to plan

    double ms() const { return median(measured.times); }

    // At PostgreSQL's costs as they are: a plan that was only seen with scaled ones costs a x scale + b. Nothing if that is unknown.
    std::optional<double> cost() const {
        for (const auto &[scale, cost] : costs)
            if (scale == 1)
                return cost;
        for (const auto &[scale, cost] : costs)
            if (const auto &[s0, c0] = costs.front(); scale != s0)
                return c0 + (cost - c0) / (scale - s0) * (1 - s0);
        return std::nullopt;
    }
};

struct Case {
    const Target *target;
    Query query;
    std::string state;
    std::vector<Alternative> alternatives; // the first is the one that was chosen
    size_t best = 0, best_untampered = 0;
    Verdict verdict{}, verdict_untampered{};
    std::optional<double> correlation;
};

constexpr double slack_ms = 20;        // how much longer than the limit
constexpr double first_run_ms = 10000; // a first run decodes columns and compiles kernels
constexpr const char *query_canceled = "57014";
constexpr double tie = 0.05;                            // times that are as good as equal
constexpr std::chrono::milliseconds full_kernels{1000}; // kernels that are compiled quickly are compiled once more

class Runner {
  public:
    explicit Runner(Options options) : options_(std::move(options)), measurements_(options_.csv) {
        open();
        for (const auto &[name, schema] : options_.targets)
            targets_.push_back(read_target(name, schema));
        const std::string answers = options_.csv + ".answers";
        if (mkdir(answers.c_str(), 0777) != 0 && errno != EEXIST)
            throw pg::Error("cannot make " + answers);
    }

    int run() {
        print_header();
        const Clock::time_point start = Clock::now();
        bool complete = true;
        for (Target &target : targets_) {
            connection_->exec("SET search_path = " + connection_->quote_identifier(target.schema) + ", public");
            prewarm_tables(*connection_, target.benchmark);
            warn_of_unmarked_pages(target);
            for (const Query &query : target.queries)
                for (const std::string &state : options_.states) {
                    if (options_.budget_s > 0 && milliseconds_since(start) > options_.budget_s * 1000) {
                        complete = false;
                        continue;
                    }
                    run_case(target, query, state);
                }
        }
        print_wrong();
        if (!options_.report.empty())
            write_report();
        if (!complete)
            std::printf("not all cases: the budget of %g s is spent; a second start goes on\n", options_.budget_s);
        if (!wrong_answers_.empty()) {
            std::printf("other results than PostgreSQL's:");
            for (const std::string &name : wrong_answers_)
                std::printf(" %s", name.c_str());
            std::printf("\n");
        }
        Summary all, untampered;
        for (const Case &c : cases_) {
            all.add(c.verdict, c.correlation);
            untampered.add(c.verdict_untampered, c.correlation);
        }
        std::printf("worst choice %.2f times the best; sum of chosen %.1f ms, of best %.1f ms\n", all.worst_ratio,
                    all.chosen_ms, all.best_ms);
        std::printf("with PostgreSQL's part as PostgreSQL plans it: wrong %.1f %%, regret %.3f, worst choice %.2f "
                    "times the best\n",
                    untampered.wrong_percent(), untampered.regret(), untampered.worst_ratio);
        std::printf("cases %d, wrong %.1f %%, regret %.3f, rank correlation %.2f\n", all.cases, all.wrong_percent(),
                    all.regret(), all.correlation());
        return wrong_answers_.empty() ? 0 : 1;
    }

  private:
    static double milliseconds_since(Clock::time_point start) {
        return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }

    std::string show(const std::string &setting) { return connection_->value("SHOW " + setting); }

    void set(const Settings &settings) {
        for (const auto &[name, value] : settings)
            connection_->exec("SELECT set_config($1, $2, false)", {name, value});
    }
    void reset(const Settings &settings) {
        for (const auto &[name, value] : settings)
            connection_->exec("RESET " + name);
    }

    // ---- the server ----

    // The user's settings are the session's defaults, to which RESET goes back.
    void open() {
        std::string session;
        for (const auto &[name, value] : options_.settings) {
            session += " -c " + name + "=";
            for (char c : value)
                session += c == ' ' || c == '\\' ? std::string("\\") + c : std::string(1, c);
        }
        if (const char *before = getenv("PGOPTIONS"))
            session = before + session;
        setenv("PGOPTIONS", session.c_str(), 1);
        connection_ = std::make_unique<pg::Connection>(options_.dbname, "regret-run");
        connection_->exec("SET client_min_messages = warning");
        connection_->exec("CREATE EXTENSION IF NOT EXISTS gpuscan");
        if (options_.device.empty())
            options_.device = show("gpuscan.device");
        pg::Result devices =
            connection_->exec("SELECT kind, name FROM gpuscan.devices WHERE state = 'ready' ORDER BY kind");
        std::string used;
        for (int i = 0; i < devices.rows(); ++i) {
            const std::string kind = devices.get(i, 0);
            // auto takes the GPU where there is one
            const bool is_used = options_.device == kind || (options_.device == "auto" && used.empty());
            if (is_used)
                used = devices.get(i, 1);
            else if (options_.device == "auto")
                other_devices_.push_back(kind);
        }
        if (used.empty())
            throw pg::Error("no device is ready (wanted: " + options_.device + "); see gpuscan.devices");
        context_ = used;
        for (const char *name : {"server_version", "shared_buffers", "work_mem", "max_parallel_workers_per_gather",
                                 "effective_cache_size", "jit", "gpuscan.cache_size", "gpuscan.host_threads"})
            context_ += std::string("; ") + name + " " + show(name);
        for (const std::string &name : cost_settings)
            costs_.emplace_back(name,
                                connection_->value("SELECT setting FROM pg_settings WHERE name = '" + name + "'"));
    }

    Target read_target(const std::string &name, const std::string &schema) {
        Target target{benchmark_named(name), name, schema, "", {}};
        connection_->exec("SET search_path = " + connection_->quote_identifier(schema) + ", public");
        for (const char *table : target.benchmark.tables)
            if (connection_->exec("SELECT to_regclass($1)", {table}).is_null(0, 0))
                throw pg::Error(std::string("table ") + table + " is missing in schema " + schema +
                                "; bench/regret.sh makes what it needs");
        target.data = name + ": " + data_set(*connection_, target.benchmark.tables.front());
        const std::string folder = directory_of_program() + (name == "indexed" ? "" : "/../" + name) + "/queries";
        Benchmark wanted = target.benchmark;
        if (!options_.only.empty()) {
            wanted.queries.clear();
            for (const std::string &query : target.benchmark.queries)
                if (std::count(options_.only.begin(), options_.only.end(), query) > 0)
                    wanted.queries.push_back(query);
        }
        target.queries = read_queries(wanted, folder, {});
        for (Query &query : target.queries)
            if (target.benchmark.surrogate)
                target.benchmark.surrogate(query, std::nullopt, *connection_);
        return target;
    }

    // Other sessions' snapshots keep VACUUM from marking pages, and such pages are read row by row.
    void warn_of_unmarked_pages(const Target &target) {
        for (const char *table : target.benchmark.tables) {
            const pg::Result r = connection_->exec(
                "SELECT round(100.0 * relallvisible / relpages) FROM pg_class WHERE oid = $1::regclass "
                "AND relallvisible < relpages * 0.99",
                {table});
            if (r.rows() > 0)
                std::printf(
                    "warning: only %s per cent of the pages of %s.%s are all-visible; VACUUM it while nothing else "
                    "runs\n",
                    r.get(0, 0).c_str(), target.schema.c_str(), table);
        }
    }

    void evict(const Target &target) {
        for (const char *table : target.benchmark.tables)
            connection_->exec("SELECT gpuscan.evict($1::regclass)", {table});
    }

    long kernels_compiled() {
        return std::atol(connection_->value("SELECT kernels_compiled FROM gpuscan.stat").c_str());
    }

    // ---- plans ----

    PlanTree plan_of(const std::string &statement) {
        pg::Result r = connection_->exec("EXPLAIN (FORMAT json) EXECUTE " + statement);
        std::string json;
        for (int i = 0; i < r.rows(); ++i)
            json += r.get(i, 0) + "\n";
        return read_plan(json);
    }

    // All plans of the query in the present state of the cache, the one that gpuscan chooses first.
    std::vector<Alternative> plan_all_ways(const Query &query) {
        std::vector<Alternative> list;
        for (const Variant &variant : variants(options_.device, other_devices_, costs_)) {
            set(variant.settings);
            const std::string statement = "regret_" + std::to_string(++statements_);
            connection_->exec("PREPARE " + statement + " AS " + query.sql);
            PlanTree tree = plan_of(statement);
            const std::string plan = hash_of(tree.text);
            auto known = std::find_if(list.begin(), list.end(), [&](const Alternative &a) { return a.plan == plan; });
            if (known == list.end()) {
                Alternative a;
                a.tree = tree;
                a.plan = plan;
                a.settings = variant.settings;
                a.statement = statement;
                list.push_back(std::move(a));
                known = list.end() - 1;
            } else {
                connection_->exec("DEALLOCATE " + statement);
            }
            known->names.push_back(variant.name);
            known->tampered = known->tampered && variant.tampered;
            if (tree.honest)
                known->costs.emplace_back(variant.scale, tree.cost);
            reset(variant.settings);
        }
        return list;
    }

    // ---- runs ----

    pg::Result run_by_postgres(const std::string &sql) {
        const std::string before = show("gpuscan.offload"), timeout = show("statement_timeout");
        connection_->exec("SET gpuscan.offload = off; SET statement_timeout = 0");
        pg::Result r = connection_->exec(sql);
        connection_->exec("SET gpuscan.offload = " + before + "; SET statement_timeout = '" + timeout + "'");
        return r;
    }

    void check(const Query &query, const pg::Result &r, Expected &expected) {
        expected.add(query, answer_of(query, r), [&](const std::string &sql) { return run_by_postgres(sql); });
    }

    // What PostgreSQL's own plan gives, and how long it took.
    double expect(const Target &target, const Query &query, Expected &expected) {
        const std::string key = target.data + query.sql;
        const std::string path = options_.csv + ".answers/" + hash_of(key) + ".answer";
        if (const std::optional<StoredAnswer> stored = load_answer(path, key)) {
            expected.answer = stored->answer;
            return stored->ms;
        }
        const Clock::time_point start = Clock::now();
        check(query, run_by_postgres(query.sql), expected);
        const double ms = milliseconds_since(start);
        save_answer(path, key, {ms, *expected.answer});
        return ms;
    }

    // (On a busy machine the limit may meet the statement that lifts it.)
    void lift_limit() {
        for (int i = 0;; ++i) {
            const pg::Result r(PQexec(connection_->raw(), "SET statement_timeout = 0"));
            if (PQresultStatus(r.raw()) == PGRES_COMMAND_OK)
                return;
            if (i == 1000 || std::string(r.sqlstate()) != query_canceled)
                throw pg::Error(pg::trimmed(PQerrorMessage(connection_->raw())));
        }
    }

    // The time of a run; nothing if it was stopped after `limit` ms (0: never).
    std::optional<double> run_once(const Case &c, const Alternative &a, double limit, Expected &expected) {
        connection_->exec("SET statement_timeout = " + std::to_string(static_cast<long>(limit)));
        const Clock::time_point start = Clock::now();
        const pg::Result r(PQexec(connection_->raw(), ("EXECUTE " + a.statement).c_str()));
        const double ms = milliseconds_since(start);
        const std::string message = pg::trimmed(PQerrorMessage(connection_->raw()));
        lift_limit();
        if (PQresultStatus(r.raw()) != PGRES_TUPLES_OK) {
            if (limit > 0 && std::string(r.sqlstate()) == query_canceled)
                return std::nullopt;
            throw pg::Error(c.target->name + " " + c.query.name + ": " + message);
        }
        check(c.query, r, expected);
        return ms;
    }

    // The same, from the state of the case.
    std::optional<double> timed(const Case &c, const Alternative &a, double limit, Expected &expected) {
        if (c.state == "cold" && a.tree.device_nodes > 0)
            evict(*c.target);
        return run_once(c, a, limit, expected);
    }

    double limit_by(double best) const { return std::max(options_.limit * best, best + slack_ms); }

    MeasurementKey key_of(const Case &c, const Alternative &a, const std::string &phase) const {
        const std::string state = a.tree.device_nodes > 0 ? c.state : "any";
        return {context_, c.target->data, c.query.name + " " + hash_of(c.query.sql), state, a.plan, phase};
    }

    // A plan that was stopped is of use as long as the limit of today is not higher.
    bool take_known(const Case &c, Alternative &a, double limit) const {
        const Measurement *known = measurements_.find(key_of(c, a, "alone"));
        if (!known || (known->censored && (limit == 0 || known->times.front() < limit * 0.99)))
            return false;
        a.measured = *known;
        return true;
    }

    void keep(const Case &c, Alternative &a, const Measurement &m, const std::string &phase) {
        measurements_.add(key_of(c, a, phase), m, a.names.front() + ": " + a.tree.outline);
    }

    // One uncounted run of each that has to be measured, from the state that the case asks for, so that no plan is stopped by a
    // time that its case does not know; those that take too long are through with that.
    void warm_up(const Case &c, const std::vector<Alternative *> &todo, double best, Expected &expected) {
        const long compiled = kernels_compiled();
        for (Alternative *a : todo) {
            const bool chosen = a == todo.front() && a == &c.alternatives.front();
            const bool on_device = a->tree.device_nodes > 0;
            const double limit = limit_by(best);
            set(a->settings);
            std::optional<double> ms = 0;
            for (int i = 0; i < std::max(options_.warmups, on_device ? 1 : 0) && ms; ++i)
                ms = timed(c, *a, chosen ? 0 : limit + (on_device ? first_run_ms : 0), expected);
            reset(a->settings);
            if (!ms) {
                a->measured = {true, {limit}};
                keep(c, *a, a->measured, "alone");
            } else if (options_.warmups > 0 || on_device) {
                a->first_ms = *ms;
                best = std::min(best, *ms);
            }
        }
        if (kernels_compiled() > compiled)
            std::this_thread::sleep_for(full_kernels);
    }

    void count_runs(const Case &c, Alternative &a, double limit, Expected &expected) {
        Measurement m;
        set(a.settings);
        for (int i = 0; i < options_.reps && !m.censored; ++i)
            if (const std::optional<double> ms = timed(c, a, limit, expected))
                m.times.push_back(*ms);
            else
                m = {true, {limit}};
        reset(a.settings);
        a.measured = m;
        keep(c, a, m, "alone");
    }

    void measure_all(Case &c, double postgres_ms, Expected &expected) {
        std::vector<Alternative *> todo;
        double best = 0;
        Alternative &chosen = c.alternatives.front();
        const auto lower_best = [&](const Alternative &a) {
            if (!a.measured.censored && !a.measured.times.empty())
                best = best > 0 ? std::min(best, a.ms()) : a.ms();
        };
        for (Alternative &a : c.alternatives)
            if (take_known(c, a, 0))
                lower_best(a);
        for (Alternative &a : c.alternatives)
            if (a.measured.times.empty() && !(best > 0 && &a != &chosen && take_known(c, a, limit_by(best))))
                todo.push_back(&a);
        if (todo.empty())
            return;
        warm_up(c, todo, best > 0 ? best : std::max(postgres_ms, 1.0), expected);
        std::stable_sort(todo.begin(), todo.end(), [&](const Alternative *x, const Alternative *y) {
            return std::make_pair(x != &chosen, x->first_ms) < std::make_pair(y != &chosen, y->first_ms);
        });
        for (Alternative *a : todo) {
            if (!a->measured.times.empty())
                continue; // stopped
            const double limit = a == &chosen ? 0 : best > 0 ? limit_by(best) : 0;
            if (limit > 0 && a->tree.device_nodes == 0 && a->first_ms > limit) { // once is enough
                a->measured = {true, {limit}};
                keep(c, *a, a->measured, "alone");
                continue;
            }
            count_runs(c, *a, limit, expected);
            lower_best(*a);
        }
    }

    // The chosen plan and the one that seems best, in turns. What is kept is kept for both, so that it can be found from either
    // side. `best` becomes the one that is better.
    Verdict decide(Case &c, size_t *best_index, Expected &expected) {
        Alternative &chosen = c.alternatives.front(), &best = c.alternatives[*best_index];
        if (*best_index == 0)
            return judge(chosen.measured.times, chosen.measured.times, options_.tolerance);
        const std::string phases[2] = {"against " + best.plan + " " + c.state,
                                       "against " + chosen.plan + " " + c.state};
        Alternative *both[2] = {&chosen, &best};
        Measurement turns[2];
        const Measurement *known[2] = {measurements_.find(key_of(c, chosen, phases[0])),
                                       measurements_.find(key_of(c, best, phases[1]))};
        if (known[0] && known[1]) {
            turns[0] = *known[0];
            turns[1] = *known[1];
        } else {
            for (int i = -1; i < options_.reps; ++i)
                for (int k : {i & 1, ~i & 1}) {
                    set(both[k]->settings);
                    const double ms = *timed(c, *both[k], 0, expected);
                    reset(both[k]->settings);
                    if (i >= 0)
                        turns[k].times.push_back(ms);
                }
            for (int k : {0, 1})
                keep(c, *both[k], turns[k], phases[k]);
        }
        const Verdict verdict = judge(turns[0].times, turns[1].times, options_.tolerance);
        if (verdict.ratio() <= 1)
            *best_index = 0;
        return verdict;
    }

    void run_case(const Target &target, const Query &query, const std::string &state) {
        Case c;
        c.target = &target;
        c.query = query;
        c.state = state;
        Expected expected;
        const double postgres_ms = expect(target, query, expected);
        prepare_state(c, expected);
        c.alternatives = plan_all_ways(query);
        measure_all(c, postgres_ms, expected);
        std::vector<Ranked> ranked;
        for (size_t i = 0; i < c.alternatives.size(); ++i) {
            const Alternative &a = c.alternatives[i];
            if (!a.measured.censored && a.ms() < c.alternatives[c.best].ms())
                c.best = i;
            if (!a.measured.censored && !a.tampered && a.ms() < c.alternatives[c.best_untampered].ms())
                c.best_untampered = i;
            if (const std::optional<double> cost = a.cost())
                ranked.push_back({*cost, a.ms(), a.measured.censored});
        }
        c.correlation = rank_correlation(ranked, tie);
        const bool same = c.best == c.best_untampered;
        c.verdict_untampered = decide(c, &c.best_untampered, expected);
        c.verdict = same ? c.verdict_untampered : decide(c, &c.best, expected);
        if (same)
            c.best = c.best_untampered;
        for (const Alternative &a : c.alternatives)
            connection_->exec("DEALLOCATE " + a.statement);
        if (!expected.equal)
            wrong_answers_.push_back(target.schema + "." + query.name + " (" + state + ")");
        print_case(c);
        cases_.push_back(std::move(c));
    }

    // Hot is what a forced plan and the chosen one leave behind: their columns in the cache, their kernels compiled.
    void prepare_state(const Case &c, Expected &expected) {
        for (const char *mode : {"force", "auto"}) {
            const Settings settings = {{"gpuscan.offload", mode}, {"gpuscan.device", options_.device}};
            set(settings);
            check(c.query, connection_->exec(c.query.sql), expected);
            reset(settings);
        }
        if (c.state == "cold")
            evict(*c.target);
    }

    // ---- output ----

    void print_header() {
        std::printf("%s; gpuscan.device %s; median of %d after %d, stopped at %g times the best\n", context_.c_str(),
                    options_.device.c_str(), options_.reps, options_.warmups, options_.limit);
        std::printf("c: the plan that gpuscan chooses, b: the best; alternatives by time\n");
    }

    static std::string title_of(const Case &c) { return c.target->schema + " " + c.query.name + " " + c.state; }

    static std::string names_of(const Alternative &a) {
        std::string text;
        for (size_t i = 0; i < a.names.size() && i < 3; ++i)
            text += (i > 0 ? " | " : "") + a.names[i];
        return a.names.size() > 3 ? text + " | ..." : text;
    }

    static void print_case(const Case &c) {
        std::printf("\n%s: %.2f times the best%s, rank correlation ", title_of(c).c_str(), c.verdict.ratio(),
                    c.verdict.wrong ? ", WRONG" : "");
        if (c.correlation)
            std::printf("%.2f\n", *c.correlation);
        else
            std::printf("-\n");
        std::vector<const Alternative *> order;
        for (const Alternative &a : c.alternatives)
            order.push_back(&a);
        std::stable_sort(order.begin(), order.end(),
                         [](const Alternative *x, const Alternative *y) { return x->ms() < y->ms(); });
        for (const Alternative *a : order) {
            char cost[32] = "-";
            if (const std::optional<double> known = a->cost())
                std::snprintf(cost, sizeof cost, "%.1f", *known);
            std::printf("  %c%c %1s%10.2f ms %14s  %s: %.200s\n", a == &c.alternatives.front() ? 'c' : ' ',
                        a == &c.alternatives[c.best] ? 'b' : ' ', a->measured.censored ? ">" : "", a->ms(), cost,
                        names_of(*a).c_str(), a->tree.outline.c_str());
        }
        std::fflush(stdout);
    }

    void print_wrong() const {
        std::printf("\n");
        for (const Case &c : cases_)
            if (c.verdict.wrong)
                std::printf("wrong: %-24s %10.2f ms, best %10.2f ms (%.2f times): %s%s\n", title_of(c).c_str(),
                            c.verdict.chosen_ms, c.verdict.best_ms, c.verdict.ratio(),
                            names_of(c.alternatives[c.best]).c_str(),
                            c.verdict_untampered.wrong ? "" : " (PostgreSQL's own)");
    }

    void write_report() const {
        std::ofstream out(options_.report);
        out << "data,query,state,alternatives,chosen_ms,best_ms,ratio,wrong,own_ratio,own_wrong,correlation,best\n";
        for (const Case &c : cases_) {
            char line[200];
            std::snprintf(line, sizeof line, "%s,%s,%zu,%.3f,%.3f,%.3f,%d,%.3f,%d,", c.query.name.c_str(),
                          c.state.c_str(), c.alternatives.size(), c.verdict.chosen_ms, c.verdict.best_ms,
                          c.verdict.ratio(), c.verdict.wrong, c.verdict_untampered.ratio(), c.verdict_untampered.wrong);
            out << c.target->schema << ',' << line << (c.correlation ? std::to_string(*c.correlation) : "") << ",\""
                << c.alternatives[c.best].names.front() << "\"\n";
        }
        out.close();
        if (!out)
            throw pg::Error("cannot write " + options_.report);
    }

    Options options_;
    Measurements measurements_;
    std::unique_ptr<pg::Connection> connection_;
    std::vector<Target> targets_;
    std::vector<std::string> other_devices_, wrong_answers_;
    std::string context_;
    Settings costs_;
    std::vector<Case> cases_;
    int statements_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    try {
        return Runner(parse_options(argc, argv)).run();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "regret-run: %s\n", e.what());
        return 2;
    }
}
