// ssb-run: measures the 13 queries of the Star Schema Benchmark (O'Neil, O'Neil, Chen, Revilak, TPCTC 2009)
// with gpuscan off and on, compares the results exactly, and prints and stores one table.
//
// Times are the client's, in one session, from sending a query to having its whole result.  Each query runs
// --warmups times uncounted and then --reps times; the median counts.  All runs of a query, on either side, have
// to give the same rows, and the same order as far as the query's ORDER BY determines it.  The time in the
// device's kernels and the planning time are medians of as many EXPLAIN ANALYZEs.
//
// --first begins with every query's first execution ever: compiled kernels are removed and the device's process
// starts anew, then the columns are read into its cache, so that what the first execution costs beyond a later one is
// making its kernels.
//
// --new-connections shows instead what a query costs in a fresh session: its time from connecting to the result, the same
// query's hot time, and the time of "SELECT 1" from connecting on, which is PostgreSQL's own cost of a connection. What
// is left is what the first query of a session costs more; of it, "own" is PostgreSQL's: reading the catalogs to plan.
//
// --selectivity shows instead which share of the line orders each query selects, beside the paper's.

#include <getopt.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pg.hpp"

namespace {

constexpr const char *table_names[] = {"lineorder", "customer", "supplier", "part", "date"};

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

struct Options {
    std::string dbname, schema, queries, csv, device, offload;
    std::vector<std::string> only;
    std::vector<std::pair<std::string, std::string>> settings;
    int reps = 5;
    int warmups = 2;
    int postgres_reps = 3; // 0: PostgreSQL's own plans are not run
    int workers = -1;
    bool cold = false;
    bool first = false;
    bool new_connections = false;
    bool extension = true;
    bool selectivity = false;
};

std::string lower(std::string s) {
    std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
    return s;
}

std::vector<std::string> split(const std::string &text, char at) {
    std::vector<std::string> parts;
    size_t from = 0;
    for (size_t i = 0; i <= text.size(); ++i)
        if (i == text.size() || text[i] == at) {
            parts.push_back(text.substr(from, i - from));
            from = i + 1;
        }
    return parts;
}

// ---- queries ----------------------------------------------------------------------------------------------

struct Query {
    std::string name;
    std::string sql; // without comments and the final semicolon

    // The names in ORDER BY.
    std::vector<std::string> order_columns() const {
        const size_t at = lower(sql).rfind("order by");
        std::vector<std::string> names;
        if (at == std::string::npos)
            return names;
        for (const std::string &item : split(sql.substr(at + 8), ',')) {
            const size_t from = item.find_first_not_of(" \n\t");
            names.push_back(item.substr(from, item.find_first_of(" \n\t", from) - from));
        }
        return names;
    }

    // Counts the line orders that pass the filters and joins.
    std::string count_sql() const {
        const std::string s = lower(sql);
        const size_t from = s.find("from");
        return "select count(*) " + sql.substr(from, s.find("group by") - from);
    }
};

std::string read_file(const std::string &path) {
    std::ifstream in(path);
    if (!in)
        throw pg::Error("cannot read " + path);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<Query> read_queries(const Options &options) {
    std::vector<Query> queries;
    for (const QueryFacts &f : facts) {
        if (!options.only.empty() && std::find(options.only.begin(), options.only.end(), f.name) == options.only.end())
            continue;
        Query q;
        q.name = f.name;
        for (const std::string &line : split(read_file(options.queries + "/" + f.name + ".sql"), '\n'))
            if (line.rfind("--", 0) != 0)
                q.sql += line + "\n";
        q.sql.erase(q.sql.find_last_not_of("; \n\t") + 1);
        queries.push_back(std::move(q));
    }
    if (queries.size() < options.only.size())
        throw pg::Error("--only takes a list of q1.1 to q4.3");
    return queries;
}

// ---- results ----------------------------------------------------------------------------------------------

// A result in a form that compares: all rows in a fixed order, and the ORDER BY columns as they came.
struct Answer {
    std::vector<std::string> rows;
    std::vector<std::string> order;

    bool operator==(const Answer &o) const { return rows == o.rows && order == o.order; }
};

void append_field(std::string &out, const pg::Result &r, int row, int column) {
    out += r.is_null(row, column) ? '\1' : '\2';
    out += r.get(row, column);
    out += '\0';
}

Answer answer_of(const Query &q, const pg::Result &r) {
    std::vector<int> order_columns;
    for (const std::string &name : q.order_columns()) {
        const int column = PQfnumber(r.raw(), name.c_str());
        if (column < 0)
            throw pg::Error(q.name + ": ORDER BY " + name + " is not in the result");
        order_columns.push_back(column);
    }
    Answer a;
    for (int row = 0; row < r.rows(); ++row) {
        std::string all, key;
        for (int c = 0; c < r.columns(); ++c)
            append_field(all, r, row, c);
        for (int c : order_columns)
            append_field(key, r, row, c);
        a.rows.push_back(std::move(all));
        a.order.push_back(std::move(key));
    }
    std::sort(a.rows.begin(), a.rows.end());
    return a;
}

// The string that is the value of the JSON key starting at `at`, as EXPLAIN writes it.
std::string json_string_at(const std::string &json, size_t at) {
    size_t i = json.find(':', at);
    i = i == std::string::npos ? i : json.find('"', i);
    std::string value;
    if (i == std::string::npos)
        return value;
    for (++i; i < json.size() && json[i] != '"'; ++i) {
        if (json[i] == '\\' && i + 1 < json.size())
            ++i;
        value += json[i];
    }
    return value;
}

// The sum of the numbers that stand for this key in a plan in JSON.
double json_sum(const std::string &json, const std::string &key) {
    const std::string quoted = "\"" + key + "\":";
    double sum = 0;
    for (size_t at = json.find(quoted); at != std::string::npos; at = json.find(quoted, at + 1))
        sum += std::strtod(json.c_str() + at + quoted.size(), nullptr);
    return sum;
}

struct Plan {
    int nodes = 0;
    std::string device = "-";
};

// Counts gpuscan's nodes in a plan in JSON and collects the devices they name.
Plan plan_of(const std::string &json) {
    static const std::string provider = "\"Custom Plan Provider\"", device = "\"Device\"";
    Plan plan;
    for (size_t at = json.find(provider); at != std::string::npos;) {
        const size_t next = json.find(provider, at + 1);
        if (json_string_at(json, at).rfind("Gpu", 0) == 0) {
            ++plan.nodes;
            const size_t named = json.find(device, at);
            if (named < next && named != std::string::npos) {
                const std::string name = json_string_at(json, named);
                if (plan.device == "-")
                    plan.device = name;
                else if (plan.device.find(name) == std::string::npos)
                    plan.device += " + " + name;
            }
        }
        at = next;
    }
    return plan;
}

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    const size_t n = v.size();
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

// One line of the table.
struct Measured {
    std::string query;
    std::optional<double> postgres_ms, gpuscan_ms, cold_ms, first_ms, kernel_ms, planning_ms;
    bool equal = false;
    std::string error;
    Plan plan;
};

// ---- measuring --------------------------------------------------------------------------------------------

class Runner {
  public:
    explicit Runner(Options options) : options_(std::move(options)), queries_(read_queries(options_)) { open(); }

    ~Runner() {
        try {
            if (workers_set_)
                connection_->exec("ALTER TABLE lineorder RESET (parallel_workers)");
        } catch (const std::exception &e) {
            std::fprintf(stderr, "ssb-run: %s\n", e.what());
        }
    }

    int run() {
        prepare_server();
        print_header();
        std::vector<std::optional<double>> first(queries_.size());
        if (options_.first)
            first = first_executions();
        std::vector<Measured> table;
        for (size_t i = 0; i < queries_.size(); ++i) {
            table.push_back(measure(queries_[i]));
            table.back().first_ms = first[i];
            print_line(table.back());
        }
        const bool all_equal = print_sum(table);
        if (!options_.csv.empty())
            write_csv(table);
        return all_equal ? 0 : 1;
    }

    int show_selectivity() {
        connection_->exec("SET gpuscan.offload = off");
        const double lines = rows_of("lineorder");
        std::printf("%s\n%-6s %12s %12s %8s %10s  %s\n", data_set().c_str(), "query", "paper", "measured", "ratio",
                    "rows", "within");
        bool all_good = true;
        for (const Query &q : queries_) {
            const QueryFacts &f = *std::find_if(std::begin(facts), std::end(facts),
                                                [&](const QueryFacts &x) { return q.name == x.name; });
            const double count = std::stod(connection_->value(q.count_sql()));
            const double measured = count / lines;
            // The paper rounds 24/50 to 1/2 and counts seven full years, where orders end on 1998-08-02: 20
            // %. Add four standard deviations of random dimensions and of the lines themselves.
            const auto noise = [](double share, double rows) { return share < 1 ? (1 - share) / (share * rows) : 0; };
            const double variance = noise(f.customer, rows_of("customer") * 2 / 3) +
                                    noise(f.supplier, rows_of("supplier")) + noise(f.part, rows_of("part")) +
                                    1 / (f.factor() * lines);
            const double tolerance = 0.20 + 4 * std::sqrt(variance);
            const double ratio = measured / f.factor();
            const bool good = std::abs(ratio - 1) <= tolerance;
            all_good = all_good && good;
            std::printf("%-6s %12.3g %12.3g %8.3f %10.0f  %s (1 +- %.2f)\n", q.name.c_str(), f.factor(), measured,
                        ratio, count, good ? "yes" : "NO", tolerance);
        }
        return all_good ? 0 : 1;
    }

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
                pg::Connection fresh(options_.dbname, "ssb-run");
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
        connection_ = std::make_unique<pg::Connection>(options_.dbname, "ssb-run");
        connection_->exec("SET client_min_messages = warning");
        if (!options_.schema.empty())
            connection_->exec("SET search_path = " + connection_->quote_identifier(options_.schema) + ", public");
        if (options_.workers >= 0)
            connection_->exec("SET max_parallel_workers_per_gather = " + std::to_string(options_.workers));
        for (const auto &[name, value] : options_.settings)
            connection_->exec("SELECT set_config($1, $2, false)", {name, value});
        for (const char *name : table_names)
            if (connection_->exec("SELECT to_regclass($1)", {name}).is_null(0, 0))
                throw pg::Error(std::string("table ") + name +
                                " is missing; create the data with ssb-gen"
                                " (ssb.sh: --load)");
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
            connection_->exec("ALTER TABLE lineorder SET (parallel_workers = " + std::to_string(options_.workers) +
                              ")");
            workers_set_ = true;
        }
        if (options_.cold)
            prewarm();
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

    // Cold means that gpuscan's cache is empty, not that the pages are on disk.
    void prewarm() {
        try {
            connection_->exec("CREATE EXTENSION IF NOT EXISTS pg_prewarm");
            for (const char *name : table_names)
                connection_->exec("SELECT pg_prewarm($1::regclass)", {name});
        } catch (const pg::Error &e) {
            std::fprintf(stderr, "ssb-run: warning: tables not read into shared_buffers: %s\n", e.what());
        }
    }

    void offload_off() { connection_->exec("SET gpuscan.offload = off"); }

    void offload_on() {
        connection_->exec(options_.offload.empty() ? "RESET gpuscan.offload"
                                                   : "SET gpuscan.offload = " + options_.offload);
    }

    // Runs a query once; gives its time in ms and checks or sets the expected answer.
    double time_once(const Query &q, std::optional<Answer> &expected, bool &equal) {
        const auto start = std::chrono::steady_clock::now();
        const pg::Result r = connection_->exec(q.sql);
        const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
        Answer a = answer_of(q, r);
        if (!expected)
            expected = std::move(a);
        else
            equal = equal && a == *expected;
        return elapsed.count();
    }

    double hot_median(const Query &q, int warmups, int reps, std::optional<Answer> &expected, bool &equal) {
        for (int i = 0; i < warmups; ++i)
            time_once(q, expected, equal);
        std::vector<double> times;
        for (int i = 0; i < reps; ++i)
            times.push_back(time_once(q, expected, equal));
        return median(times);
    }

    // What the server says of its own work: the plan, and medians of the times in kernels and of planning.
    void explain(const Query &q, Measured &m) {
        std::vector<double> kernel, planning;
        std::string json;
        for (int i = 0; i < options_.reps; ++i) {
            json = connection_->value("EXPLAIN (ANALYZE, COSTS off, FORMAT json) " + q.sql);
            kernel.push_back(json_sum(json, "Device Run Time"));
            planning.push_back(json_sum(json, "Planning Time"));
        }
        m.plan = plan_of(json);
        m.planning_ms = median(planning);
        if (m.plan.nodes > 0)
            m.kernel_ms = median(kernel);
    }

    // Leaves the device with the tables' columns but without a kernel: removes the compiled ones, which lie below the
    // data directory, and ends the device's process, which also holds them in memory and comes back by itself.
    void forget_kernels() {
        try {
            const std::string pid = connection_->value("SELECT max(pid) FROM gpuscan_device");
            connection_->exec("COPY (SELECT) TO PROGRAM 'find gpuscan -maxdepth 1 -type f -delete; kill -KILL " + pid +
                              "'");
            const std::string ready = "SELECT count(*) FROM gpuscan_device WHERE state = 'ready' AND pid <> " + pid +
                                      " AND current_setting('gpuscan.device') IN (kind, 'auto')";
            for (int i = 0; connection_->value(ready) == "0"; ++i) {
                if (i == 600)
                    throw pg::Error("the device's process does not come back");
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
            }
            for (const char *name : table_names)
                connection_->exec("SELECT gpuscan_prewarm($1::regclass)", {name});
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
            std::optional<Answer> answer;
            bool equal = true;
            times.push_back(time_once(q, answer, equal));
        }
        return times;
    }

    Measured measure(const Query &q) {
        Measured m;
        m.query = q.name;
        m.equal = true;
        std::optional<Answer> expected;
        offload_off();
        if (plan_of(connection_->value("EXPLAIN (FORMAT json) " + q.sql)).nodes > 0)
            throw pg::Error(q.name + ": gpuscan takes part in the plan although gpuscan.offload = off");
        if (options_.postgres_reps > 0)
            m.postgres_ms = hot_median(q, 1, options_.postgres_reps, expected, m.equal);
        if (!options_.extension)
            return m;
        try {
            offload_on();
            if (options_.cold) {
                for (const char *name : table_names)
                    connection_->exec("SELECT gpuscan_evict($1::regclass)", {name});
                m.cold_ms = time_once(q, expected, m.equal);
            }
            m.gpuscan_ms = hot_median(q, options_.warmups, options_.reps, expected, m.equal);
            explain(q, m);
        } catch (const pg::Error &e) {
            m.equal = false;
            m.error = e.what();
            m.error.erase(std::min(m.error.find("\n  in: "), m.error.size())); // the query is known by its name
            reopen_if_lost();
        }
        return m;
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

    double rows_of(const std::string &table) {
        return std::stod(connection_->value("SELECT reltuples FROM pg_class WHERE oid = '" + table + "'::regclass"));
    }

    std::string data_set() {
        const std::string mark = connection_->value("SELECT obj_description('lineorder'::regclass, 'pg_class')");
        return mark.empty() ? "tables of unknown origin" : mark;
    }

    // ---- output ----

    void print_header_line() {
        const auto setting = [&](const char *name) { return connection_->value(std::string("SHOW ") + name); };
        std::printf(
            "%s; PostgreSQL %s, %s parallel workers, jit %s, shared_buffers %s; %s; hot median of %d after %d warm-ups "
            "(PostgreSQL: %d after 1)\n",
            data_set().c_str(), split(setting("server_version"), ' ')[0].c_str(),
            setting("max_parallel_workers_per_gather").c_str(), setting("jit").c_str(),
            setting("shared_buffers").c_str(),
            !options_.extension
                ? "without gpuscan"
                : ("gpuscan.offload " + (options_.offload.empty() ? std::string("default") : options_.offload)).c_str(),
            options_.reps, options_.warmups, options_.postgres_reps);
    }

    void print_header() {
        print_header_line();
        print_columns({"query", "PostgreSQL ms", "gpuscan ms", "cold ms", "first ms", "ratio", "equal?", "device",
                       "nodes", "kernels ms", "planning ms"});
    }

    struct Line {
        std::string query, postgres, gpuscan, cold, first, ratio, equal, device, nodes, kernel, planning;
    };

    void print_columns(const Line &l) const {
        std::printf("%-6s %14s %12s", l.query.c_str(), l.postgres.c_str(), l.gpuscan.c_str());
        if (options_.cold)
            std::printf(" %12s", l.cold.c_str());
        if (options_.first)
            std::printf(" %12s", l.first.c_str());
        std::printf(" %8s  %-6s  %-20s %5s", l.ratio.c_str(), l.equal.c_str(), l.device.c_str(), l.nodes.c_str());
        if (options_.extension)
            std::printf(" %11s %11s", l.kernel.c_str(), l.planning.c_str());
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

    // Whether the device's results were compared with PostgreSQL's.
    bool compared() const { return options_.extension && options_.postgres_reps > 0; }

    void print_line(const Measured &m) const {
        print_columns({m.query, number(m.postgres_ms, "%.1f", "-"), number(m.gpuscan_ms, "%.2f", "-"),
                       number(m.cold_ms, "%.1f", "-"), number(m.first_ms, "%.1f", "-"),
                       number(ratio_of(m.postgres_ms, m.gpuscan_ms), "%.2f", "-"),
                       !m.error.empty()         ? "ERROR"
                       : !compared() && m.equal ? "-"
                       : m.equal                ? "yes"
                                                : "NO",
                       m.plan.device, options_.extension ? std::to_string(m.plan.nodes) : "-",
                       number(m.kernel_ms, "%.3f", "-"), number(m.planning_ms, "%.3f", "-")});
        if (!m.error.empty())
            std::fprintf(stderr, "ssb-run: %s with gpuscan: %s\n", m.query.c_str(), m.error.c_str());
    }

    // The sums run over the queries that have a time on both sides; returns whether every result was right.
    bool print_sum(const std::vector<Measured> &table) const {
        double postgres = 0, postgres_both = 0, gpuscan = 0, cold = 0, first = 0, kernel = 0, planning = 0;
        int timed = 0, equal = 0, one_node = 0;
        for (const Measured &m : table) {
            postgres += m.postgres_ms.value_or(0);
            equal += m.equal;
            one_node += m.plan.nodes == 1;
            if (m.gpuscan_ms) {
                ++timed;
                postgres_both += m.postgres_ms.value_or(0);
                gpuscan += *m.gpuscan_ms;
                cold += m.cold_ms.value_or(0);
                first += m.first_ms.value_or(0);
                kernel += m.kernel_ms.value_or(0);
                planning += m.planning_ms.value_or(0);
            }
        }
        const int count = static_cast<int>(table.size());
        const auto of_all = [&](int n) { return std::to_string(n) + "/" + std::to_string(count); };
        const auto sum = [&](double v, const char *pattern, bool any) {
            return any ? number(v, pattern, "") : std::string("-");
        };
        if (!options_.extension) {
            print_columns({"sum", number(postgres, "%.1f", ""), "-", "-", "-", "-", "-", "-", "-", "-", "-"});
            if (equal < count)
                std::printf("%d of %d queries gave different results in different runs\n", count - equal, count);
            return equal == count;
        }
        const bool both = timed > 0 && options_.postgres_reps > 0;
        print_columns({"sum", sum(postgres, "%.1f", options_.postgres_reps > 0), sum(gpuscan, "%.2f", timed > 0),
                       sum(cold, "%.1f", timed > 0), sum(first, "%.1f", timed > 0),
                       number(both ? ratio_of(postgres_both, gpuscan) : std::nullopt, "%.2f", "-"),
                       compared() ? of_all(equal) : "-", "", "", sum(kernel, "%.3f", timed > 0),
                       sum(planning, "%.3f", timed > 0)});
        if (compared())
            std::printf("%s equal, ", of_all(equal).c_str());
        std::printf("%s with exactly one device node\n", of_all(one_node).c_str());
        if (timed < count)
            std::printf("%d of %d queries failed with gpuscan and are in neither its sum nor the ratio\n",
                        count - timed, count);
        return equal == count;
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
        out << "query,postgres_ms,gpuscan_ms,ratio,equal,device,nodes,kernel_ms,planning_ms,first_ms\n";
        for (const Measured &m : table) {
            const std::optional<double> &ms = cold ? m.cold_ms : m.gpuscan_ms;
            out << m.query << ',' << number(m.postgres_ms, "%.3f", "") << ',' << number(ms, "%.3f", "") << ','
                << number(ratio_of(m.postgres_ms, ms), "%.3f", "") << ',' << equal_for_csv(m) << ','
                << csv_field(m.plan.device) << ',' << m.plan.nodes << ',' << number(m.kernel_ms, "%.3f", "") << ','
                << number(m.planning_ms, "%.3f", "") << ',' << number(m.first_ms, "%.3f", "") << '\n';
        }
        out.close();
        if (!out)
            throw pg::Error("cannot write " + path);
        std::printf("written: %s\n", path.c_str());
    }

    const char *equal_for_csv(const Measured &m) const {
        if (!compared() && m.equal)
            return "";
        return m.equal ? "true" : "false";
    }

    Options options_;
    std::vector<Query> queries_;
    std::unique_ptr<pg::Connection> connection_;
    bool workers_set_ = false;
};

// ---- command line -----------------------------------------------------------------------------------------

constexpr char help[] =
    R"(ssb-run measures the 13 queries of the Star Schema Benchmark with gpuscan off and on.

Usage: ssb-run [OPTION]...

  --reps N          counted runs of each query with gpuscan; their median counts (default 5)
  --warmups N       runs before them that are not counted (default 2)
  --postgres-reps N counted runs of PostgreSQL's own plan, after one that is not counted (default 3; 0: it does not run,
                    and results are not compared)
  --cold            also time each query once with gpuscan's cache empty (pages in shared_buffers)
  --first           also time each query's first execution ever: compiled kernels removed, columns in the cache
  --new-connections show instead what each query costs more as the first of a session, beyond PostgreSQL's own cost of a
                    new connection
  --device NAME     set gpuscan.device (host, cuda, ...)
  --offload MODE    set gpuscan.offload (auto or force) for the runs with gpuscan (default: as it is)
  --workers N       parallel workers for PostgreSQL: max_parallel_workers_per_gather, and parallel_workers of
                    lineorder while the benchmark runs (default: leave both as they are)
  --set NAME=VALUE  any other setting, for both sides; may be repeated
  --only LIST       some of the queries, such as q1.1,q4.3
  --csv FILE        write the table there (and with --cold a second one, FILE with _cold before .csv)
  --no-extension    measure PostgreSQL alone
  --selectivity     show which share of lineorder each query selects, beside the paper's value
  --schema NAME     where the tables are (default: the search path)
  --queries DIR     the query files (default: the directory 'queries' beside this program)
  --dbname CONNINFO database, connection string or URI (default: the PG* variables)
  --help            this text

Exit status: 0 if all results are equal, 1 if some are not or a query failed, 2 for any other error.
)";

std::string default_queries() {
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    const std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
    return self.substr(0, self.rfind('/')) + "/queries";
}

[[noreturn]] void usage_error(const std::string &message) {
    std::fprintf(stderr, "ssb-run: %s\nTry 'ssb-run --help'.\n", message.c_str());
    std::exit(2);
}

int parse_int(const char *option, const char *text, int least, int most) {
    char *end = nullptr;
    const long v = std::strtol(text, &end, 10);
    if (end == text || *end != '\0' || v < least || v > most)
        usage_error(std::string("--") + option + " takes a whole number from " + std::to_string(least) + " to " +
                    std::to_string(most) + ", not '" + text + "'");
    return static_cast<int>(v);
}

Options parse(int argc, char **argv) {
    enum {
        reps = 1,
        warmups,
        postgres_reps,
        cold,
        first,
        new_connections,
        device,
        offload,
        workers,
        set,
        only,
        csv,
        no_extension,
        selectivity,
        schema,
        queries,
        dbname,
        help_wanted
    };
    static const option known[] = {
        {"reps", required_argument, nullptr, reps},
        {"warmups", required_argument, nullptr, warmups},
        {"postgres-reps", required_argument, nullptr, postgres_reps},
        {"cold", no_argument, nullptr, cold},
        {"first", no_argument, nullptr, first},
        {"new-connections", no_argument, nullptr, new_connections},
        {"device", required_argument, nullptr, device},
        {"offload", required_argument, nullptr, offload},
        {"workers", required_argument, nullptr, workers},
        {"set", required_argument, nullptr, set},
        {"only", required_argument, nullptr, only},
        {"csv", required_argument, nullptr, csv},
        {"no-extension", no_argument, nullptr, no_extension},
        {"selectivity", no_argument, nullptr, selectivity},
        {"schema", required_argument, nullptr, schema},
        {"queries", required_argument, nullptr, queries},
        {"dbname", required_argument, nullptr, dbname},
        {"help", no_argument, nullptr, help_wanted},
        {nullptr, 0, nullptr, 0},
    };
    Options o;
    o.queries = default_queries();
    for (int c; (c = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (c) {
        case reps:
            o.reps = parse_int("reps", optarg, 1, 1000);
            break;
        case warmups:
            o.warmups = parse_int("warmups", optarg, 0, 1000);
            break;
        case postgres_reps:
            o.postgres_reps = parse_int("postgres-reps", optarg, 0, 1000);
            break;
        case cold:
            o.cold = true;
            break;
        case new_connections:
            o.new_connections = true;
            break;
        case first:
            o.first = true;
            break;
        case device:
            o.device = optarg;
            break;
        case offload:
            o.offload = optarg;
            break;
        case workers:
            o.workers = parse_int("workers", optarg, 0, 1024);
            break;
        case set: {
            const std::string text = optarg;
            const size_t at = text.find('=');
            if (at == std::string::npos || at == 0)
                usage_error("--set takes NAME=VALUE, not '" + text + "'");
            o.settings.emplace_back(text.substr(0, at), text.substr(at + 1));
            break;
        }
        case only:
            o.only = split(lower(optarg), ',');
            break;
        case csv:
            o.csv = optarg;
            break;
        case no_extension:
            o.extension = false;
            break;
        case selectivity:
            o.selectivity = true;
            break;
        case schema:
            o.schema = optarg;
            break;
        case queries:
            o.queries = optarg;
            break;
        case dbname:
            o.dbname = optarg;
            break;
        case help_wanted:
            std::fputs(help, stdout);
            std::exit(0);
        default:
            std::fputs("Try 'ssb-run --help'.\n", stderr);
            std::exit(2);
        }
    }
    if (optind < argc)
        usage_error(std::string("what is '") + argv[optind] + "'?");
    if (!o.offload.empty() && o.offload != "auto" && o.offload != "force")
        usage_error("--offload takes auto or force, not '" + o.offload + "'");
    if (!o.extension && (o.cold || o.first || o.new_connections || !o.offload.empty() || !o.device.empty()))
        usage_error("--no-extension goes with none of --cold, --first, --new-connections, --offload and --device");
    if (!o.extension && o.postgres_reps == 0)
        usage_error("--no-extension with --postgres-reps 0 leaves nothing to measure");
    return o;
}

} // namespace

int main(int argc, char **argv) {
    try {
        const Options options = parse(argc, argv);
        Runner runner(options);
        return options.selectivity       ? runner.show_selectivity()
               : options.new_connections ? runner.show_new_connections()
                                         : runner.run();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "ssb-run: %s\n", e.what());
        return 2;
    }
}
