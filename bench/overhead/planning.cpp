// What settings cost the planner: the 22 queries of TPC-H are explained in two sessions of one server, with and without the
// settings, in turn (without, with, with, without; the other way round in the next round). Processor time of the two backends is
// compared, not time on the clock, so that other programs on the machine matter less. Both sessions are new in every round.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "../common/command_line.hpp"
#include "../common/pg.hpp"
#include "../common/sample.hpp"
#include "../tpch/query_texts.hpp"

namespace {

using std::string;
using std::vector;

using Settings = vector<std::pair<string, string>>;

struct Options {
    int rounds = 40, repeat = 5;
    bool print = false;
    Settings common, settings;
    string folder = "bench/tpch/queries", conninfo;
};

class Planner {
  public:
    Planner(const string &conninfo, const Settings &settings) : connection_(conninfo, "overhead-planning") {
        for (const auto &[name, value] : settings)
            connection_.exec("SET " + name + " = '" + value + "'");
        pid_ = PQbackendPID(connection_.raw());
    }

    // Returns the backend's processor time in us.
    double explain(const string &query, int times) {
        const double before = processor_us();
        for (int i = 0; i < times; ++i)
            connection_.exec("EXPLAIN " + query);
        return processor_us() - before;
    }

  private:
    double processor_us() const {
        std::ifstream file("/proc/" + std::to_string(pid_) + "/schedstat");
        double ns = 0;
        file >> ns;
        if (!(ns > 0))
            throw pg::Error("the server's processes are not to be seen here");
        return ns / 1000;
    }

    pg::Connection connection_;
    int pid_;
};

void run(const Options &options) {
    const vector<string> queries = tpch::query_texts(options.folder, 1);
    if (options.print) {
        for (const string &query : queries)
            std::printf("explain %s;\n", query.c_str());
        return;
    }
    Settings with = options.common;
    with.insert(with.end(), options.settings.begin(), options.settings.end());
    vector<double> each[2] = {vector<double>(queries.size()), vector<double>(queries.size())};
    std::vector<double> logarithms; // of each round's ratio
    for (int round = 0; round < options.rounds; ++round) {
        std::unique_ptr<Planner> planners[2];
        for (int i = 0; i < 2; ++i) {
            const int which = (i + round) % 2;
            planners[which] = std::make_unique<Planner>(options.conninfo, which ? with : options.common);
        }
        for (const auto &planner : planners)
            for (const string &query : queries)
                planner->explain(query, 1);
        double total[2] = {};
        for (size_t i = 0; i < queries.size(); ++i)
            for (int slice = 0; slice < 4; ++slice) {
                const int which = (slice == 1 || slice == 2) != (round % 2 == 1);
                const double spent = planners[which]->explain(queries[i], options.repeat) / (2 * options.repeat);
                each[which][i] += spent / options.rounds;
                total[which] += spent;
            }
        logarithms.push_back(std::log(total[1] / total[0]));
    }
    std::printf("%-6s %12s %12s %8s\n", "query", "without us", "with us", "ratio");
    double total[2] = {};
    for (size_t i = 0; i < queries.size(); ++i) {
        std::printf("q%-5zu %12.1f %12.1f %8.3f\n", i + 1, each[0][i], each[1][i], each[1][i] / each[0][i]);
        for (int which = 0; which < 2; ++which)
            total[which] += each[which][i];
    }
    const bench::Mean mean = bench::mean(logarithms);
    std::printf("planning without %.1f us, with %.1f us, ratio %.4f (%.4f .. %.4f)\n", total[0], total[1],
                std::exp(mean.value), std::exp(mean.value - mean.half), std::exp(mean.value + mean.half));
}

Options parse(int argc, char **argv) {
    Options o;
    CLI::App app("Explains TPC-H's queries in two sessions of one server, with and without settings. Without settings "
                 "both are alike, "
                 "which shows what the method itself sees. The last line: processor time of planning with and without, "
                 "and their "
                 "ratio with its 95 % confidence interval over the rounds.",
                 "overhead-planning");
    bench::prepare_command_line(app);
    app.add_option("--rounds", o.rounds, "each with two new sessions")
        ->capture_default_str()
        ->check(CLI::Range(2, 1000000));
    app.add_option("--repeat", o.repeat, "how often a query is explained before the other session's turn")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    bench::add_pairs(app, "--common", '=', o.common, "NAME=VALUE: a setting of both sessions; may be repeated");
    app.add_option("--queries", o.folder, "the query files")->capture_default_str();
    app.add_flag("--print", o.print, "only print the statements that are explained");
    app.add_option("--dbname", o.conninfo, "the database with TPC-H's tables (default: the PG* variables)");
    bench::add_pairs(app, "settings", '=', o.settings, "NAME=VALUE: of the session with them");
    bench::parse_command_line(app, argc, argv);
    return o;
}

} // namespace

int main(int argc, char **argv) {
    try {
        run(parse(argc, argv));
    } catch (const std::exception &error) {
        std::fprintf(stderr, "overhead-planning: %s\n", error.what());
        return 2;
    }
}
