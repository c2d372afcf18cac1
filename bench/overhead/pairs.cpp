// Compares two servers in slices of a fraction of a second, which alternate: first one, second, second, first, and the other way
// round in the next four. Four slices give one ratio of what a transaction takes; whatever drifts or disturbs for longer than
// that (other programs, clock speeds) meets both servers. What is told of a measurement is the median of its ratios.
//
// What differs from one start of a server to the next (where its memory lies) is not seen here, it is the same in all slices: who
// wants to see through that starts the servers anew and runs this again (bench/overhead.sh).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../common/command_line.hpp"
#include "../common/pg.hpp"
#include "../common/sample.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    std::string conninfo[2]; // without, with
    int fours = 5, clients = 2;
    double slice_ms = 100;
    std::vector<std::string> measures;
};

struct Spent {
    double elapsed_us = 0, processor_us = 0; // of all backends
    long transactions = 0;

    Spent &operator+=(const Spent &other) {
        elapsed_us += other.elapsed_us;
        processor_us += other.processor_us;
        transactions += other.transactions;
        return *this;
    }
    double each() const { return elapsed_us / static_cast<double>(transactions); }
    double processor_each() const { return processor_us / static_cast<double>(transactions); }
};

double since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// One session; what it does again and again is a transaction.
class Session {
  public:
    Session(const std::string &conninfo, unsigned seed) : connection_(conninfo, "overhead-pairs"), random_(seed) {
        pid_ = PQbackendPID(connection_.raw());
    }

    void prepare_select() {
        accounts_ = std::strtol(connection_.value("SELECT max(aid) FROM pgbench_accounts").c_str(), nullptr, 10);
        if (accounts_ <= 0)
            throw pg::Error("pgbench_accounts is empty");
        PQclear(PQprepare(connection_.raw(), "s", "SELECT abalance FROM pgbench_accounts WHERE aid = $1;", 1, nullptr));
    }

    void select(bool prepared) {
        random_ = random_ * 6364136223846793005u + 1442695040888963407u;
        const std::string aid = std::to_string((random_ >> 33) % static_cast<uint64_t>(accounts_) + 1);
        const char *const values[] = {aid.c_str()};
        pg::Result result(prepared
                              ? PQexecPrepared(connection_.raw(), "s", 1, values, nullptr, nullptr, 0)
                              : PQexec(connection_.raw(),
                                       ("SELECT abalance FROM pgbench_accounts WHERE aid = " + aid + ";").c_str()));
        if (PQresultStatus(result.raw()) != PGRES_TUPLES_OK || result.rows() != 1)
            throw pg::Error(pg::trimmed(PQerrorMessage(connection_.raw())) + " (select by key)");
    }

    void plan(const std::string &query) { connection_.exec("EXPLAIN (SUMMARY off) " + query); }

    // Processor time of the backend so far; 0 where it cannot be known.
    double processor_us() const {
        std::ifstream file("/proc/" + std::to_string(pid_) + "/schedstat");
        double ns = 0;
        file >> ns;
        return ns / 1000;
    }

  private:
    pg::Connection connection_;
    int pid_;
    long accounts_ = 0;
    uint64_t random_;
};

using Sessions = std::vector<std::unique_ptr<Session>>;

// All sessions at once, each in a thread, until the slice is over.
Spent run_slice(Sessions &sessions, double slice_ms, const std::function<void(Session &)> &transaction) {
    std::atomic<long> done{0};
    std::vector<std::exception_ptr> failures(sessions.size());
    Spent spent;
    for (const auto &session : sessions)
        spent.processor_us -= session->processor_us();
    const Clock::time_point start = Clock::now();
    auto work = [&](size_t i) {
        try {
            long mine = 0;
            while (since(start) < slice_ms * 1e3) {
                transaction(*sessions[i]);
                ++mine;
            }
            done += mine;
        } catch (...) {
            failures[i] = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    for (size_t i = 1; i < sessions.size(); ++i)
        threads.emplace_back(work, i);
    work(0);
    for (std::thread &thread : threads)
        thread.join();
    spent.elapsed_us = since(start);
    for (const std::exception_ptr &failure : failures)
        if (failure)
            std::rethrow_exception(failure);
    for (const auto &session : sessions)
        spent.processor_us += session->processor_us();
    spent.transactions = done;
    return spent;
}

void measure(const Options &options, const std::string &name, int clients, const std::function<void(Session &)> &begin,
             const std::function<void(Session &)> &transaction) {
    Sessions sessions[2];
    for (int client = 0; client < clients; ++client)
        for (int which = 0; which < 2; ++which) {
            sessions[which].push_back(
                std::make_unique<Session>(options.conninfo[which], static_cast<unsigned>(client + 1)));
            begin(*sessions[which].back());
        }
    for (int which = 0; which < 2; ++which) // caches of the sessions, sizes of their memory
        run_slice(sessions[which], std::max(options.slice_ms, 200.0), transaction);

    std::vector<double> each[2], elapsed, processor;
    for (int four = 0; four < options.fours; ++four) {
        Spent spent[2];
        for (int slice = 0; slice < 4; ++slice) {
            const int which = (slice == 1 || slice == 2) != (four % 2 == 1);
            spent[which] += run_slice(sessions[which], options.slice_ms, transaction);
        }
        for (int which = 0; which < 2; ++which)
            each[which].push_back(spent[which].each());
        elapsed.push_back(spent[1].each() / spent[0].each());
        processor.push_back(spent[0].processor_us > 0 ? spent[1].processor_each() / spent[0].processor_each() : 0);
    }
    std::printf("%s %d %.2f %.2f %.6f %.6f\n", name.c_str(), options.fours, bench::median(each[0]),
                bench::median(each[1]), bench::median(elapsed), bench::median(processor));
    std::fflush(stdout);
}

Options parse(int argc, char **argv) {
    Options o;
    CLI::App app(
        "Compares two servers in slices that alternate. Prints a line for each measure: name, ratios, time of one "
        "transaction without and with in microseconds (medians), elapsed time with/without, processor time of the "
        "backends "
        "with/without (medians of the ratios; 0: unknown, as the server is on another machine).",
        "overhead-pairs");
    bench::prepare_command_line(app);
    app.add_option("--without", o.conninfo[0], "connection string of the one server")->required();
    app.add_option("--with", o.conninfo[1], "and of the other one")->required();
    app.add_option("--fours", o.fours, "ratios of each measurement, each of four slices")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--slice", o.slice_ms, "length of a slice, ms")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--clients", o.clients, "sessions of each server that select at the same time")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("measure", o.measures,
                   "simple or prepared: pgbench's select of an account by its key, in that protocol (pgbench -i must "
                   "have filled the "
                   "database); or NAME=QUERY, which is planned and not run")
        ->required();
    bench::parse_command_line(app, argc, argv);
    return o;
}

void run(const Options &options) {
    for (const std::string &word : options.measures) {
        const size_t sign = word.find('=');
        if (sign != std::string::npos) {
            const std::string query = word.substr(sign + 1);
            measure(
                options, word.substr(0, sign), 1, [](Session &) {},
                [&query](Session &session) { session.plan(query); });
        } else if (word == "simple" || word == "prepared") {
            const bool prepared = word == "prepared";
            measure(
                options, word, options.clients, [](Session &session) { session.prepare_select(); },
                [prepared](Session &session) { session.select(prepared); });
        } else {
            throw std::runtime_error("unknown measurement " + word + "; see --help");
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    try {
        run(parse(argc, argv));
    } catch (const std::exception &e) {
        std::fprintf(stderr, "overhead-pairs: %s\n", e.what());
        return 2;
    }
}
