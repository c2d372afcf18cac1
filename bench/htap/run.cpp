// htap-run: HATtrick's throughput frontier and freshness (Milkai et al., "How Good is My HTAP System?", SIGMOD 2022), of PostgreSQL
// (gpuscan.offload = off) and of gpuscan. Written anew after the paper; what differs from it: all lines of an order have the
// order's date, and a query's freshness is told beside its rows (clients.cpp).
//
// First it looks for the number of transactional clients, and for that of analytical ones, with which there is most throughput if
// there are no others; then it measures parts of one number beside parts of the other. After each run the data must hold exactly
// what the clients have committed; then orders and history of the run are deleted. Nobody vacuums.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "../common/command_line.hpp"
#include "../common/sample.hpp"
#include "../ssb/benchmark.hpp"
#include "clients.hpp"
#include "frontier.hpp"

namespace bench {
namespace {

struct Options {
    SessionOptions session;
    std::string queries, csv;
    double warmup = 2, seconds = 6;
    int most_clients = static_cast<int>(std::clamp(2 * std::thread::hardware_concurrency(), 2u, 40u));
    std::vector<int> clients; // of one run instead of the frontier: transactional, analytical
    bool postgres = true, compare = false;
    uint64_t seed = 1;
};

struct Point {
    size_t transactional, analytical; // clients
    Throughput throughput;
    double transaction_p99_ms = 0, staleness = 0;
    std::vector<std::vector<double>> query_ms; // of each query
    size_t different = 0;
};

double quantile(std::vector<double> values, double part) {
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

std::vector<double> joined(const std::vector<std::vector<double>> &lists) {
    std::vector<double> all;
    for (const auto &list : lists)
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

// All clients at once, one thread each.
class Run {
  public:
    Run(const Options &options, const SessionOptions &session, const Sizes &sizes, const std::vector<Query> &queries,
        size_t transactional, size_t analytical)
        : options_(options), next_order_(sizes.last_order + 1), analytical_left_(analytical) {
        point_.transactional = transactional;
        point_.analytical = analytical;
        point_.query_ms.resize(queries.size());
        for (size_t i = 1; i <= transactional; ++i)
            transactional_.push_back(
                std::make_unique<TransactionalClient>(session, sizes, i, next_order_, options.seed));
        for (size_t i = 1; i <= analytical; ++i)
            analytical_.push_back(std::make_unique<AnalyticalClient>(session, queries, transactional_, options.compare,
                                                                     options.seed + i));
    }

    Point measure() {
        const Clock::time_point start = Clock::now();
        begin_ = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.warmup));
        end_ = begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.seconds));
        std::vector<std::thread> threads;
        for (auto &client : transactional_)
            threads.emplace_back([&] { work([&] { transact(*client); }); });
        for (auto &client : analytical_)
            threads.emplace_back([&] { work([&] { analyse(*client); }); });
        for (std::thread &thread : threads)
            thread.join();
        if (error_)
            std::rethrow_exception(error_);
        point_.transaction_p99_ms = quantile(transaction_ms_, 0.99);
        for (const auto &client : analytical_)
            point_.different += client->different();
        return point_;
    }

    std::vector<Totals> totals() const {
        std::vector<Totals> all;
        for (const auto &client : transactional_)
            all.push_back(client->totals());
        return all;
    }

  private:
    void work(const std::function<void()> &body) {
        try {
            body();
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex_);
            error_ = std::current_exception();
            stop_ = true;
        }
    }

    // Steps until the end, of which those count that began after the warm-up, at least one. A client's throughput is that of the
    // time which these have taken, so a long query that ends late is not cut off.
    template <typename Step, typename Counted>
    double steps_a_second(const Step &step, const std::function<bool()> &ended, const Counted &counted) {
        size_t n = 0;
        Clock::time_point first, now = Clock::now();
        while (!stop_ && (n == 0 || !ended())) {
            const Clock::time_point before = now;
            step();
            now = Clock::now();
            if (before < begin_)
                continue;
            if (n++ == 0)
                first = before;
            counted(1e3 * seconds(now - before));
        }
        return n == 0 ? 0 : static_cast<double>(n) / seconds(now - first);
    }

    // Transactional clients go on until the last query has ended.
    void transact(TransactionalClient &client) {
        std::vector<double> ms;
        const double rate =
            steps_a_second([&] { client.step(); }, [&] { return Clock::now() >= end_ && analytical_left_ == 0; },
                           [&](double took) { ms.push_back(took); });
        std::lock_guard<std::mutex> lock(mutex_);
        point_.throughput.transactions += rate;
        transaction_ms_.insert(transaction_ms_.end(), ms.begin(), ms.end());
    }

    void analyse(AnalyticalClient &client) {
        const double rate = steps_a_second([&] { client.step(); }, [&] { return Clock::now() >= end_; },
                                           [&](double took) {
                                               std::lock_guard<std::mutex> lock(mutex_);
                                               point_.query_ms[client.query()].push_back(took);
                                               point_.staleness = std::max(point_.staleness, client.staleness());
                                           });
        --analytical_left_;
        std::lock_guard<std::mutex> lock(mutex_);
        point_.throughput.queries += rate;
    }

    const Options &options_;
    std::atomic<int> next_order_;
    std::atomic<size_t> analytical_left_;
    std::atomic<bool> stop_{false};
    Clock::time_point begin_, end_;
    std::vector<std::unique_ptr<TransactionalClient>> transactional_;
    std::vector<std::unique_ptr<AnalyticalClient>> analytical_;
    std::mutex mutex_; // of what follows
    std::exception_ptr error_;
    Point point_;
    std::vector<double> transaction_ms_;
};

class Benchmarks {
  public:
    explicit Benchmarks(Options options)
        : options_(std::move(options)), queries_(read_queries(ssb_benchmark(), options_.queries, {})),
          connection_(connect(options_.session)), sizes_(read_sizes(*connection_)) {
        add_foreign_keys();
        if (options_.postgres)
            series_.push_back({"postgres", "off", {}, {}});
        series_.push_back({"gpuscan", options_.session.offload, {}, {}});
    }

    bool run() {
        std::printf("%-10s %14s %11s %15s %10s %8s %13s %12s %11s\n", "", "transactional", "analytical",
                    "transactions/s", "queries/s", "p99 ms", "query median", "query p99", "freshness s");
        if (options_.clients.empty())
            find_frontier();
        else
            measure(options_.clients[0], options_.clients[1]);
        check_answers();
        reset();
        if (!options_.csv.empty())
            write_csv();
        if (options_.clients.empty())
            for (const Series &series : series_)
                describe(series);
        return right_;
    }

  private:
    struct Series {
        std::string name, offload;
        std::vector<Point> points;
        Frontier frontier;
    };

    // HATtrick has them on PostgreSQL. (The loader knows of none.)
    void add_foreign_keys() {
        static constexpr const char *keys[][3] = {{"lo_custkey", "customer", "c_custkey"},
                                                  {"lo_suppkey", "supplier", "s_suppkey"},
                                                  {"lo_partkey", "part", "p_partkey"},
                                                  {"lo_orderdate", "date", "d_datekey"},
                                                  {"lo_commitdate", "date", "d_datekey"}};
        if (connection_->value(
                "SELECT count(*) FROM pg_constraint WHERE conrelid = 'lineorder'::regclass AND contype = 'f'") != "0")
            return;
        std::string all;
        for (const auto &[column, table, key] : keys)
            all += std::string(all.empty() ? "" : ", ") + "ADD FOREIGN KEY (" + column + ") REFERENCES " + table +
                   " (" + key + ")";
        connection_->exec("ALTER TABLE lineorder " + all);
    }

    // One series after the other: what drifts meets both, and so does what the resets leave in the tables.
    void measure(size_t transactional, size_t analytical) {
        for (Series &series : series_)
            measure(series, transactional, analytical);
    }

    void measure(Series &series, size_t transactional, size_t analytical) {
        reset();
        for (size_t i = 1; i <= transactional; ++i)
            connection_->exec("DROP TABLE IF EXISTS " + freshness_table(i) + "; CREATE TABLE " + freshness_table(i) +
                              " AS SELECT 0 AS f_txnnum, " + std::to_string(i) + " AS f_clientnum");
        SessionOptions session = options_.session;
        session.offload = series.offload;
        Run run(options_, session, sizes_, queries_, transactional, analytical);
        const Point p = run.measure();
        series.points.push_back(p);
        std::printf("%-10s %14zu %11zu %15.1f %10.2f %8.2f %13.2f %12.2f %11.3f\n", series.name.c_str(), transactional,
                    analytical, p.throughput.transactions, p.throughput.queries, p.transaction_p99_ms,
                    quantile(joined(p.query_ms), 0.5), quantile(joined(p.query_ms), 0.99), p.staleness);
        std::fflush(stdout);
        if (p.different > 0)
            wrong(std::to_string(p.different) + " answers beside the transactions are not PostgreSQL's");
        if (p.staleness > 0)
            wrong("a query did not see a transaction that had been committed before it began");
        check_totals(run.totals());
    }

    void wrong(const std::string &what) {
        std::printf("WRONG: %s\n", what.c_str());
        right_ = false;
    }

    // What the transactions of a run have left, read by PostgreSQL's plan and by gpuscan's, against what the clients know.
    void check_totals(const std::vector<Totals> &totals) {
        Totals sum;
        for (const Totals &t : totals)
            sum += t;
        payments_ += sum.payments;
        paid_ += sum.paid;
        const auto text = [](std::initializer_list<int64_t> numbers) {
            std::string s;
            for (int64_t n : numbers)
                s += std::to_string(n) + " ";
            return s;
        };
        const std::string wanted = text({sum.orders, sum.lines, sum.revenue, sum.payments, sum.paid, payments_, paid_});
        for (const std::string offload : {"off", "force"}) {
            connection_->exec("SET gpuscan.offload = " + offload);
            const pg::Result r = connection_->exec(
                "SELECT * FROM (SELECT count(DISTINCT lo_orderkey), count(*), coalesce(sum(lo_revenue) * 100, "
                "0)::bigint"
                " FROM lineorder WHERE lo_orderkey > " +
                std::to_string(sizes_.last_order) +
                ") AS l, (SELECT count(*), coalesce(sum(h_amount) * 100, 0)::bigint FROM history) AS h,"
                " (SELECT sum(c_paymentcnt) FROM customer) AS c, (SELECT (sum(s_ytd) * 100)::bigint FROM supplier) AS "
                "s");
            std::string got;
            for (int i = 0; i < r.columns(); ++i)
                got += r.get(0, i) + " ";
            if (got != wanted)
                wrong("offload " + offload + ": the tables hold " + got + "orders, lines, ..., committed were " +
                      wanted);
        }
        for (size_t i = 0; i < totals.size(); ++i)
            if (connection_->value("SELECT f_txnnum FROM " + freshness_table(i + 1)) !=
                std::to_string(totals[i].transactions))
                wrong("a client's transactions are not those that its FRESHNESS table tells of");
    }

    // The answers to the queries by the tables that the last run has left.
    void check_answers() {
        size_t different = 0;
        const auto run = [&](const std::string &offload, const std::string &sql) {
            connection_->exec("SET gpuscan.offload = " + offload);
            return connection_->exec(sql);
        };
        for (const Query &query : queries_) {
            Expected expected;
            for (const std::string &offload : {std::string("off"), options_.session.offload})
                expected.add(query, answer_of(query, run(offload, query.sql)),
                             [&](const std::string &sql) { return run("off", sql); });
            different += !expected.equal;
        }
        if (different > 0)
            wrong(std::to_string(different) + " answers are not PostgreSQL's");
        std::printf("%zu/%zu answers equal after the last run\n", queries_.size() - different, queries_.size());
    }

    // Deletes what a run has added to the large tables, as the paper does; what it has counted in customers and suppliers stays.
    void reset() {
        connection_->exec("SET gpuscan.offload = off");
        connection_->exec("DELETE FROM lineorder WHERE lo_orderkey > " + std::to_string(sizes_.last_order));
        connection_->exec("TRUNCATE history");
        payments_ = std::stoll(connection_->value("SELECT sum(c_paymentcnt) FROM customer"));
        paid_ = std::stoll(connection_->value("SELECT (sum(s_ytd) * 100)::bigint FROM supplier"));
    }

    // ---- the frontier ----

    // With how many clients, alone, there is most throughput: twice as many again and again, until no series gains more than 5 %.
    size_t best_alone(double Throughput::*rate, const std::function<void(size_t clients)> &measure_clients) {
        size_t best = 1;
        std::vector<double> most(series_.size());
        for (size_t n = 1; n <= static_cast<size_t>(options_.most_clients); n *= 2) {
            measure_clients(n);
            for (size_t i = 0; i < series_.size(); ++i) {
                const double now = series_[i].points.back().throughput.*rate;
                if (now > 1.05 * most[i]) {
                    most[i] = now;
                    best = n;
                }
            }
            if (best < n)
                break;
        }
        return best;
    }

    static std::set<size_t> parts_of(size_t clients) {
        std::set<size_t> parts;
        for (double part : {0.2, 0.5, 0.8, 1.0})
            parts.insert(static_cast<size_t>(std::ceil(part * static_cast<double>(clients))));
        return parts;
    }

    void find_frontier() {
        const size_t t = best_alone(&Throughput::transactions, [&](size_t n) { measure(n, 0); });
        const size_t a = best_alone(&Throughput::queries, [&](size_t n) { measure(0, n); });
        for (size_t transactional : parts_of(t))
            for (size_t analytical : parts_of(a))
                measure(transactional, analytical);
        for (Series &series : series_) {
            std::vector<Throughput> points;
            for (const Point &p : series.points)
                points.push_back(p.throughput);
            series.frontier = frontier_of(points);
        }
    }

    static void describe(const Series &series) {
        double staleness = 0;
        for (const Point &p : series.points)
            staleness = std::max(staleness, p.staleness);
        std::printf("%s: tmax %.0f, amax %.2f, middle %.2f (a/amax + t/tmax), freshness max %.3f s\n",
                    series.name == "gpuscan" ? "frontier" : "PostgreSQL's frontier", series.frontier.tmax,
                    series.frontier.amax, series.frontier.middle, staleness);
    }

    void write_csv() const {
        std::ofstream out(options_.csv);
        out.precision(10);
        out << "series,transactional,analytical,transactions_s,queries_s,frontier,transaction_p99_ms,freshness_s";
        for (const Query &query : queries_)
            out << ',' << query.name << "_ms";
        out << '\n';
        for (const Series &series : series_)
            for (size_t i = 0; i < series.points.size(); ++i) {
                const Point &p = series.points[i];
                const std::vector<size_t> &frontier = series.frontier.points;
                out << series.name << ',' << p.transactional << ',' << p.analytical << ',' << p.throughput.transactions
                    << ',' << p.throughput.queries << ',' << std::count(frontier.begin(), frontier.end(), i) << ','
                    << p.transaction_p99_ms << ',' << p.staleness;
                for (const std::vector<double> &ms : p.query_ms) {
                    out << ',';
                    if (!ms.empty())
                        out << median(ms);
                }
                out << '\n';
            }
        out.close();
        if (!out)
            throw pg::Error("cannot write " + options_.csv);
    }

    const Options options_;
    const std::vector<Query> queries_;
    std::unique_ptr<pg::Connection> connection_;
    const Sizes sizes_;
    std::vector<Series> series_;
    int64_t payments_ = 0, paid_ = 0; // all that customers and suppliers have counted
    bool right_ = true;
};

Options parse(int argc, char **argv) {
    Options o;
    o.session.schema = "htap";
    o.session.offload = "auto";
    CLI::App app("Measures HATtrick's throughput frontier and freshness with gpuscan off and on.", "htap-run");
    app.footer(
        "Exit status: 0 if all transactions were committed and everything was right, 1 if not, 2 for any other error.");
    prepare_command_line(app);
    app.add_option("--queries", o.queries, "directory of the Star Schema Benchmark's query files")->required();
    app.add_option("--seconds", o.seconds, "length of one run")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--warmup", o.warmup, "seconds before it that do not count")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    app.add_option("--max-clients", o.most_clients,
                   "largest number of clients of one kind (default: twice the cores, at most 40)")
        ->check(CLI::Range(1, 1000));
    app.add_option("--clients", o.clients, "T,A: one run of so many transactional and analytical clients, no frontier")
        ->delimiter(',')
        ->expected(2)
        ->check(CLI::Range(0, 1000));
    app.add_flag("!--no-postgres", o.postgres, "gpuscan only");
    app.add_flag("--compare", o.compare,
                 "test, do not measure: each query also by PostgreSQL's plan, in the same snapshot");
    app.add_option("--offload", o.session.offload, "gpuscan.offload of the runs with gpuscan")
        ->capture_default_str()
        ->check(CLI::IsMember({"auto", "force"}));
    app.add_option_function<std::string>(
        "--device", [&](const std::string &device) { o.session.settings.emplace_back("gpuscan.device", device); },
        "set gpuscan.device (host, cuda, ...)");
    add_pairs(app, "--set", '=', o.session.settings, "NAME=VALUE: any other setting, for both sides; may be repeated");
    app.add_option("--seed", o.seed, "of the random choices")->capture_default_str();
    app.add_option("--csv", o.csv, "write the table there");
    app.add_option("--schema", o.session.schema, "where the tables are")->capture_default_str();
    app.add_option("--dbname", o.session.dbname, "database, connection string or URI (default: the PG* variables)");
    parse_command_line(app, argc, argv);
    return o;
}

} // namespace
} // namespace bench

int main(int argc, char **argv) {
    try {
        return bench::Benchmarks(bench::parse(argc, argv)).run() ? 0 : 1;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "htap-run: %s\n", e.what());
        return 2;
    }
}
