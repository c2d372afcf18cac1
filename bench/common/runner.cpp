// Measures a benchmark's queries with gpuscan off and on, compares the results, and prints and stores one table.
//
// Times are the client's, in one session, from sending a query to having its whole result.  Each query runs
// --warmups times uncounted and then --reps times; the median counts.  All runs of a query, on either side, have
// to give what the query defines: the same rows, the same order as far as ORDER BY determines it, and under a LIMIT the
// same rows but for those that tie with the last one, which have to be rows of the query without its LIMIT.  The time in
// the device's kernels and the planning time are medians of as many EXPLAIN ANALYZEs (of one if a run takes more than
// half a second).
//
// --first begins with every query's first execution ever: compiled kernels are removed and the device's process
// starts anew, with compilers that have rehearsed before it is ready; then the columns are read into its cache, so that
// what the first execution costs beyond a later one is making its kernels. The full kernels that follow are waited for
// before hot runs.
//
// --new-connections shows instead what a query costs in a fresh session: its time from connecting to the result, the same
// query's hot time, and the time of "SELECT 1" from connecting on, which is PostgreSQL's own cost of a connection. What
// is left is what the first query of a session costs more; of it, "own" is PostgreSQL's: reading the catalogs to plan.
#include "runner.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "sample.hpp"

namespace bench {

namespace {

constexpr double compiling_ms =
    30; // a first run that takes so much longer than the last warm-up had kernels to compile,
constexpr std::chrono::milliseconds full_kernels{1000}; // which are compiled once more, with all optimisations

// ---- plans ------------------------------------------------------------------------------------------------

// The sum of the numbers that stand for this key in a plan in JSON.
double json_sum(const std::string &json, const std::string &key) {
    const std::string quoted = "\"" + key + "\":";
    double sum = 0;
    for (size_t at = json.find(quoted); at != std::string::npos; at = json.find(quoted, at + 1))
        sum += std::strtod(json.c_str() + at + quoted.size(), nullptr);
    return sum;
}

struct Plan {
    int nodes = 0;            // of gpuscan
    std::string device = "-"; // the devices they name
    bool aggregates = false;  // does one of them aggregate and read the query's largest table?
    bool fell_back = false;   // has PostgreSQL's own plan answered for one of them?
};

// One line of the table.
struct Measured {
    std::string query;
    std::optional<double> postgres_ms, gpuscan_ms, beside_ms, cold_ms, first_ms, kernel_ms, planning_ms;
    std::optional<bool> equal; // nothing: not compared
    std::string error;         // with gpuscan
    std::string postgres_error;
    std::vector<std::string> refusals;
    std::string where;
    Plan plan;
};

// ---- measuring --------------------------------------------------------------------------------------------

class Runner {
  public:
    Runner(const Benchmark &benchmark, Options options)
        : benchmark_(benchmark), options_(std::move(options)),
          queries_(read_queries(benchmark, options_.queries, options_.only)) {
        open();
        if (benchmark_.surrogate)
            for (Query &q : queries_)
                benchmark_.surrogate(q, options_.seed, *connection_);
    }

    ~Runner() {
        try {
            for (size_t i = 0; workers_set_ && i < benchmark_.parallel_tables; ++i)
                connection_->exec(std::string("ALTER TABLE ") + benchmark_.tables[i] + " RESET (parallel_workers)");
        } catch (const std::exception &e) {
            std::fprintf(stderr, "%s: %s\n", benchmark_.program, e.what());
        }
    }

    int run() {
        prepare_server();
        print_header();
        std::vector<std::optional<double>> first(queries_.size());
        if (options_.first)
            first = first_executions();
        const Hidden before = hidden();
        std::vector<Measured> table;
        for (size_t i = 0; i < queries_.size(); ++i) {
            table.push_back(measure(queries_[i]));
            table.back().first_ms = first[i];
            print_line(table.back());
        }
        const bool all_equal = print_sum(table);
        if (!options_.csv.empty())
            write_csv(table);
        return all_equal && nothing_hidden(before) ? 0 : 1;
    }

    int own_task() { return benchmark_.own_task(*connection_, queries_); }

    // What the first query of a session costs; see the head of this file.
    int show_new_connections() {
        prepare_server();
        print_header_line();
        std::printf("%-6s %10s %10s %10s %10s %10s\n", "query", "hot ms", "new ms", "connect ms", "more ms", "own ms");
        std::ofstream out;
        if (!options_.csv.empty())
            out.open(options_.csv);
        out << "query,hot_ms,new_ms,connect_ms,more_ms,own_ms\n";
        double most = 0;
        for (const Query &q : queries_) {
            const std::string explain = "EXPLAIN " + q.sql;
            offload_on();
            const double hot = sql_median(q.sql, false), fresh = sql_median(q.sql, true);
            offload_off();
            const double connect = sql_median("SELECT 1", true);
            const double own = sql_median(explain, true) - connect - sql_median(explain, false);
            const double more = fresh - hot - connect;
            most = std::max(most, more);
            std::printf("%-6s %10.2f %10.2f %10.2f %10.2f %10.2f\n", q.name.c_str(), hot, fresh, connect, more, own);
            std::fflush(stdout);
            char line[256];
            std::snprintf(line, sizeof line, "%s,%.3f,%.3f,%.3f,%.3f,%.3f\n", q.name.c_str(), hot, fresh, connect, more,
                          own);
            out << line;
        }
        std::printf("at most %.2f ms more in a new session\n", most);
        out.close();
        if (!options_.csv.empty()) {
            if (!out)
                throw pg::Error("cannot write " + options_.csv);
            std::printf("written: %s\n", options_.csv.c_str());
        }
        return 0;
    }

  private:
    // Median time of a statement in the old session, or each time in a new one with the same settings, from connecting
    // to its result.
    double sql_median(const std::string &sql, bool in_new_session) {
        if (in_new_session)
            setenv("PGOPTIONS", session_settings().c_str(), 1);
        std::vector<double> times;
        for (int i = 0; i < options_.warmups + options_.reps; ++i) {
            const auto start = std::chrono::steady_clock::now();
            if (in_new_session) {
                pg::Connection fresh(options_.dbname, benchmark_.program);
                fresh.exec(sql);
                times.push_back(milliseconds_since(start)); // the session's end is not the client's wait
            } else {
                connection_->exec(sql);
                times.push_back(milliseconds_since(start));
            }
        }
        times.erase(times.begin(), times.begin() + options_.warmups);
        return median(times);
    }

    static double milliseconds_since(std::chrono::steady_clock::time_point start) {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    }

    // What this session has set, as the command line of a new one.
    std::string session_settings() {
        pg::Result r = connection_->exec("SELECT name, setting FROM pg_settings WHERE source = 'session'");
        std::string text;
        for (int i = 0; i < r.rows(); ++i) {
            text += " -c " + r.get(i, 0) + "=";
            for (char c : r.get(i, 1)) {
                if (c == ' ' || c == '\\')
                    text += '\\';
                text += c;
            }
        }
        return text;
    }

    // Connects and sets everything that holds for both sides.
    void open() {
        connection_ = std::make_unique<pg::Connection>(options_.dbname, benchmark_.program);
        connection_->exec("SET client_min_messages = warning");
        if (!options_.schema.empty())
            connection_->exec("SET search_path = " + connection_->quote_identifier(options_.schema) + ", public");
        if (options_.workers >= 0)
            connection_->exec("SET max_parallel_workers_per_gather = " + std::to_string(options_.workers));
        for (const auto &[name, value] : options_.settings)
            connection_->exec("SELECT set_config($1, $2, false)", {name, value});
        if (options_.timeout > 0)
            connection_->exec("SET statement_timeout = '" + std::to_string(options_.timeout) + "s'");
        for (const char *name : benchmark_.tables)
            if (connection_->exec("SELECT to_regclass($1)", {name}).is_null(0, 0))
                throw pg::Error(std::string("table ") + name + " is missing; create the data with " +
                                benchmark_.generator + " (--load of the script)");
        if (!options_.device.empty())
            set_device();
    }

    void prepare_server() {
        if (options_.extension) {
            try {
                connection_->exec("CREATE EXTENSION IF NOT EXISTS gpuscan");
            } catch (const pg::Error &e) {
                throw pg::Error(std::string("the server has no extension gpuscan: ") + e.what() +
                                "\n  Install it (make install) or measure PostgreSQL alone with --no-extension.");
            }
        }
        if (options_.workers > 0) {
            for (size_t i = 0; i < benchmark_.parallel_tables; ++i)
                connection_->exec(std::string("ALTER TABLE ") + benchmark_.tables[i] +
                                  " SET (parallel_workers = " + std::to_string(options_.workers) + ")");
            workers_set_ = true;
        }
        if (options_.cold) // which means that gpuscan's cache is empty, not that the pages are on disk
            prewarm_tables(*connection_, benchmark_);
    }

    void set_device() {
        try {
            connection_->exec("SET gpuscan.device = " + connection_->quote_literal(options_.device));
        } catch (const pg::Error &e) {
            const std::string current = connection_->value("SELECT current_setting('gpuscan.device', true)");
            if (current != options_.device)
                throw pg::Error("gpuscan.device is '" + current + "' and this session cannot change it to '" +
                                options_.device + "': " + e.what() +
                                "\n  Set it in postgresql.conf and restart the server.");
        }
    }

    void offload_off() { connection_->exec("SET gpuscan.offload = off"); }

    void offload_on() {
        connection_->exec(options_.offload.empty() ? "RESET gpuscan.offload"
                                                   : "SET gpuscan.offload = " + options_.offload);
    }

    pg::Result run_by_postgres(const std::string &sql) {
        const std::string offload = connection_->value("SHOW gpuscan.offload");
        offload_off();
        pg::Result r = connection_->exec(sql);
        connection_->exec("SET gpuscan.offload = " + offload);
        return r;
    }

    // Runs a query once; gives its time in ms and checks or sets the expected answer.
    double time_once(const Query &q, Expected &expected) {
        const auto start = std::chrono::steady_clock::now();
        const pg::Result r = connection_->exec(q.sql);
        const double elapsed = milliseconds_since(start);
        expected.add(q, answer_of(q, r), [&](const std::string &sql) { return run_by_postgres(sql); });
        return elapsed;
    }

    // Runs that --budget has no time for are left out, the warm-ups first.
    double hot_median(const Query &q, int warmups, int reps, Expected &expected) {
        std::vector<double> times;
        double spent = 0;
        const auto affordable = [&](double next) {
            return options_.budget == 0 || spent + next < options_.budget * 1000.0;
        };
        for (int i = 0; i < warmups + reps; ++i) {
            const double ms = time_once(q, expected);
            spent += ms;
            times.push_back(ms);
            if (!affordable(ms))
                break;
            if (i + 1 == warmups && times.front() > ms + compiling_ms) // which also makes full kernels of quick ones
                std::this_thread::sleep_for(full_kernels);
        }
        times.erase(times.begin(), times.begin() + std::min<size_t>(warmups, times.size() - 1));
        return median(times);
    }

    // PostgreSQL's own plan: measured, or from an earlier run.
    double postgres_median(const Query &q, Expected &expected) {
        const std::string path = options_.answers.empty() ? "" : options_.answers + "/" + q.name + ".answer";
        const std::string key = described_data() + q.sql;
        if (!path.empty())
            if (const std::optional<StoredAnswer> stored = load_answer(path, key)) {
                expected.answer = stored->answer;
                return stored->ms;
            }
        const double ms = hot_median(q, options_.postgres_warmups, options_.postgres_reps, expected);
        if (!path.empty() && expected.equal)
            save_answer(path, key, {ms, *expected.answer});
        return ms;
    }

    // The first of the benchmark's tables, which are in the order of their size, that the query names.
    std::string largest_table(const Query &q) const {
        const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
        for (const std::string table : benchmark_.tables)
            for (size_t at = q.sql.find(table); at != std::string::npos; at = q.sql.find(table, at + 1))
                if ((at == 0 || !in_word(q.sql[at - 1])) &&
                    (at + table.size() == q.sql.size() || !in_word(q.sql[at + table.size()])))
                    return table;
        return benchmark_.tables.front();
    }

    // What a plan in JSON says of gpuscan's nodes. A node that delivers rows instead of groups lists their columns.
    Plan plan_of(const Query &q, const std::string &json) {
        const std::string table = largest_table(q);
        const pg::Result r = connection_->exec(
            "SELECT count(*), coalesce(string_agg(DISTINCT n ->> 'Device', ' + '), '-'), "
            "       coalesce(bool_or(NOT n ? 'Row' AND n @? format('$.Steps[*].Source ? (@ == \"%s\" || "
            "                                                    @ starts with \"%s \")', $2::text, "
            "$2::text)::jsonpath), false), "
            "       coalesce(bool_or(n ? 'Fallback'), false) "
            "FROM jsonb_path_query($1::jsonb, 'strict $.**') n "
            "WHERE jsonb_typeof(n) = 'object' AND n ->> 'Custom Plan Provider' = 'GpuScan'",
            {json, table});
        return {std::stoi(r.get(0, 0)), r.get(0, 1), r.get(0, 2) == "t", r.get(0, 3) == "t"};
    }

    // What the server says of its own work: the plan, and medians of the times in kernels and of planning.
    void explain(const Query &q, Measured &m) {
        std::vector<double> kernel, planning;
        std::string json;
        const int reps = *m.gpuscan_ms > 500 ? 1 : options_.reps;
        for (int i = 0; i < reps; ++i) {
            json = connection_->value("EXPLAIN (ANALYZE, COSTS off, FORMAT json) " + q.sql);
            kernel.push_back(json_sum(json, "Device Run Time"));
            planning.push_back(json_sum(json, "Planning Time"));
        }
        m.plan = plan_of(q, json);
        m.planning_ms = median(planning);
        if (m.plan.nodes > 0)
            m.kernel_ms = median(kernel);
    }

    // Why parts of the query stay with PostgreSQL.
    std::vector<std::string> refusals_of(const Query &q) {
        static const std::string head = "Refused: ";
        std::vector<std::string> reasons;
        connection_->exec("SET gpuscan.explain_refusals = on");
        const pg::Result lines = connection_->exec("EXPLAIN " + q.sql);
        connection_->exec("RESET gpuscan.explain_refusals");
        for (int i = 0; i < lines.rows(); ++i) {
            const std::string line = lines.get(i, 0);
            if (line.rfind(head, 0) == 0)
                reasons.push_back(line.substr(head.size()));
        }
        return reasons;
    }

    // Where the executed plan has run, and gpuscan.advise's reasons for what PostgreSQL did of it.
    std::string where(const Query &q, const Plan &plan) {
        if (plan.fell_back)
            return "PostgreSQL: the device could not answer";
        std::string reasons =
            connection_->value("SELECT coalesce(string_agg(DISTINCT why, '; ') FILTER (WHERE part <> 'the query'), "
                               "                string_agg(why, '; ')) "
                               "FROM gpuscan.advise(" +
                               connection_->quote_literal(q.sql) + ") WHERE runs_on = 'PostgreSQL'");
        const std::string device = plan.device == "host" ? "CPU engine" : plan.device;
        if (!reasons.empty())
            reasons = ": " + reasons;
        return plan.nodes == 0   ? "PostgreSQL" + reasons
               : reasons.empty() ? device
               : plan.aggregates ? device + ", the rest PostgreSQL" + reasons
                                 : device + " reads, PostgreSQL computes" + reasons;
    }

    // Leaves the device with the tables' columns but without a kernel: removes the compiled ones, which lie below the
    // data directory and in NVRTC's own cache in the home directory of the server's user, and ends the device's process,
    // which also holds them in memory and comes back by itself.
    void forget_kernels() {
        try {
            const std::string pid = connection_->value("SELECT max(pid) FROM gpuscan.devices");
            connection_->exec("COPY (SELECT) TO PROGRAM 'find gpuscan -maxdepth 1 -type f -delete; "
                              "rm -rf \"${CUDA_CACHE_PATH:-$HOME/.nv/ComputeCache}\"/*; kill -KILL " +
                              pid + "'");
            const std::string ready = "SELECT count(*) FROM gpuscan.devices WHERE state = 'ready' AND pid <> " + pid +
                                      " AND current_setting('gpuscan.device') IN (kind, 'auto')";
            for (int i = 0; connection_->value(ready) == "0"; ++i) {
                if (i == 600)
                    throw pg::Error("the device's process does not come back");
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
            }
            for (const char *name : benchmark_.tables)
                connection_->exec("SELECT gpuscan.prewarm($1::regclass)", {name});
        } catch (const pg::Error &e) {
            throw pg::Error(std::string("--first cannot remove the compiled kernels (it takes a superuser): ") +
                            e.what());
        }
    }

    std::vector<std::optional<double>> first_executions() {
        forget_kernels();
        offload_on();
        std::vector<std::optional<double>> times;
        for (const Query &q : queries_) {
            Expected expected;
            times.push_back(time_once(q, expected));
        }
        return times;
    }

    // A message of the server without the query, which is known by its name.
    static std::string first_line(const pg::Error &e) {
        const std::string message = e.what();
        return message.substr(0, message.find('\n'));
    }

    Measured measure(const Query &q) {
        Measured m;
        m.query = q.name;
        Expected expected;
        offload_off();
        if (plan_of(q, connection_->value("EXPLAIN (FORMAT json) " + q.sql)).nodes > 0)
            throw pg::Error(q.name + ": gpuscan takes part in the plan although gpuscan.offload = off");
        try {
            if (options_.postgres_reps > 0)
                m.postgres_ms = postgres_median(q, expected);
        } catch (const pg::Error &e) {
            m.postgres_error = first_line(e);
            expected.answer.reset();
        }
        const bool compared = m.postgres_ms.has_value();
        if (!options_.extension) {
            if (compared)
                m.equal = expected.equal;
            return m;
        }
        try {
            offload_on();
            if (!options_.beside.empty()) // (which the query before has set)
                connection_->exec(options_.device.empty() ? "RESET gpuscan.device"
                                                          : "SET gpuscan.device = " + options_.device);
            if (options_.cold) {
                for (const char *name : benchmark_.tables)
                    connection_->exec("SELECT gpuscan.evict($1::regclass)", {name});
                m.cold_ms = time_once(q, expected);
            }
            m.gpuscan_ms = hot_median(q, options_.warmups, options_.reps, expected);
            explain(q, m);
            if (options_.where)
                m.where = where(q, m.plan);
            if (!options_.beside.empty()) {
                connection_->exec("SET gpuscan.device = " + connection_->quote_literal(options_.beside));
                m.beside_ms = hot_median(q, options_.warmups, options_.reps, expected);
            }
            if (options_.refusals)
                m.refusals = refusals_of(q);
        } catch (const pg::Error &e) {
            m.error = first_line(e);
            reopen_if_lost();
        }
        if (compared || !expected.equal || !m.error.empty())
            m.equal = expected.equal && m.error.empty();
        return m;
    }

    // What a right answer can hide: deaths of the device process, and what PostgreSQL's own plans have answered instead of it.
    struct Hidden {
        long restarts = 0, fallbacks = 0;
    };

    Hidden hidden() {
        if (!with_gpuscan())
            return {};
        const pg::Result r = connection_->exec("SELECT restarts, fallbacks FROM gpuscan.stat");
        return {std::stol(r.get(0, 0)), std::stol(r.get(0, 1))};
    }

    bool nothing_hidden(const Hidden &before) {
        const Hidden now = hidden();
        if (with_gpuscan())
            std::printf("restarts %ld, fallbacks %ld\n", now.restarts - before.restarts,
                        now.fallbacks - before.fallbacks);
        return now.restarts == before.restarts && now.fallbacks == before.fallbacks;
    }

    // A crashed server comes back within a while.
    void reopen_if_lost() {
        if (PQstatus(connection_->raw()) == CONNECTION_OK)
            return;
        for (int i = 0;; ++i) {
            try {
                open();
                return;
            } catch (const pg::Error &) {
                if (i == 60)
                    throw;
                std::this_thread::sleep_for(std::chrono::milliseconds(500));
            }
        }
    }

    // ---- output ----

    void print_header_line() {
        const auto setting = [&](const char *name) { return connection_->value(std::string("SHOW ") + name); };
        std::printf(
            "%s; PostgreSQL %s, %s parallel workers, jit %s, shared_buffers %s; %s; hot median of %d after %d warm-ups "
            "(PostgreSQL: %d after %d)\n",
            described_data().c_str(), split(setting("server_version"), ' ')[0].c_str(),
            setting("max_parallel_workers_per_gather").c_str(), setting("jit").c_str(),
            setting("shared_buffers").c_str(),
            !options_.extension
                ? "without gpuscan"
                : ("gpuscan.offload " + (options_.offload.empty() ? std::string("default") : options_.offload)).c_str(),
            options_.reps, options_.warmups, options_.postgres_reps, options_.postgres_warmups);
    }

    std::string described_data() {
        const std::string mark = data_set(*connection_, benchmark_.tables.front());
        std::string text = mark.empty() ? "tables of unknown origin" : mark;
        if (benchmark_.surrogate)
            text += options_.seed ? "; parameters of seed " + std::to_string(*options_.seed)
                                  : std::string("; parameters of the validation run");
        return text;
    }

    void print_header() {
        print_header_line();
        print_columns({"query", "PostgreSQL ms", "gpuscan ms", options_.beside + " ms", "cold ms", "first ms", "ratio",
                       "equal?", "device", "nodes", "aggregates", "kernels ms", "planning ms", "what ran where"});
    }

    struct Line {
        std::string query, postgres, gpuscan, beside, cold, first, ratio, equal, device, nodes, aggregates, kernel,
            planning, where;
    };

    void print_columns(const Line &l) const {
        size_t width = 6;
        for (const Query &q : queries_)
            width = std::max(width, q.name.size());
        std::printf("%-*s %14s %12s", static_cast<int>(width), l.query.c_str(), l.postgres.c_str(), l.gpuscan.c_str());
        if (!options_.beside.empty())
            std::printf(" %12s", l.beside.c_str());
        if (options_.cold)
            std::printf(" %12s", l.cold.c_str());
        if (options_.first)
            std::printf(" %12s", l.first.c_str());
        std::printf(" %8s  %-6s", l.ratio.c_str(), l.equal.c_str());
        if (options_.where)
            std::printf("  %s", l.where.c_str());
        else
            std::printf("  %-20s %5s", l.device.c_str(), l.nodes.c_str());
        if (options_.extension && !options_.where)
            std::printf("  %-10s %11s %11s", l.aggregates.c_str(), l.kernel.c_str(), l.planning.c_str());
        std::printf("\n");
        std::fflush(stdout);
    }

    static std::string number(std::optional<double> v, const char *pattern, const char *none) {
        char text[64];
        if (!v)
            return none;
        std::snprintf(text, sizeof text, pattern, *v);
        return text;
    }

    static std::optional<double> ratio_of(std::optional<double> postgres, std::optional<double> gpuscan) {
        if (!postgres || !gpuscan || *gpuscan <= 0)
            return std::nullopt;
        return *postgres / *gpuscan;
    }

    // Does gpuscan aggregate the query's largest table?
    static const char *aggregates(const Plan &plan) {
        return plan.fell_back ? "fallback" : plan.aggregates ? "yes" : "no";
    }

    void print_line(const Measured &m) const {
        print_columns({m.query, number(m.postgres_ms, "%.1f", "-"), number(m.gpuscan_ms, "%.2f", "-"),
                       number(m.beside_ms, "%.2f", "-"), number(m.cold_ms, "%.1f", "-"),
                       number(m.first_ms, "%.1f", "-"), number(ratio_of(m.postgres_ms, m.gpuscan_ms), "%.2f", "-"),
                       !m.error.empty()              ? "ERROR"
                       : !m.equal || !with_gpuscan() ? "-"
                       : *m.equal                    ? "yes"
                                                     : "NO",
                       m.plan.device, with_gpuscan() ? std::to_string(m.plan.nodes) : "-", aggregates(m.plan),
                       number(m.kernel_ms, "%.3f", "-"), number(m.planning_ms, "%.3f", "-"), m.where});
        for (const std::string &reason : m.refusals)
            std::printf("       not offloaded: %s\n", reason.c_str());
        if (!m.postgres_error.empty())
            std::fprintf(stderr, "%s: %s without gpuscan: %s\n", benchmark_.program, m.query.c_str(),
                         m.postgres_error.c_str());
        if (!m.error.empty())
            std::fprintf(stderr, "%s: %s with gpuscan: %s\n", benchmark_.program, m.query.c_str(), m.error.c_str());
    }

    bool with_gpuscan() const { return options_.extension; }

    // More than chance explains: by a tenth and by 5 ms.
    static bool slower(const Measured &m) {
        return m.postgres_ms && m.gpuscan_ms && *m.gpuscan_ms > *m.postgres_ms + std::max(5.0, *m.postgres_ms / 10);
    }

    // A sum runs over the queries that have that time, the ratio over those that have both; returns whether every result
    // was right.
    bool print_sum(const std::vector<Measured> &table) const {
        double postgres = 0, gpuscan = 0, beside = 0, postgres_both = 0, gpuscan_both = 0, cold = 0, first = 0,
               kernel = 0, planning = 0;
        int timed = 0, compared = 0, equal = 0, used = 0, aggregated = 0;
        std::string slow;
        for (const Measured &m : table) {
            postgres += m.postgres_ms.value_or(0);
            compared += m.equal.has_value();
            equal += m.equal.value_or(false);
            used += m.plan.nodes > 0 && !m.plan.fell_back;
            aggregated += m.plan.aggregates && !m.plan.fell_back;
            if (slower(m))
                slow += ' ' + m.query;
            if (m.gpuscan_ms) {
                ++timed;
                gpuscan += *m.gpuscan_ms;
                beside += m.beside_ms.value_or(0);
                cold += m.cold_ms.value_or(0);
                first += m.first_ms.value_or(0);
                kernel += m.kernel_ms.value_or(0);
                planning += m.planning_ms.value_or(0);
                if (m.postgres_ms) {
                    postgres_both += *m.postgres_ms;
                    gpuscan_both += *m.gpuscan_ms;
                }
            }
        }
        const int count = static_cast<int>(table.size());
        const auto of = [](int n, int all) { return std::to_string(n) + "/" + std::to_string(all); };
        const auto sum = [&](double v, const char *pattern, bool any) {
            return any ? number(v, pattern, "") : std::string("-");
        };
        if (!with_gpuscan()) {
            print_columns(
                {"sum", number(postgres, "%.1f", ""), "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", ""});
            if (equal < compared)
                std::printf("%d of %d queries gave different results in different runs\n", compared - equal, count);
            return equal == compared;
        }
        print_columns({"sum", sum(postgres, "%.1f", options_.postgres_reps > 0), sum(gpuscan, "%.2f", timed > 0),
                       sum(beside, "%.2f", timed > 0), sum(cold, "%.1f", timed > 0), sum(first, "%.1f", timed > 0),
                       number(ratio_of(postgres_both, gpuscan_both), "%.2f", "-"),
                       compared > 0 ? of(equal, compared) : "-", "", of(used, count), of(aggregated, count),
                       sum(kernel, "%.3f", timed > 0), sum(planning, "%.3f", timed > 0), ""});
        if (compared > 0)
            std::printf("%s equal, ", of(equal, compared).c_str());
        std::printf("%s with a device, %s aggregate their largest table there\n", of(used, count).c_str(),
                    of(aggregated, count).c_str());
        if (!slow.empty())
            std::printf("slower than PostgreSQL by more than a tenth and 5 ms:%s\n", slow.c_str());
        if (timed < count)
            std::printf("%d of %d queries failed with gpuscan and are in neither its sum nor the ratio\n",
                        count - timed, count);
        return equal == compared && timed == count;
    }

    static std::string csv_field(const std::string &text) {
        if (text.find_first_of(",\"\n") == std::string::npos)
            return text;
        std::string quoted = "\"";
        for (char c : text)
            quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
        return quoted + "\"";
    }

    void write_csv(const std::vector<Measured> &table) const {
        write_csv_file(options_.csv, table, false);
        if (options_.cold) {
            const size_t dot = options_.csv.rfind(".csv");
            write_csv_file(options_.csv.substr(0, dot) + "_cold.csv", table, true);
        }
    }

    // Both files have the same columns; in the cold one gpuscan_ms is the time with an empty cache. The last columns are
    // of hot runs in both.
    void write_csv_file(const std::string &path, const std::vector<Measured> &table, bool cold) const {
        std::ofstream out(path);
        out << "query,postgres_ms,gpuscan_ms,ratio,equal,device,nodes,kernel_ms,planning_ms,first_ms,aggregates\n";
        for (const Measured &m : table) {
            const std::optional<double> &ms = cold ? m.cold_ms : m.gpuscan_ms;
            out << m.query << ',' << number(m.postgres_ms, "%.3f", "") << ',' << number(ms, "%.3f", "") << ','
                << number(ratio_of(m.postgres_ms, ms), "%.3f", "") << ',' << equal_for_csv(m) << ','
                << csv_field(m.plan.device) << ',' << m.plan.nodes << ',' << number(m.kernel_ms, "%.3f", "") << ','
                << number(m.planning_ms, "%.3f", "") << ',' << number(m.first_ms, "%.3f", "") << ','
                << aggregates(m.plan) << '\n';
        }
        out.close();
        if (!out)
            throw pg::Error("cannot write " + path);
        std::printf("written: %s\n", path.c_str());
    }

    static const char *equal_for_csv(const Measured &m) { return !m.equal ? "" : *m.equal ? "true" : "false"; }

    const Benchmark &benchmark_;
    Options options_;
    std::vector<Query> queries_;
    std::unique_ptr<pg::Connection> connection_;
    bool workers_set_ = false;
};

} // namespace

int measure(const Benchmark &benchmark, int argc, char **argv) {
    try {
        const Options options = parse_options(benchmark, argc, argv);
        Runner runner(benchmark, options);
        return options.own_task          ? runner.own_task()
               : options.new_connections ? runner.show_new_connections()
                                         : runner.run();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s: %s\n", benchmark.program, e.what());
        return 2;
    }
}

} // namespace bench
