// Loads a benchmark's tables. Each thread has its own connection and sends binary COPY, slice by slice; then come the
// indexes, then VACUUM. With --freeze everything is one transaction, so that COPY may write tuples that are frozen and
// pages that are all-visible from the start: only one connection can see the new tables then, and the threads make the
// rows for it.
#include "loader.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "command_line.hpp"

namespace bench {
namespace {

struct Options {
    double sf = 1;
    int threads = 0;
    uint64_t seed = 0;
    std::string schema = "public";
    std::string dbname;
    bool if_missing = false;
    bool force = false;
    bool freeze = false;
    bool quiet = false;
};

std::string sf_text(double sf) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", sf);
    return text;
}

class Loader {
  public:
    Loader(const Generator &generator, Options options)
        : generator_(generator), options_(std::move(options)), tables_(generator.tables(options_.sf, options_.seed)),
          rows_(tables_.size()) {}

    void run() {
        auto main = connect();
        schema_ = main->quote_identifier(options_.schema);
        mark_ =
            std::string(generator_.title) + ", SF " + sf_text(options_.sf) + ", seed " + std::to_string(options_.seed);
        if (!may_load(*main))
            return;
        const auto start = now();
        main->exec("BEGIN");
        create_tables(*main);
        if (options_.freeze) {
            for (size_t t = tables_.size(); t-- > 0;)
                load_frozen(*main, t);
            for (const Table &t : tables_)
                make_indexes(*main, t);
            main->exec("COMMIT");
        } else {
            main->exec("COMMIT");
            main.reset();
            load();
            make_indexes();
        }
        const auto loaded = now();
        clean_up();
        main = connect();
        for (const Table &t : tables_) {
            warn_unless_all_visible(*main, t);
            comment(*main, t, mark_);
        }
        say("loaded SF %s in %.1f s (rows %.1f s with %d threads, %s %.1f s)\n", sf_text(options_.sf).c_str(),
            seconds(start, now()), seconds(start, loaded), options_.threads, options_.freeze ? "analyze" : "vacuum",
            seconds(loaded, now()));
    }

  private:
    using Clock = std::chrono::steady_clock;
    using Work = std::function<void(pg::Connection &)>;

    static Clock::time_point now() { return Clock::now(); }
    static double seconds(Clock::time_point from, Clock::time_point to) {
        return std::chrono::duration<double>(to - from).count();
    }

    template <typename... Args> void say(const char *pattern, Args... args) {
        if (options_.quiet)
            return;
        std::printf(pattern, args...);
        std::fflush(stdout);
    }
    void say_rows(size_t t) { say("%-10s %12lld rows\n", tables_[t].name, static_cast<long long>(rows_[t])); }

    std::unique_ptr<pg::Connection> connect() const {
        auto c = std::make_unique<pg::Connection>(options_.dbname, generator_.program);
        // Synchronous commits: VACUUM cannot call a page all-visible before its commits are on disk.
        c->exec("SET client_min_messages = warning; SET synchronous_commit = on; SET statement_timeout = 0;"
                "SET maintenance_work_mem = '256MB'; SET client_encoding = 'UTF8'");
        return c;
    }

    std::string qualified(const Table &t) const { return schema_ + "." + t.name; }

    void comment(pg::Connection &c, const Table &t, const std::string &text) const {
        c.exec("COMMENT ON TABLE " + qualified(t) + " IS " + c.quote_literal(text));
    }

    // Never drops a table that a program like this one did not make, unless told to.
    bool may_load(pg::Connection &c) {
        const std::string title = generator_.title;
        size_t complete = 0, present = 0;
        std::string found;
        for (const Table &t : tables_) {
            pg::Result r = c.exec("SELECT coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class "
                                  "WHERE oid = to_regclass($1)",
                                  {qualified(t)});
            if (r.rows() == 0)
                continue;
            ++present;
            const std::string text = r.get(0, 0);
            complete += text == mark_;
            if (text.rfind(title, 0) != 0 && !options_.force)
                throw pg::Error("table " + qualified(t) + " exists and was not made by " + generator_.program +
                                "; drop it, take another --schema, or let --force replace it");
            found = text;
        }
        if (!options_.if_missing || present == 0)
            return true;
        if (complete == tables_.size()) {
            say("%s is there already\n", mark_.c_str());
            return false;
        }
        if (found.rfind(title + ", loading", 0) == 0 || present < tables_.size())
            return true; // what an interrupted load has left
        throw pg::Error("schema " + options_.schema + " holds \"" + found + "\", not \"" + mark_ +
                        "\"; load it anew without --if-missing (--load of the script)");
    }

    void create_tables(pg::Connection &c) const {
        if (c.exec("SELECT 1 FROM pg_namespace WHERE nspname = $1", {options_.schema}).rows() == 0)
            c.exec("CREATE SCHEMA " + schema_);
        for (const Table &t : tables_) {
            c.exec("DROP TABLE IF EXISTS " + qualified(t));
            // Autovacuum would get in the way of the load; it is switched on again afterwards.
            c.exec("CREATE TABLE " + qualified(t) + " (" + t.definition + ") WITH (autovacuum_enabled = false)");
            comment(c, t, std::string(generator_.title) + ", loading");
        }
    }

    // Units of one slice: not so many that a thread is left with a long tail.
    int64_t slice(const Table &t) const {
        return t.slice == 0
                   ? t.units
                   : std::clamp<int64_t>(t.units / (options_.threads * 8), std::min<int64_t>(t.slice, 5000), t.slice);
    }

    // A table in the transaction that has created it: other threads make the rows that this connection sends.
    void load_frozen(pg::Connection &c, size_t index) {
        const Table &t = tables_[index];
        Pieces pieces;
        std::atomic<int64_t> next{1};
        std::atomic<int> busy{options_.threads};
        const auto make = [&] {
            try {
                for (int64_t first; (first = next.fetch_add(slice(t))) <= t.units;) {
                    CopyWriter out(t.columns,
                                   [&](const char *data, size_t size) { pieces.put(std::string(data, size)); });
                    t.write(out, first, std::min(t.units + 1, first + slice(t)));
                    rows_[index] += out.finish();
                }
            } catch (const Stopped &) {
            }
            if (--busy == 0)
                pieces.end();
        };
        std::vector<std::thread> threads;
        for (int i = 0; i < options_.threads; ++i)
            threads.emplace_back(make);
        std::string error;
        try {
            CopyStream stream(c, qualified(t), true);
            for (std::string piece; pieces.take(piece);)
                stream.send(piece.data(), piece.size());
            stream.finish();
        } catch (const std::exception &e) {
            error = e.what();
            pieces.give_up();
        }
        for (std::thread &thread : threads)
            thread.join();
        if (stop)
            throw pg::Error(error);
        say_rows(index);
    }

    void load() {
        std::vector<Work> work;
        for (size_t index = 0; index < tables_.size(); ++index) {
            const Table &t = tables_[index];
            for (int64_t first = 1; first <= t.units; first += slice(t)) {
                const int64_t last = std::min(t.units + 1, first + slice(t));
                work.push_back([this, &t, index, first, last](pg::Connection &c) {
                    CopyStream stream(c, qualified(t), false);
                    CopyWriter out(t.columns, [&](const char *data, size_t size) { stream.send(data, size); });
                    t.write(out, first, last);
                    rows_[index] += out.finish();
                    stream.finish();
                });
            }
        }
        run_all(work);
        for (size_t index = 0; index < tables_.size(); ++index)
            say_rows(index);
    }

    static std::string key_name(const Table &t) { return std::string(t.name) + "_pkey"; }

    std::string index_statement(const Table &t, const Index &index) const {
        return (index.primary ? "CREATE UNIQUE INDEX " + key_name(t) : std::string("CREATE INDEX")) + " ON " +
               qualified(t) + " (" + index.columns + ")";
    }

    void adopt_key(pg::Connection &c, const Table &t) const {
        for (const Index &index : t.indexes)
            if (index.primary)
                c.exec("ALTER TABLE " + qualified(t) + " ADD CONSTRAINT " + key_name(t) + " PRIMARY KEY USING INDEX " +
                       key_name(t));
    }

    void make_indexes(pg::Connection &c, const Table &t) const {
        for (const Index &index : t.indexes)
            c.exec(index_statement(t, index));
        adopt_key(c, t);
    }

    // All indexes at the same time. (ADD PRIMARY KEY by itself would keep other connections from the table meanwhile.)
    void make_indexes() {
        std::vector<Work> work;
        for (const Table &t : tables_)
            for (const Index &index : t.indexes)
                work.push_back([this, &t, &index](pg::Connection &c) { c.exec(index_statement(t, index)); });
        run_all(work);
        auto c = connect();
        for (const Table &t : tables_)
            adopt_key(*c, t);
    }

    void clean_up() {
        std::vector<Work> work;
        for (const Table &t : tables_)
            work.push_back([this, &t](pg::Connection &c) {
                c.exec("ALTER TABLE " + qualified(t) + " RESET (autovacuum_enabled)");
                if (options_.freeze)
                    c.exec("ANALYZE " + qualified(t));
                else
                    // (not FREEZE: that would write every page to the WAL once more)
                    c.exec(std::string("VACUUM (ANALYZE") +
                           (c.version() >= 160000 ? ", BUFFER_USAGE_LIMIT 0) " : ") ") + qualified(t));
            });
        run_all(work);
    }

    // A transaction that is older than the load, in any database of the server, holds VACUUM back.
    void warn_unless_all_visible(pg::Connection &c, const Table &t) const {
        pg::Result r = c.exec("SELECT relpages, relallvisible FROM pg_class WHERE oid = to_regclass($1) "
                              "AND relallvisible < relpages",
                              {qualified(t)});
        if (r.rows() > 0)
            std::fprintf(stderr,
                         "%s: warning: only %s of %s pages of %s are all-visible; VACUUM it again once "
                         "older transactions have ended\n",
                         generator_.program, r.get(0, 1).c_str(), r.get(0, 0).c_str(), qualified(t).c_str());
    }

    // Every piece of work once, by as many threads and connections as asked for; rethrows the first error.
    void run_all(const std::vector<Work> &work) {
        std::atomic<size_t> next{0};
        std::mutex mutex;
        std::string error;
        const auto body = [&] {
            try {
                auto c = connect();
                for (size_t i; !stop && (i = next++) < work.size();)
                    work[i](*c);
            } catch (const Stopped &) {
            } catch (const std::exception &e) {
                std::lock_guard<std::mutex> lock(mutex);
                if (!stop.exchange(true))
                    error = e.what();
            }
        };
        std::vector<std::thread> threads;
        const size_t count = std::min<size_t>(options_.threads, work.size());
        for (size_t i = 0; i < count; ++i)
            threads.emplace_back(body);
        for (std::thread &t : threads)
            t.join();
        if (stop)
            throw pg::Error(error);
    }

    const Generator &generator_;
    Options options_;
    std::vector<Table> tables_;
    std::vector<std::atomic<int64_t>> rows_; // written so far, of each table
    std::string schema_;
    std::string mark_;
};

// ---- command line -----------------------------------------------------------------------------------------

Options parse(const Generator &g, int argc, char **argv) {
    Options o;
    o.seed = g.seed;
    o.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u));
    CLI::App app(std::string("Creates and loads the tables of the ") + g.title + ".", g.program);
    prepare_command_line(app);
    app.add_option("--sf", o.sf, std::string("scale factor, fractions too (default 1: ") + g.rows_of_sf1 + ")")
        ->check(CLI::Range(0.001, 300.0));
    app.add_option("--threads", o.threads, "connections that load at the same time (default: one for each core)")
        ->check(CLI::Range(1, 256));
    app.add_option("--seed", o.seed, "another data set of the same kind")->capture_default_str();
    app.add_option("--schema", o.schema, "where the tables go; created if missing")->capture_default_str();
    app.add_option("--dbname", o.dbname, "database, connection string or URI (default: the PG* variables)");
    app.add_flag("--if-missing", o.if_missing, "do nothing when the same data set is there already");
    app.add_flag("--freeze", o.freeze,
                 "load in the transaction that creates the tables, by COPY FREEZE: no VACUUM afterwards, and under "
                 "wal_level = minimal no WAL; one connection, whose rows the threads make");
    app.add_flag("--force", o.force,
                 std::string("replace tables of these names (") + g.names + ") even if another program made them");
    app.add_flag("--quiet", o.quiet, "no progress");
    parse_command_line(app, argc, argv);
    return o;
}

} // namespace

int generate(const Generator &generator, int argc, char **argv) {
    try {
        Loader(generator, parse(generator, argc, argv)).run();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s: %s\n", generator.program, e.what());
        return 1;
    }
    return 0;
}

} // namespace bench
