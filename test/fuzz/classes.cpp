// Queries of the classes in classes.hpp, answered by PostgreSQL and with gpuscan.offload = force.
//
// Usage: classes [--seed N] [--queries M] [--class NAME[,NAME...]] [--seconds S] [--timeout SECONDS]
//                [--stop-after DIFFERENCES] [--falsify] [--alone] [--verbose] [CONNINFO]
// Default: all classes.
// A seed decides everything. Each class in turn asks its share of the queries; each statement of a script counts as one.
// --falsify: no device is asked; PostgreSQL's answers are compared with themselves, falsified: each must be seen to be different.
// --alone: nobody else asks this server, so its counters are looked at, too (class hidden).
// Exit status: 0 no difference, 1 differences, 2 trouble.
#include "classes.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>

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
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            seed = strtoull(argv[++i], nullptr, 10);
        else if (!strcmp(argv[i], "--queries") && i + 1 < argc)
            queries = atol(argv[++i]);
        else if (!strcmp(argv[i], "--class") && i + 1 < argc)
            wanted = argv[++i];
        else if (!strcmp(argv[i], "--stop-after") && i + 1 < argc)
            stop_after = atol(argv[++i]);
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            seconds = atol(argv[++i]);
        else if (!strcmp(argv[i], "--timeout") && i + 1 < argc)
            timeout = atol(argv[++i]);
        else if (!strcmp(argv[i], "--falsify"))
            falsified = true;
        else if (!strcmp(argv[i], "--alone"))
            alone = true;
        else if (!strcmp(argv[i], "--verbose"))
            verbose = true;
        else if (argv[i][0] == '-') {
            fprintf(stderr, "usage: classes [--seed N] [--queries M] [--class NAME[,NAME...]] [--seconds S] [--timeout "
                            "SECONDS] [--stop-after DIFFERENCES] [--falsify] [--alone] [--verbose] [CONNINFO]\n");
            return 2;
        } else
            conninfo = argv[i];
    }
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
            w.run(0, "CREATE EXTENSION IF NOT EXISTS gpuscan; SET gpuscan.explain_refusals = on");
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
