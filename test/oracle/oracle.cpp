// Plans under the page cost model's page costs, compared with those of a server whose own formulas are the model's.
//
// The server is one of script/build-postgres.sh MAJOR oracle: with oracle_*_page_cost its costsize.c computes the paper's
// equations wherever a cost is computed, so its plans are what the model wants (the oracle). The same server with gpuscan's
// settings instead plans with PostgreSQL's formulas, moved by the extension. Each query of a workload is explained both ways,
// with the same statistics, under random costs of pages and random work_mem.
//
// Workload: the 22 queries of TPC-H (tables by bench/tpch/tpch-gen) and random ones over the same tables: one to five tables,
// inner, outer, semi and anti joins, grouping, DISTINCT, windows, ORDER BY with and without LIMIT, set operations.
//
// Ends with "plans N, same P %, over 1 % worse Q %, over 10 % worse R %, max X" and, before, in how many plans of the same shape
// some node costs something else (more than a hundredth). Worse: what the chosen plan costs by the model in relation to the
// oracle's. Exit status: 0 if within the limits below, else 1; 2 is trouble.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../../bench/common/command_line.hpp"
#include "../../bench/common/pg.hpp"
#include "../../bench/tpch/query_texts.hpp"

namespace {

using std::string;
using std::vector;

std::mt19937_64 engine;

int roll(int n) { return static_cast<int>(engine() % static_cast<uint64_t>(n)); }
bool chance(int percent) { return roll(100) < percent; }
template <class T> const T &pick(const vector<T> &from) {
    return from[static_cast<size_t>(roll(static_cast<int>(from.size())))];
}
// Between the two, each order of magnitude as likely as the others.
double spread(double least, double most) {
    const double share = static_cast<double>(engine() >> 11) / 9007199254740992.0;
    return least * std::pow(most / least, share);
}

// ---- the workload ----

struct Table {
    const char *name;
    vector<const char *> keys;    // few or many values, to group and sort by
    vector<const char *> numbers; // to aggregate
    vector<const char *> filters;
};

const vector<Table> tables = {
    {"lineitem",
     {"l_returnflag", "l_shipmode", "l_suppkey", "l_partkey", "l_orderkey", "l_shipdate", "l_comment"},
     {"l_quantity", "l_extendedprice"},
     {"l_quantity < 10", "l_shipdate < '1995-01-01'", "l_shipmode = 'MAIL'", "l_discount > 0.05",
      "l_orderkey < 20000"}},
    {"orders",
     {"o_orderpriority", "o_custkey", "o_orderdate", "o_orderkey", "o_comment"},
     {"o_totalprice"},
     {"o_totalprice > 100000", "o_orderdate >= '1996-01-01'", "o_orderstatus = 'F'"}},
    {"customer",
     {"c_mktsegment", "c_nationkey", "c_custkey", "c_name"},
     {"c_acctbal"},
     {"c_acctbal > 0", "c_mktsegment = 'BUILDING'", "c_custkey < 5000"}},
    {"part",
     {"p_brand", "p_type", "p_size", "p_partkey", "p_name"},
     {"p_retailprice"},
     {"p_size < 20", "p_brand = 'Brand#23'", "p_type like '%BRASS'"}},
    {"partsupp", {"ps_suppkey", "ps_partkey", "ps_availqty", "ps_comment"}, {"ps_supplycost"}, {"ps_availqty < 5000"}},
    {"supplier", {"s_nationkey", "s_suppkey", "s_name"}, {"s_acctbal"}, {"s_acctbal < 0"}},
    {"nation", {"n_name", "n_regionkey", "n_nationkey"}, {"n_nationkey"}, {"n_name < 'M'"}},
};

struct Edge {
    const char *a, *b, *condition;
};

const vector<Edge> edges = {
    {"lineitem", "orders", "l_orderkey = o_orderkey"},
    {"lineitem", "part", "l_partkey = p_partkey"},
    {"lineitem", "supplier", "l_suppkey = s_suppkey"},
    {"lineitem", "partsupp", "l_partkey = ps_partkey and l_suppkey = ps_suppkey"},
    {"orders", "customer", "o_custkey = c_custkey"},
    {"partsupp", "part", "ps_partkey = p_partkey"},
    {"partsupp", "supplier", "ps_suppkey = s_suppkey"},
    {"customer", "nation", "c_nationkey = n_nationkey"},
    {"supplier", "nation", "s_nationkey = n_nationkey"},
    {"customer", "supplier", "c_nationkey = s_nationkey"},
    {"orders", "lineitem", "o_orderdate = l_shipdate"},
};

const Table &table(const string &name) {
    return *std::find_if(tables.begin(), tables.end(), [&](const Table &t) { return t.name == name; });
}

struct From {
    string sql;
    vector<string> conditions;
    vector<string> names;
};

// One to `most` tables, each linked to one before it.
From random_from(int most) {
    From from;
    from.names = {pick(tables).name};
    from.sql = from.names[0];
    const int size = 1 + roll(most);
    while (static_cast<int>(from.names.size()) < size) {
        vector<Edge> next;
        for (const Edge &edge : edges) {
            const bool a = std::count(from.names.begin(), from.names.end(), edge.a),
                       b = std::count(from.names.begin(), from.names.end(), edge.b);
            if (a != b)
                next.push_back(a ? edge : Edge{edge.b, edge.a, edge.condition});
        }
        const Edge edge = pick(next);
        from.names.push_back(edge.b);
        if (chance(20))
            from.sql += (chance(80) ? " left join " : " full join ") + string(edge.b) + " on " + edge.condition;
        else
            from.sql += " join " + string(edge.b) + " on " + edge.condition;
    }
    // A full join wants conditions that can be hashed or merged, which these are.
    for (const string &name : from.names)
        if (chance(35))
            from.conditions.push_back(pick(table(name).filters));
    if (chance(25)) {
        vector<Edge> next;
        for (const Edge &edge : edges)
            if (std::count(from.names.begin(), from.names.end(), edge.a) &&
                !std::count(from.names.begin(), from.names.end(), edge.b))
                next.push_back(edge);
        if (!next.empty()) {
            const Edge edge = pick(next);
            const string filter = chance(50) ? " and " + string(pick(table(edge.b).filters)) : "";
            from.conditions.push_back((chance(60) ? "exists" : "not exists") + string(" (select from ") + edge.b +
                                      " where " + edge.condition + filter + ")");
        }
    }
    return from;
}

string where(const From &from) {
    string sql;
    for (const string &condition : from.conditions)
        sql += (sql.empty() ? " where " : " and ") + condition;
    return sql;
}

string random_keys(const From &from, int most) {
    std::set<string> keys;
    for (int i = 1 + roll(most); i > 0; --i)
        keys.insert(pick(table(pick(from.names)).keys));
    string sql;
    for (const string &key : keys)
        sql += (sql.empty() ? "" : ", ") + key;
    return sql;
}

string random_number(const From &from) { return pick(table(pick(from.names)).numbers); }

string limit() { return chance(30) ? " limit " + std::to_string(static_cast<int>(spread(1, 100000))) : ""; }

string random_query() {
    const From from = random_from(chance(60) ? 3 : 5);
    const string rest = " from " + from.sql + where(from);
    const string keys = random_keys(from, 3), number = random_number(from);
    switch (roll(10)) {
    case 0:
        return "select " + keys + ", sum(" + number + ")" + rest + " group by " + keys + " order by " + keys + limit();
    case 1:
        return "select " + keys + ", count(*), avg(" + number + ")" + rest + " group by " + keys +
               (chance(50) ? " having count(*) > 3" : "");
    case 2:
        return "select distinct " + keys + rest + (chance(50) ? " order by " + keys : "") + limit();
    case 3:
        return "select *" + rest + " order by " + keys + limit();
    case 4:
        return "select *" + rest + limit();
    case 5:
        return "select " + keys + ", " + number + ", rank() over (partition by " + random_keys(from, 1) + " order by " +
               random_keys(from, 2) + ")" + rest;
    case 6:
        return "select " + keys + ", sum(" + number + ")" + rest + " group by " + (chance(50) ? "rollup" : "cube") +
               " (" + keys + ")";
    case 7: {
        const From other = random_from(2);
        const char *operations[] = {"union", "union all", "intersect", "except"};
        return "select " + number + "::numeric" + rest + " " + operations[roll(4)] + " select " + random_number(other) +
               "::numeric from " + other.sql + where(other) + (chance(40) ? " order by 1" : "");
    }
    case 8:
        return "select count(*), min(k) from (select " + random_keys(from, 1) + " as k, sum(" + number + ") as s" +
               rest + " group by 1) x join " +
               string("(select l_orderkey as o, count(*) as n from lineitem group by 1) y") + " on s > n and o < 1000";
    default:
        return "with c as materialized (select " + keys + ", " + number + " as v" + rest +
               ") select a.v from c a join c b on a.v = b.v" + (chance(50) ? " order by 1" : "");
    }
}

// ---- plans ----

struct Line {
    string shape;
    double startup, total;
};

using Plan = vector<Line>;

// A line of EXPLAIN without its costs, and these.
Line line_of(const string &text) {
    const size_t at = text.find("(cost=");
    if (at == string::npos)
        return {text, 0, 0};
    const size_t rows = text.find(" rows=", at);
    char *end = nullptr;
    const double startup = std::strtod(text.c_str() + at + 6, &end);
    const double total = std::strtod(end + 2, nullptr);
    return {text.substr(0, at) + text.substr(rows), startup, total};
}

Plan explain(pg::Connection &connection, const string &query) {
    const pg::Result result = connection.exec("explain " + query);
    Plan plan;
    for (int row = 0; row < result.rows(); ++row)
        plan.push_back(line_of(result.get(row, 0)));
    return plan;
}

bool same_shape(const Plan &a, const Plan &b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](const Line &x, const Line &y) { return x.shape == y.shape; });
}

// EXPLAIN rounds to hundredths.
bool same_costs(const Plan &a, const Plan &b) {
    const auto near = [](double x, double y) { return std::fabs(x - y) <= 0.0101 + 1e-12 * std::fabs(x); };
    return std::equal(a.begin(), a.end(), b.begin(), [&](const Line &x, const Line &y) {
        return near(x.startup, y.startup) && near(x.total, y.total);
    });
}

void print(const char *title, const Plan &plan) {
    std::printf("  %s:\n", title);
    for (const Line &line : plan)
        std::printf("    %.2f..%.2f  %s\n", line.startup, line.total, line.shape.c_str());
}

// ---- the comparison ----

struct Costs {
    double seq_read, random_read, seq_write, random_write, hashagg_write;
    int work_mem; // kB
};

Costs random_costs() {
    const int memory[] = {64, 256, 1024, 4096, 16384};
    return {1, spread(1, 30), spread(0.5, 50), spread(0.5, 100), spread(0.5, 100), memory[roll(5)]};
}

Costs neutral_costs() {
    const double seq = spread(0.2, 2), random = spread(0.5, 20);
    const int memory[] = {64, 256, 1024, 4096, 16384};
    return {seq, random, seq, seq, random, memory[roll(5)]};
}

string setting(const char *name, double value) {
    char text[200];
    std::snprintf(text, sizeof text, "set %s = %.17g;", name, value);
    return text;
}

string five(const char *prefix, const Costs *costs) {
    string sql;
    const auto add = [&](const char *name, double value) {
        sql += setting((string(prefix) + name).c_str(), costs != nullptr ? value : -1);
    };
    const Costs c = costs != nullptr ? *costs : Costs{};
    if (string(prefix) == "gpuscan.") {
        add("seq_read_page_cost", c.seq_read);
        add("random_read_page_cost", c.random_read);
    }
    add("seq_write_page_cost", c.seq_write);
    add("random_write_page_cost", c.random_write);
    add("hashagg_write_page_cost", c.hashagg_write);
    return sql;
}

void ask_oracle(pg::Connection &connection, const Costs &costs, bool neutral) {
    connection.exec(setting("seq_page_cost", costs.seq_read) + setting("random_page_cost", costs.random_read) +
                    five("oracle_", neutral ? nullptr : &costs) + five("gpuscan.", nullptr) +
                    "set work_mem = " + std::to_string(costs.work_mem));
}

// The settings of the two page costs are others, so that one that is read in the wrong place is noticed.
void ask_tier(pg::Connection &connection, const Costs &costs) {
    connection.exec(setting("seq_page_cost", 0.7) + setting("random_page_cost", 3.3) + five("oracle_", nullptr) +
                    five("gpuscan.", &costs));
}

struct Options {
    int vectors = 30, queries = 150, show = 0;
    unsigned seed = 1;
    bool parallel = false, neutral = false;
    string folder = "bench/tpch/queries", conninfo;
};

struct Totals {
    int plans = 0, same = 0, worse1 = 0, worse10 = 0, mispriced = 0;
    double most = 1;
};

int run(const Options &options) {
    pg::Connection connection(options.conninfo, "oracle");
    connection.exec(
        options.parallel
            ? "set max_parallel_workers_per_gather = 4; set parallel_setup_cost = 10; set parallel_tuple_cost = "
              "0.001; set min_parallel_table_scan_size = 0; set min_parallel_index_scan_size = 0"
            : "set max_parallel_workers_per_gather = 0");
    connection.exec("set gpuscan.offload = off; set jit = off");
    engine.seed(options.seed);
    vector<string> queries = tpch::query_texts(options.folder, 0.2);
    for (int i = 0; i < options.queries; ++i)
        queries.push_back(random_query());
    Totals totals;
    int shown = 0;
    for (int v = 0; v < options.vectors; ++v) {
        const Costs costs = options.neutral ? neutral_costs() : random_costs();
        vector<Plan> truth;
        ask_oracle(connection, costs, options.neutral);
        for (const string &query : queries)
            truth.push_back(explain(connection, query));
        ask_tier(connection, costs);
        for (size_t i = 0; i < queries.size(); ++i) {
            const Plan plan = explain(connection, queries[i]);
            const bool same = same_shape(plan, truth[i]), priced = !same || same_costs(plan, truth[i]);
            const double ratio = truth[i][0].total > 0 ? plan[0].total / truth[i][0].total : 1;
            ++totals.plans;
            totals.same += same;
            totals.mispriced += !priced;
            totals.worse1 += !same && ratio > 1.01;
            totals.worse10 += !same && ratio > 1.1;
            if (!same)
                totals.most = std::max(totals.most, ratio);
            if ((!same || !priced) && shown < options.show) {
                ++shown;
                std::printf("%s: ratio %.4f, query %zu, costs %.6g %.6g %.6g %.6g %.6g, work_mem %d kB\n  %s\n",
                            same ? "ANOTHER COST" : "ANOTHER PLAN", ratio, i + 1, costs.seq_read, costs.random_read,
                            costs.seq_write, costs.random_write, costs.hashagg_write, costs.work_mem,
                            queries[i].c_str());
                print("oracle", truth[i]);
                print("gpuscan", plan);
            }
        }
        if (connection.value("show seq_page_cost") != "0.7" || connection.value("show random_page_cost") != "3.3")
            throw pg::Error("planning has left other page costs behind");
    }
    const auto percent = [&](int n) { return 100.0 * n / totals.plans; };
    std::printf("%s, %s: of the same plans %d have another cost\n", options.parallel ? "parallel" : "serial",
                options.neutral ? "neutral costs" : "random costs", totals.mispriced);
    std::printf("plans %d, same %.2f %%, over 1 %% worse %.2f %%, over 10 %% worse %.2f %%, max %.2f\n", totals.plans,
                percent(totals.same), percent(totals.worse1), percent(totals.worse10), totals.most);
    if (totals.mispriced > 0)
        return 1;
    if (options.neutral)
        return totals.same != totals.plans;
    if (options.parallel)
        return percent(totals.same) < 97.5;
    return percent(totals.same) < 99 || percent(totals.worse1) > 0.4 || percent(totals.worse10) > 0.1;
}

} // namespace

int main(int argc, char **argv) {
    Options options;
    CLI::App app("Compares plans under the page cost model's page costs with an oracle's.", "oracle");
    bench::prepare_command_line(app);
    app.add_option("--vectors", options.vectors, "random choices of costs")->capture_default_str();
    app.add_option("--queries", options.queries, "random queries besides TPC-H's")->capture_default_str();
    app.add_option("--seed", options.seed, "of the random numbers");
    app.add_option("--show", options.show, "print that many differences");
    app.add_flag("--parallel", options.parallel, "with up to four workers that cost little to start");
    app.add_flag("--neutral", options.neutral, "costs of pages that are PostgreSQL's: no plan and no cost may differ");
    app.add_option("conninfo", options.conninfo, "connection string");
    bench::parse_command_line(app, argc, argv);
    try {
        return run(options);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "oracle: %s\n", error.what());
        return 2;
    }
}
