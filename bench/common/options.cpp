// The command line of a runner.
#include <limits.h>
#include <unistd.h>

#include "command_line.hpp"
#include "runner.hpp"

namespace bench {
namespace {

std::string default_queries() {
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    const std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
    return self.substr(0, self.rfind('/')) + "/queries";
}

} // namespace

Options parse_options(const Benchmark &b, int argc, char **argv) {
    Options o;
    o.queries = default_queries();
    CLI::App app(std::string("Measures ") + b.title + " with gpuscan off and on.", b.program);
    app.footer("Exit status: 0 if all results are equal, 1 if some are not or a query failed, 2 for any other error.");
    prepare_command_line(app);
    const auto number = [&](const char *name, auto &value, const char *what, int least, int most) {
        app.add_option(name, value, what)->check(CLI::Range(least, most));
    };
    number("--reps", o.reps, "counted runs of each query with gpuscan; their median counts (default 5)", 1, 1000);
    number("--warmups", o.warmups, "runs before them that are not counted (default 2)", 0, 1000);
    number("--postgres-reps", o.postgres_reps,
           "counted runs of PostgreSQL's own plan (default 3; 0: it does not run, and results are not compared)", 0,
           1000);
    number("--postgres-warmups", o.postgres_warmups, "runs before them that are not counted (default 1)", 0, 1000);
    number("--timeout", o.timeout, "seconds that a query may take, on either side (default: any number)", 1, 1000000);
    number("--budget", o.budget,
           "seconds for the runs of a query on one side: further runs are left out (default: any number)", 1, 1000000);
    app.add_option("--answers", o.answers,
                   "directory: keep PostgreSQL's times and answers there, and take them from there instead of "
                   "measuring again");
    const std::vector<CLI::Option *> of_extension = {
        app.add_flag("--cold", o.cold,
                     "also time each query once with gpuscan's cache empty (pages in shared_buffers)"),
        app.add_flag("--first", o.first,
                     "also time each query's first execution ever: compiled kernels removed, columns in the cache"),
        app.add_flag("--new-connections", o.new_connections,
                     "show instead what each query costs more as the first of a session, beyond PostgreSQL's own cost "
                     "of a new connection"),
        app.add_option("--device", o.device, "set gpuscan.device (host, cuda, ...)"),
        app.add_option("--beside", o.beside, "also time each query on this device (in a column of its own)"),
        app.add_flag(
            "--where", o.where,
            "show what ran where, and why (gpuscan.advise), instead of nodes and times of kernels and planning"),
        app.add_option("--offload", o.offload, "set gpuscan.offload for the runs with gpuscan (default: as it is)")
            ->check(CLI::IsMember({"auto", "force"}))};
    app.add_flag("--refusals", o.refusals,
                 "also show why parts of a query stay with PostgreSQL (gpuscan.explain_refusals)");
    number("--workers", o.workers,
           "parallel workers for PostgreSQL: max_parallel_workers_per_gather, and parallel_workers of the largest "
           "tables while the benchmark runs (default: leave both as they are)",
           0, 1024);
    add_pairs(app, "--set", '=', o.settings, "NAME=VALUE: any other setting, for both sides; may be repeated");
    app.add_option("--only", o.only, "some of the queries, such as " + b.queries.front() + "," + b.queries.back())
        ->delimiter(',')
        ->transform(lower);
    app.add_option("--csv", o.csv,
                   "write the table there (and with --cold a second one, with _cold before .csv in its name)");
    CLI::Option *const alone = app.add_flag_callback(
        "--no-extension", [&] { o.extension = false; }, "measure PostgreSQL alone");
    for (CLI::Option *option : of_extension)
        alone->excludes(option);
    if (b.surrogate)
        number("--seed", o.seed, "random parameters of the queries (default: those of the validation run)", 0,
               2147483647);
    if (b.own_option)
        app.add_flag(std::string("--") + b.own_option, o.own_task, b.own_help);
    app.add_option("--schema", o.schema, "where the tables are (default: the search path)");
    app.add_option("--queries", o.queries, "the query files (default: the directory 'queries' beside this program)");
    app.add_option("--dbname", o.dbname, "database, connection string or URI (default: the PG* variables)");
    app.final_callback([&] {
        if (!o.extension && o.postgres_reps == 0)
            throw CLI::ValidationError("--no-extension with --postgres-reps 0 leaves nothing to measure");
    });
    parse_command_line(app, argc, argv);
    return o;
}

} // namespace bench
