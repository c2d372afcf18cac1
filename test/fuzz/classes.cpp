// Queries of the classes in classes.hpp, answered by PostgreSQL and with gpuscan.offload = force.
// Exit status: 0 no difference, 1 differences, 2 trouble.
#include "classes.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>

#include "../../bench/common/command_line.hpp"

using namespace fuzz;

static const Class classes[] = {
    {"deep", prepare_deep, deep_round},          {"orders", prepare_orders, orders_round},
    {"texts", prepare_texts, texts_round},       {"snapshots", prepare_snapshots, snapshots_round},
    {"hidden", prepare_hidden, hidden_round},    {"moments", prepare_moments, moments_round},
    {"cursors", prepare_cursors, cursors_round},
};

int main(int argc, char **argv) {
    setvbuf(stdout, nullptr, _IOLBF, 0); // what was found is kept if the run is cut short
    uint64_t seed = 1;
    long queries = 1000, stop_after = 20, seconds = LONG_MAX, timeout = 20;
    string conninfo, wanted = "deep,orders,texts,snapshots,hidden,moments,cursors";
    bool verbose = false, falsified = false, alone = false;
    CLI::App app("Queries of some classes, answered by PostgreSQL and with the device.", "classes");
    bench::prepare_command_line(app);
    app.add_option("--seed", seed, "decides everything");
    app.add_option("--queries", queries,
                   "so many; each class in turn asks its share; each statement of a script counts as one");
    app.add_option("--class", wanted, "names, divided by commas")->capture_default_str();
    app.add_option("--seconds", seconds, "at most");
    app.add_option("--timeout", timeout,
                   "seconds; a query that takes longer on either side is counted, but not compared");
    app.add_option("--stop-after", stop_after, "so many differences");
    app.add_flag("--falsify", falsified,
                 "compare PostgreSQL's answers with themselves, falsified: each must be seen to be different");
    app.add_flag("--alone", alone, "nobody else asks this server, so its counters are looked at, too (class hidden)");
    app.add_flag("--verbose", verbose, "also print reasons of fallbacks and refusals");
    app.add_option("conninfo", conninfo, "connection string");
    bench::parse_command_line(app, argc, argv);
    try {
        vector<Class> chosen;
        for (const Class &c : classes)
            if (("," + wanted + ",").find(string(",") + c.name + ",") != string::npos)
                chosen.push_back(c);
        long differences = 0, total = 0;
        for (const Class &c : chosen) {
            engine.seed(seed);
            tables.clear();
            World w;
            w.conninfo = conninfo;
            w.name = c.name;
            w.seed = seed;
            w.timeout = timeout;
            w.falsified = falsified;
            w.verbose = verbose;
            w.alone = alone;
            w.run(0, "CREATE EXTENSION IF NOT EXISTS gpuscan");
            c.prepare(w);
            const long share = queries / static_cast<long>(chosen.size());
            const time_t start = time(nullptr);
            for (; w.queries < share && w.differences < stop_after &&
                   time(nullptr) - start < seconds / static_cast<long>(chosen.size());
                 ++w.round)
                c.round(w);
            printf(
                "%s: %ld queries, %ld by the device, %ld by a fallback, %ld errors, %ld that depend on the plan, %ld "
                "timeouts, %ld differences\n",
                c.name, w.queries, w.device, w.fallback, w.errors, w.plan_dependent, w.timeouts, w.differences);
            differences += w.differences;
            total += w.queries;
        }
        if (verbose) {
            for (const auto &reason : fallbacks)
                printf("  fallback %6d  %s\n", reason.second, reason.first.c_str());
            for (const auto &reason : refusals)
                printf("  refused  %6d  %s\n", reason.second, reason.first.c_str());
        }
        printf("%ld queries of classes, %ld differences\n", total, differences);
        return differences ? 1 : 0;
    } catch (const std::exception &e) {
        fprintf(stderr, "classes: %s\n", e.what());
        return 2;
    }
}
