// The command line of a runner.
#include <getopt.h>
#include <limits.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runner.hpp"

namespace bench {
namespace {

void print_help(const Benchmark &b) {
    std::printf(
        R"(%s measures %s with gpuscan off and on.

Usage: %s [OPTION]...

  --reps N          counted runs of each query with gpuscan; their median counts (default 5)
  --warmups N       runs before them that are not counted (default 2)
  --postgres-reps N counted runs of PostgreSQL's own plan (default 3; 0: it does not run, and results are not compared)
  --postgres-warmups N    runs before them that are not counted (default 1)
  --timeout S       seconds that a query may take, on either side (default: any number)
  --budget S        seconds for the runs of a query on one side: further runs are left out (default: any number)
  --answers DIR     keep PostgreSQL's times and answers in DIR, and take them from there instead of measuring again
  --cold            also time each query once with gpuscan's cache empty (pages in shared_buffers)
  --first           also time each query's first execution ever: compiled kernels removed, columns in the cache
  --new-connections show instead what each query costs more as the first of a session, beyond PostgreSQL's own cost of a
                    new connection
  --refusals        also show why parts of a query stay with PostgreSQL (gpuscan.explain_refusals)
  --device NAME     set gpuscan.device (host, cuda, ...)
  --offload MODE    set gpuscan.offload (auto or force) for the runs with gpuscan (default: as it is)
  --workers N       parallel workers for PostgreSQL: max_parallel_workers_per_gather, and parallel_workers of
                    the largest tables while the benchmark runs (default: leave both as they are)
  --set NAME=VALUE  any other setting, for both sides; may be repeated
  --only LIST       some of the queries, such as %s,%s
  --csv FILE        write the table there (and with --cold a second one, FILE with _cold before .csv)
  --no-extension    measure PostgreSQL alone
)",
        b.program, b.title, b.program, b.queries.front().c_str(), b.queries.back().c_str());
    if (b.surrogate)
        std::printf("  --seed N          random parameters of the queries (default: those of the validation run)\n");
    if (b.own_option)
        std::printf("  --%-15s %s\n", b.own_option, b.own_help);
    std::printf(R"(  --schema NAME     where the tables are (default: the search path)
  --queries DIR     the query files (default: the directory 'queries' beside this program)
  --dbname CONNINFO database, connection string or URI (default: the PG* variables)
  --help            this text

Exit status: 0 if all results are equal, 1 if some are not or a query failed, 2 for any other error.
)");
}

std::string default_queries() {
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    const std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
    return self.substr(0, self.rfind('/')) + "/queries";
}

[[noreturn]] void usage_error(const Benchmark &b, const std::string &message) {
    std::fprintf(stderr, "%s: %s\nTry '%s --help'.\n", b.program, message.c_str(), b.program);
    std::exit(2);
}

int parse_int(const Benchmark &b, const char *option, const char *text, int least, int most) {
    char *end = nullptr;
    const long v = std::strtol(text, &end, 10);
    if (end == text || *end != '\0' || v < least || v > most)
        usage_error(b, std::string("--") + option + " takes a whole number from " + std::to_string(least) + " to " +
                           std::to_string(most) + ", not '" + text + "'");
    return static_cast<int>(v);
}

} // namespace

Options parse_options(const Benchmark &b, int argc, char **argv) {
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
        postgres_warmups,
        timeout,
        budget,
        answers,
        seed,
        refusals,
        own_task,
        schema,
        queries,
        dbname,
        help_wanted
    };
    std::vector<option> known = {
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
        {"postgres-warmups", required_argument, nullptr, postgres_warmups},
        {"timeout", required_argument, nullptr, timeout},
        {"budget", required_argument, nullptr, budget},
        {"answers", required_argument, nullptr, answers},
        {"refusals", no_argument, nullptr, refusals},
        {"schema", required_argument, nullptr, schema},
        {"queries", required_argument, nullptr, queries},
        {"dbname", required_argument, nullptr, dbname},
        {"help", no_argument, nullptr, help_wanted},
    };
    if (b.surrogate)
        known.push_back({"seed", required_argument, nullptr, seed});
    if (b.own_option)
        known.push_back({b.own_option, no_argument, nullptr, own_task});
    known.push_back({nullptr, 0, nullptr, 0});
    Options o;
    o.queries = default_queries();
    for (int c; (c = getopt_long(argc, argv, "", known.data(), nullptr)) != -1;) {
        switch (c) {
        case reps:
            o.reps = parse_int(b, "reps", optarg, 1, 1000);
            break;
        case warmups:
            o.warmups = parse_int(b, "warmups", optarg, 0, 1000);
            break;
        case postgres_reps:
            o.postgres_reps = parse_int(b, "postgres-reps", optarg, 0, 1000);
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
            o.workers = parse_int(b, "workers", optarg, 0, 1024);
            break;
        case set: {
            const std::string text = optarg;
            const size_t at = text.find('=');
            if (at == std::string::npos || at == 0)
                usage_error(b, "--set takes NAME=VALUE, not '" + text + "'");
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
        case postgres_warmups:
            o.postgres_warmups = parse_int(b, "postgres-warmups", optarg, 0, 1000);
            break;
        case timeout:
            o.timeout = parse_int(b, "timeout", optarg, 1, 1000000);
            break;
        case budget:
            o.budget = parse_int(b, "budget", optarg, 1, 1000000);
            break;
        case answers:
            o.answers = optarg;
            break;
        case seed:
            o.seed = parse_int(b, "seed", optarg, 0, 2147483647);
            break;
        case refusals:
            o.refusals = true;
            break;
        case own_task:
            o.own_task = true;
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
            print_help(b);
            std::exit(0);
        default:
            std::fprintf(stderr, "Try '%s --help'.\n", b.program);
            std::exit(2);
        }
    }
    if (optind < argc)
        usage_error(b, std::string("what is '") + argv[optind] + "'?");
    if (!o.offload.empty() && o.offload != "auto" && o.offload != "force")
        usage_error(b, "--offload takes auto or force, not '" + o.offload + "'");
    if (!o.extension && (o.cold || o.first || o.new_connections || !o.offload.empty() || !o.device.empty()))
        usage_error(b, "--no-extension goes with none of --cold, --first, --new-connections, --offload and --device");
    if (!o.extension && o.postgres_reps == 0)
        usage_error(b, "--no-extension with --postgres-reps 0 leaves nothing to measure");
    return o;
}

} // namespace bench
