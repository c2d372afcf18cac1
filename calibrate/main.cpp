// gpuscan-calibrate: the command line. What is done stands in calibration.hpp, report.hpp and apply.hpp.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "apply.hpp"
#include "bench/common/configurations.hpp"
#include "calibration.hpp"
#include "interrupt.hpp"
#include "measure.hpp"
#include "measure_report.hpp"
#include "page.hpp"
#include "report.hpp"
#include "statistics_workload.hpp"

namespace {

using namespace calibrate;

constexpr int stopped_status = 130;
constexpr char statistics[] = "pg_stat_statements"; // as a workload

constexpr char about[] =
    "Finds weights of the planner's cost model for your server, storage and queries.\n"
    "\n"
    "  gpuscan-calibrate measure -d mydb                        measures the machine: values to start from\n"
    "  gpuscan-calibrate anneal -d mydb --workload queries/     finds them; changes nothing\n"
    "  gpuscan-calibrate report                                 tells what was found\n"
    "  gpuscan-calibrate apply -d mydb                          shows what would change, asks, changes it\n"
    "  gpuscan-calibrate undo -d mydb                           puts back what was there\n"
    "\n"
    "anneal runs your queries on your server, so it takes a while and the server's time: choose a quiet hour, or a "
    "copy. Each query "
    "runs in a transaction that is read only and rolled back; weights are set in that session only. Everything is kept "
    "in one file "
    "(--out), so that anneal --resume goes on after whatever ended it.";

constexpr char anneal_about[] =
    "Searches weights by simulated annealing over the total time of a workload. Each plan of a query is executed once, "
    "and again only "
    "when it is near the best, so a thousand cycles execute some per cent of what they would.\n"
    "\n"
    "Queries should be what the server usually runs, with usual parameters; tables should be analyzed, and have been "
    "used, so that "
    "caches hold what they usually hold. A side effect that ROLLBACK does not take back (dblink, COPY to a program in "
    "a function) is "
    "not held off.";

constexpr char measure_about[] =
    "Measures what work costs on this machine, in a minute or two, with microbenchmarks through the server: tuples and "
    "operators of PostgreSQL's own plans, the steps of its executor, pages as they are seen through the machine's "
    "caches, temporary files, and each kind of work of the active device, the host's or a GPU. Prints values with 95 % "
    "confidence intervals; changes no setting. apply puts the costs of devices and the times of steps in force, undo "
    "takes them back; anneal --start-from begins its search with the settings.\n"
    "\n"
    "Makes tables in a schema of its own, gpuscan_calibrate_scratch, and drops it again, also after Ctrl-C; what was "
    "left by a client that was killed is dropped by the next run. Reads some thousand pages of this database's tables. "
    "What the role may not do, and what a standby or a server without a device cannot, is left out and said.";

void add_connection(CLI::App &command, Target &target) {
    command.add_option("-h,--host", target.host, "server's host or socket directory (PGHOST)")->group("Connection");
    command.add_option("-p,--port", target.port, "server's port (PGPORT)")->group("Connection");
    command.add_option("-U,--username", target.user, "user (PGUSER)")->group("Connection");
    command
        .add_option("-d,--dbname", target.dbname,
                    "database, connection string or URI, service=NAME too (PGDATABASE, PGSERVICE)")
        ->group("Connection");
    command.add_flag("-w,--no-password", target.never_password, "never ask for a password")->group("Connection");
    command
        .add_flag("-W,--password", target.ask_password,
                  "ask for the password before connecting (else when it is needed)")
        ->group("Connection");
}

void check_assignments(const std::vector<std::string> &assignments, const char *option) {
    for (const std::string &a : assignments)
        if (a.find('=') == std::string::npos || a.find('=') == 0)
            throw CLI::ValidationError(option, "NAME=VALUE is wanted, not '" + a + "'");
}

struct MeasureOptions {
    Target target;
    MeasurePlan plan;
    std::string file = "gpuscan-measure.jsonl", profile, form = "text";
    bool quiet = false;
};

std::string measurement_as(const Json &measurement, const std::string &form) {
    return form == "json"       ? measurement.dump(2) + "\n"
           : form == "settings" ? measurement_settings(measurement, "asymmetric")
                                : measurement_text(measurement);
}

int measure(MeasureOptions &options) {
    catch_interrupts();
    Progress progress(options.quiet);
    options.target.settings = options.plan.settings;
    options.target.allow_writes = true;
    Session session(options.target);
    session.on_notice = [&](const std::string &text) { progress.say(text); };
    session.keep_others_out();
    Checkpoint checkpoint = Checkpoint::create(options.file);
    int status = 0;
    try {
        MachineMeasurement(session, checkpoint, progress, options.plan).run();
    } catch (const Interrupted &) {
        progress.say("stopped; scratch tables are dropped, nothing else was changed");
        status = stopped_status;
    } catch (const std::runtime_error &e) {
        progress.say(e.what());
        status = 1;
    }
    if (status != 0) {
        std::remove(options.file.c_str()); // nobody can go on with it
        return status;
    }
    const Json measurement = measurement_of(Checkpoint::read(options.file));
    std::cout << measurement_as(measurement, options.form);
    if (!options.profile.empty() && measurement["profile"].is_string()) {
        std::ofstream written(options.profile);
        written << measurement["profile"].get<std::string>();
        written.close();
        if (!written)
            throw std::runtime_error("cannot write " + options.profile);
    } else if (!options.profile.empty()) {
        throw std::runtime_error("no profile is written: no device was measured");
    }
    return 0;
}

struct AnnealOptions {
    Target target;
    Plan plan;
    std::string workload, known, start_from;
    size_t top = 20;
    bool resume = false, quiet = false;
};

int anneal(AnnealOptions &options, const std::string &file) {
    catch_interrupts();
    Progress progress(options.quiet);
    std::vector<Query> queries;
    std::vector<Json> known;
    std::optional<Checkpoint> checkpoint;
    if (options.resume) {
        checkpoint.emplace(Checkpoint::open(file));
        if (is_measurement(checkpoint->lines()))
            throw std::invalid_argument(file + " is a measurement's file, which is not resumed");
        if (const Json summary = summary_of(checkpoint->lines()); is_complete(summary)) {
            std::cout << report_text(summary);
            return 0;
        }
        options.plan = Plan::from_json(checkpoint->lines()[0].at("plan"));
    } else {
        if (options.workload != statistics)
            queries = read_workload(options.workload);
        if (!options.known.empty())
            known = Checkpoint::read(options.known);
    }
    if (!options.start_from.empty()) { // what --start says goes before
        const Json settings = measurement_of(Checkpoint::read(options.start_from))["settings"].at(options.plan.model);
        std::vector<std::string> start;
        for (const auto &[setting, value] : settings.items())
            start.push_back(setting + "=" + number_text(value));
        if (start.empty())
            throw std::invalid_argument(options.start_from + " has no settings that were measured");
        options.plan.start.insert(options.plan.start.begin(), start.begin(), start.end());
    }
    const Plan &plan = options.plan;
    for (const std::string &assignment : plan.start) {
        const std::string setting = assignment.substr(0, assignment.find('='));
        const double value = std::strtod(assignment.c_str() + setting.size() + 1, nullptr);
        if (model_of(plan.model).index_of(setting) < model_of(plan.model).size() && !(value > 0))
            throw std::invalid_argument("--start " + assignment + ": a number above 0 is wanted");
    }
    options.target.settings = plan.settings;
    options.target.allow_writes = plan.allow_writes;
    Session session(options.target);
    session.on_notice = [&](const std::string &text) { progress.say(text); };
    session.keep_others_out();
    if (!options.resume && options.workload == statistics)
        queries = read_statistics(session, options.top, session.on_notice);
    if (!checkpoint)
        checkpoint.emplace(Checkpoint::create(file));

    int status = 0;
    {
        std::optional<Calibration> calibration;
        // Says why it ends, and how to go on if there is something to go on with.
        const auto stop = [&](const std::string &why, const char *kept) {
            if (calibration)
                calibration->give_up();
            progress.say(why + (checkpoint->empty()
                                    ? ""
                                    : std::string("; ") + kept + ": anneal --resume --out " + file + " goes on"));
        };
        try {
            calibration.emplace(session, *checkpoint, progress, plan, std::move(queries), known);
            calibration->run();
        } catch (const Interrupted &) {
            stop("stopped", "nothing is lost");
            status = stopped_status;
        } catch (const CheckpointError &e) {
            stop(e.what(), "what was measured before is kept");
            status = 1;
        } catch (const RefusedError &) {
            if (!options.resume && (checkpoint->empty() || summary_of(Checkpoint::read(file))["cycles"] == 0))
                std::remove(file.c_str()); // nobody can go on with it
            throw;
        } catch (const std::runtime_error &e) { // the server
            stop(e.what(), "nothing is lost");
            status = 1;
        }
    }
    if (checkpoint->empty()) {
        std::remove(file.c_str());
        return status;
    }
    std::cout << report_text(summary_of(Checkpoint::read(file)));
    return status;
}

} // namespace

int main(int argc, char **argv) {
    CLI::App app(about, "gpuscan-calibrate");
    app.set_help_flag("--help,-?", "this text");
    app.set_help_all_flag("--help-all", "the text of all commands");
    app.set_version_flag("--version", "gpuscan-calibrate " GPUSCAN_RELEASE);
    app.require_subcommand(1);
    app.footer("Exit status: 0; 1 if something went wrong; 2 for a wrong command line or a workload that cannot be "
               "used; 130 if it was stopped.\n"
               "Passwords come from the terminal, PGPASSWORD or a password file, and are never printed or kept.");
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); // as psql does
    app.get_formatter()->column_width(34);

    MeasureOptions measuring;
    CLI::App &measure_command = *app.add_subcommand("measure", measure_about);
    add_connection(measure_command, measuring.target);
    measure_command.add_option("--out", measuring.file, "file of this measurement")->capture_default_str();
    measure_command
        .add_option("--rows", measuring.plan.rows,
                    "of the largest scratch table (170 bytes each); 0: a quarter of shared_buffers, a million at most")
        ->capture_default_str()
        ->check(CLI::Range(0, 1000000000));
    measure_command
        .add_option("--repeats", measuring.plan.repeats, "of each query, after a first one that does not count")
        ->capture_default_str()
        ->check(CLI::Range(5, 1000));
    measure_command
        .add_option("--storage-time", measuring.plan.storage_s, "seconds for reading the tables' pages, at most")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    measure_command.add_option("--profile", measuring.profile,
                               "also write the profile of device costs (gpuscan.cost_profile_file) into this file");
    measure_command
        .add_option("--set", measuring.plan.settings, "NAME=VALUE: a setting of the session; may be repeated")
        ->take_all();
    measure_command.add_option("--format", measuring.form, "text or json")
        ->capture_default_str()
        ->check(CLI::IsMember({"text", "json"}));
    measure_command.add_flag("--quiet", measuring.quiet, "no progress");

    std::string file = "gpuscan-calibrate.jsonl";
    AnnealOptions annealing;
    Plan &plan = annealing.plan;
    CLI::App &anneal_command = *app.add_subcommand("anneal", anneal_about);
    add_connection(anneal_command, annealing.target);
    auto *workload = anneal_command.add_option("--workload", annealing.workload,
                                               "queries: a directory with *.sql, or a file, statements ended by "
                                               "semicolons; or pg_stat_statements: those of this "
                                               "database that took most time, weighted by their calls. It keeps no "
                                               "constants: in the place of those that are compared "
                                               "with columns come usual values of these (pg_stats), LIMITs are the "
                                               "rows that calls returned; queries with others are "
                                               "left out, which is said");
    anneal_command.add_option("--top", annealing.top, "so many queries of pg_stat_statements")
        ->capture_default_str()
        ->check(CLI::Range(1, 10000));
    auto *resume = anneal_command.add_flag("--resume", annealing.resume,
                                           "go on with the file of --out, with what it was begun with");
    workload->excludes(resume);
    anneal_command
        .add_option("--times", annealing.known,
                    "another calibration's file of the same server, whatever its weights were: its times of the same "
                    "queries are taken over instead of measured again")
        ->excludes(resume);
    anneal_command.add_option("--out", file, "file of this calibration")->capture_default_str();
    anneal_command
        .add_option("--model", plan.model,
                    "asymmetric: gpuscan's five page costs and three cpu_*_cost; original: seq_page_cost, "
                    "random_page_cost and those three")
        ->capture_default_str()
        ->check(CLI::IsMember({"asymmetric", "original"}));
    anneal_command
        .add_option("--set", plan.settings,
                    "NAME=VALUE: a setting of the session, such as search_path; may be repeated")
        ->take_all();
    anneal_command.add_flag("--allow-writes", plan.allow_writes,
                            "also queries that write: executed again and again, and rolled back each time");
    anneal_command.add_option("--timeout", plan.timeout_s, "seconds that a query may take")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    anneal_command
        .add_option("--reconnect", annealing.target.reconnect_s, "seconds to wait for a server that was lost")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    anneal_command.add_flag("--quiet", annealing.quiet, "no progress");
    const auto number = [&](const char *name, auto &value, const char *what, auto check) {
        anneal_command.add_option(name, value, what)->capture_default_str()->check(check)->group("Search");
    };
    number("--seed", plan.seed, "of the random numbers: the same seed and the same times give the same search",
           CLI::NonNegativeNumber);
    number("--seeds", plan.seeds, "walks, with this seed and those after it", CLI::Range(1, 1000));
    number("--cycles", plan.cycles, "of each walk", CLI::Range(1, 1000000));
    number("--period", plan.period, "cycles between two reheatings", CLI::Range(1, 1000000));
    number("--chains", plan.chains, "walkers at different temperatures", CLI::Range(1, 64));
    number("--harvest", plan.harvest, "weights under which plans are looked for before annealing",
           CLI::Range(0, 100000));
    number("--plans-per-query", plan.plans_per_query,
           "plans of a query, the most frequent ones, that are timed before annealing", CLI::Range(1, 1000));
    number("--repeats", plan.repeats, "executions of the plans that come near the best", CLI::Range(1, 100));
    number("--settle", plan.settle,
           "steps around the best weights, to take the middle of what is as good, near the present settings",
           CLI::Range(0, 100000));
    number("--rounds", plan.rounds, "of the final comparison with the present settings", CLI::Range(2, 1000));
    number("--factor", plan.factor, "a plan is stopped after so many times the query's best time",
           CLI::Range(1.1, 1000.0));
    number("--penalty", plan.penalty, "for each ms that a query is slower than under PostgreSQL's defaults",
           CLI::NonNegativeNumber);
    anneal_command
        .add_option("--start", plan.start,
                    "WEIGHT=VALUE: where the search starts, instead of the present settings; may be repeated")
        ->take_all()
        ->group("Search");

    anneal_command.add_option("--start-from", annealing.start_from, "a file of measure: where the search starts")
        ->group("Search");

    const auto add_file = [&](CLI::App &command) {
        command.add_option("file", file, "the calibration's file")->capture_default_str();
    };
    CLI::App &report_command = *app.add_subcommand("report", "Tells what a calibration has found. Needs no server.");
    std::string form = "text", results;
    add_file(report_command);
    report_command.add_option(
        "--results", results,
        "results.csv of bench/asymmetric-storage/experiment.sh: also total times by seed, and U-tests");
    report_command
        .add_option("--format", form,
                    "text; html: a page for a browser, with the search and the speed-ups drawn; json: everything, the "
                    "search's trace too; settings: \"name = value\" lines of the best weights")
        ->capture_default_str()
        ->check(CLI::IsMember({"text", "html", "json", "settings"}));

    Target target;
    ApplyOptions applying;
    CLI::App &apply_command =
        *app.add_subcommand("apply", "Shows what would change in the server's configuration, asks, and changes it. "
                                     "Refuses if the gain is within the noise.");
    CLI::App &undo_command = *app.add_subcommand("undo", "Puts back what apply has replaced.");
    for (CLI::App *command : {&apply_command, &undo_command}) {
        add_file(*command);
        add_connection(*command, target);
        command->add_flag("--yes", applying.yes, "do not ask");
        command->add_flag("--show", applying.show, "only print the statements");
    }
    apply_command
        .add_option("--scope", applying.scope,
                    "system: ALTER SYSTEM, for superusers; database: ALTER DATABASE, for its owner")
        ->capture_default_str()
        ->check(CLI::IsMember({"system", "database"}));
    apply_command
        .add_option("--part", applying.part,
                    "of a measurement: profile, the costs of devices and of the executor's steps (--scope system "
                    "only); settings, PostgreSQL's, which are "
                    "for anneal --start-from rather than to be used as they are; all")
        ->capture_default_str()
        ->check(CLI::IsMember({"all", "settings", "profile"}));
    apply_command.add_option("--model", applying.model, "of a measurement: whose page costs are set, as in anneal")
        ->capture_default_str()
        ->check(CLI::IsMember({"asymmetric", "original"}));
    apply_command.add_flag("--force", applying.force, "also if the gain, or a measurement, is within the noise");
    undo_command.add_flag("--force", applying.force, "also if somebody has changed the settings since");

    try {
        app.parse(argc, argv);
        check_assignments(plan.settings, "--set");
        check_assignments(measuring.plan.settings, "--set");
        check_assignments(plan.start, "--start");
        if (anneal_command.parsed() && !annealing.resume && annealing.workload.empty())
            throw CLI::RequiredError("--workload or --resume");
    } catch (const CLI::ParseError &e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    try {
        if (anneal_command.parsed())
            return anneal(annealing, file);
        if (measure_command.parsed())
            return measure(measuring);
        if (report_command.parsed()) {
            if (const std::vector<Json> lines = Checkpoint::read(file); is_measurement(lines)) {
                if (form == "html")
                    throw std::invalid_argument("a measurement has no page: --format text, json or settings");
                std::cout << measurement_as(measurement_of(lines), form);
                return 0;
            }
            Json summary = summary_of(Checkpoint::read(file));
            if (!results.empty())
                add_results(summary, bench::read_configurations(results));
            std::cout << (form == "html"       ? report_page(summary)
                          : form == "json"     ? summary.dump(2) + "\n"
                          : form == "settings" ? report_settings(summary)
                                               : report_text(summary));
            return 0;
        }
        Checkpoint checkpoint = Checkpoint::open(file);
        target.allow_writes = true;
        Session session(target);
        if (apply_command.parsed())
            apply(session, checkpoint, applying);
        else
            undo(session, checkpoint, applying);
        return 0;
    } catch (const WorkloadError &e) {
        std::fprintf(stderr, "gpuscan-calibrate: %s\n", e.what());
        return 2;
    } catch (const RefusedError &e) {
        std::fprintf(stderr, "gpuscan-calibrate: %s\n", e.what());
        return 2;
    } catch (const std::invalid_argument &e) {
        std::fprintf(stderr, "gpuscan-calibrate: %s\n", e.what());
        return 2;
    } catch (const Interrupted &) {
        return stopped_status;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "gpuscan-calibrate: %s\n", e.what());
        return 1;
    }
}
