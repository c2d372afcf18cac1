// Random queries, answered twice in one snapshot: by PostgreSQL and with gpuscan.offload = force.
//
// A seed decides everything: the tables (tables.hpp), the queries (queries.hpp, of expressions.hpp), and the writes, VACUUMs and
// DDL between them (writes.hpp). Rows are compared as multisets, errors by SQLSTATE (answers.hpp).
// Prints each difference as a script that can be fed to psql, and at the end how many queries the device answered.
// The database's schema "fuzz" is dropped and made anew. Exit status: 0 no difference, 1 differences, 2 trouble.
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>

#include "../../bench/common/command_line.hpp"
#include "comparison.hpp"
#include "writes.hpp"

using namespace fuzz;

int main(int argc, char **argv) {
    setvbuf(stdout, nullptr, _IOLBF, 0); // what was found is kept if the run is cut short
    uint64_t seed = 1;
    long queries = 1000, stop_after = 20, seconds = LONG_MAX, timeout = 20, from = 0;
    string conninfo;
    bool verbose = false, falsified = false;
    CLI::App app("Random queries, answered by PostgreSQL and with the device.", "differential");
    bench::prepare_command_line(app);
    app.add_option("--seed", seed, "decides everything");
    app.add_option("--queries", queries, "so many");
    app.add_option("--from", from,
                   "the queries before that one are drawn, and what is written between them, but not asked");
    app.add_option("--seconds", seconds, "at most");
    app.add_option("--rows", rows_share, "per cent of queries for rows");
    app.add_option("--sets", sets_share, "per cent of set operations");
    app.add_option("--timeout", timeout,
                   "seconds; a query that takes longer on either side is counted, but not compared");
    app.add_option("--stop-after", stop_after, "so many differences");
    app.add_flag("--falsify", falsified,
                 "compare PostgreSQL's answers with themselves, falsified: each must be seen to be different");
    app.add_flag("--verbose", verbose, "also print queries that raise errors, and reasons of fallbacks and refusals");
    app.add_option("conninfo", conninfo, "connection string");
    bench::parse_command_line(app, argc, argv);
    try {
        engine.seed(seed);
        pg::Connection c(conninfo, "differential");
        PQsetNoticeProcessor(c.raw(), notice, nullptr);
        c.exec("SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS gpuscan");
        make_tables(c, nullptr);
        c.exec("SET statement_timeout = '" + number(timeout) + "s'; SET extra_float_digits = 1");
        long differences = 0, device = 0, fallback = 0, cpu = 0, errors = 0, timeouts = 0, plan_dependent = 0;
        string history;
        const time_t start = time(nullptr);
        for (long i = 0; i < queries && time(nullptr) - start < seconds; ++i) {
            if (chance(12))
                PQclear(PQexec(c.raw(), (history = write_statement()).c_str())); // may fail: a value beyond its type
            if (chance(6))
                PQclear(PQexec(c.raw(), maintenance().c_str()));
            bool prepared = chance(25);
            Query q = random_query(prepared);
            vector<string> arguments;
            for (int k = 1 + roll(3); k > 0 && !q.parameters.empty(); --k) {
                string list;
                for (const auto &parameter : q.parameters)
                    list +=
                        (list.empty() ? "" : ", ") + (chance(8) ? string("NULL") : quoted(literal(parameter.first, 5)));
                arguments.push_back("(" + list + ")");
            }
            bool generic = chance(50);
            c.exec("BEGIN ISOLATION LEVEL REPEATABLE READ");
            c.exec("SET LOCAL client_min_messages = warning");
            c.exec("SELECT 1");
            string local = settings();
            if (!local.empty())
                c.exec(local);
            if (chance(5)) { // rows of the own transaction
                c.exec("SAVEPOINT own");
                pg::Result r(PQexec(c.raw(), write_statement().c_str()));
                if (*r.sqlstate() != '\0')
                    c.exec("ROLLBACK TO own");
            }
            const bool cursor = chance(5);
            if (i < from) {
                end_with(c, chance(50) ? "COMMIT" : "ROLLBACK");
                continue;
            }
            Answer plain = answer_of(c, q, arguments, "off", generic, cursor);
            if (falsified) {
                end_with(c, "ROLLBACK");
                Answer wrong = plain;
                if (plain.sqlstate == "57014" || !falsify(wrong))
                    continue;
                ++cpu;
                errors += !plain.sqlstate.empty();
                if (!same(q, plain, wrong))
                    continue;
                ++differences;
                printf("NOT SEEN (seed %llu, query %ld)\n  %s;\n", static_cast<unsigned long long>(seed), i,
                       q.sql.c_str());
                continue;
            }
            fell_back = false;
            const long before = answered_by_device(c);
            Answer forced = answer_of(c, q, arguments, "force", generic, cursor);
            const bool on_device = answered_by_device(c) > before;
            const bool timed_out = plain.sqlstate == "57014" || forced.sqlstate == "57014";
            const bool equal = !timed_out && same(q, plain, forced);
            const bool other_plan = !timed_out && !equal &&
                                    (error_depends_on_plan(q, plain, forced) ||
                                     ((!plain.sqlstate.empty() || !forced.sqlstate.empty()) &&
                                      another_plan_agrees(c, q, arguments, generic, cursor, forced)));
            string again; // does it come back, here and now, and in which plan?
            if (!timed_out && !equal && !other_plan) {
                const bool plain_again = same(q, plain, answer_of(c, q, arguments, "off", generic, cursor));
                const Answer repeated = answer_of(c, q, arguments, "force", generic, cursor);
                again = string("  asked again: PostgreSQL's answer is ") + (plain_again ? "the same" : "different") +
                        ", the device's is " +
                        (same(q, forced, repeated)  ? "the same"
                         : same(q, plain, repeated) ? "right now"
                                                    : "a third one") +
                        "\n" + explained(c, q, arguments, generic);
            }
            end_with(c, chance(50) ? "COMMIT" : "ROLLBACK");
            if (timed_out) {
                ++timeouts;
                continue;
            }
            fallback += fell_back;
            cpu += !fell_back && !on_device;
            device += !fell_back && on_device;
            plan_dependent += other_plan;
            errors += !plain.sqlstate.empty();
            if (verbose || (plain.sqlstate.compare(0, 2, "42") == 0 && plain.sqlstate != "42501"))
                printf("-- %ld %s %s\n%s\n", i, plain.sqlstate.c_str(), plain.message.c_str(), q.sql.c_str());
            if (equal || other_plan)
                continue;
            ++differences;
            printf("DIFFERENT (seed %llu, query %ld, %s%s)\n  %s\n  %s;\n", static_cast<unsigned long long>(seed), i,
                   fell_back   ? "fallback"
                   : on_device ? "device"
                               : "cpu",
                   generic ? ", generic" : "", local.c_str(), q.sql.c_str());
            for (const string &argument : arguments)
                printf("  EXECUTE %s\n", argument.c_str());
            printf("  only PostgreSQL:\n");
            show(q, plain, forced);
            printf("  only the device:\n");
            show(q, forced, plain);
            fputs(again.c_str(), stdout);
            fflush(stdout);
            if (differences >= stop_after)
                break;
        }
        printf("%ld queries: %ld by the device, %ld by a fallback, %ld on the CPU; %ld errors, %ld that depend on the "
               "plan, %ld timeouts, "
               "%ld differences\n",
               device + fallback + cpu, device, fallback, cpu, errors, plan_dependent, timeouts, differences);
        if (verbose) {
            for (const auto &reason : fallbacks)
                printf("  fallback %6d  %s\n", reason.second, reason.first.c_str());
            for (const auto &reason : refusals)
                printf("  refused  %6d  %s\n", reason.second, reason.first.c_str());
        }
        return differences ? 1 : 0;
    } catch (const std::exception &e) {
        fprintf(stderr, "differential: %s\n", e.what());
        return 2;
    }
}
