#include "session.hpp"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>
#include <utility>

#include "interrupt.hpp"

namespace calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char name[] = "gpuscan-calibrate";
constexpr char lock_key[] = "7453887264"; // of this program, below 2^63

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// As psql asks: on the terminal, without echo.
std::string ask_for_password() {
    FILE *terminal = std::fopen("/dev/tty", "r+");
    if (!terminal)
        return "";
    termios with_echo{};
    const bool known = tcgetattr(fileno(terminal), &with_echo) == 0;
    termios silent = with_echo;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    if (known)
        tcsetattr(fileno(terminal), TCSAFLUSH, &silent);
    std::fputs("Password: ", terminal);
    std::fflush(terminal);
    std::string password;
    for (int c; (c = std::fgetc(terminal)) != EOF && c != '\n';)
        password += static_cast<char>(c);
    if (known)
        tcsetattr(fileno(terminal), TCSAFLUSH, &with_echo);
    std::fputs("\n", terminal);
    std::fclose(terminal);
    return password;
}

// The connection goes: shutdown, a crash of another session, a server that starts or stops.
bool means_lost(const std::string &sqlstate) { return sqlstate.rfind("57P0", 0) == 0; }

// Conflicts with others (a standby's recovery among them): another attempt may succeed.
bool is_transient(const std::string &sqlstate) {
    return sqlstate == "40001" || sqlstate == "40P01" || sqlstate == "55P03";
}

} // namespace

Session::Session(Target target) : target_(std::move(target)) {
    try {
        connect();
        prepare();
    } catch (const Lost &) {
        throw SessionError("the connection is lost");
    }
}

Session::~Session() { PQfinish(connection_); }

void Session::connect() {
    static std::string password; // asked for once, for every session of this program
    if (target_.ask_password && password.empty())
        password = ask_for_password();
    for (;;) {
        const std::pair<const char *, std::string> all[] = {{"host", target_.host},
                                                            {"port", target_.port},
                                                            {"user", target_.user},
                                                            {"password", password},
                                                            {"dbname", target_.dbname}};
        // (Plans are JSON, and so is the calibration's file.)
        std::vector<const char *> keys{"fallback_application_name", "client_encoding"}, values{name, "UTF8"};
        for (const auto &[key, value] : all)
            if (!value.empty()) {
                keys.push_back(key);
                values.push_back(value.c_str());
            }
        keys.push_back(nullptr);
        values.push_back(nullptr);
        PQfinish(connection_);
        connection_ = PQconnectdbParams(keys.data(), values.data(), 1);
        if (PQstatus(connection_) == CONNECTION_OK)
            return;
        if (!PQconnectionNeedsPassword(connection_) || target_.never_password || !password.empty())
            throw SessionError("cannot connect: " + pg::trimmed(PQerrorMessage(connection_)));
        password = ask_for_password();
        if (password.empty())
            throw SessionError("cannot connect: " + pg::trimmed(PQerrorMessage(connection_)));
    }
}

void Session::prepare() {
    PQsetNoticeProcessor(
        connection_, [](void *, const char *) {}, nullptr);
    const auto set = [this](const std::string &setting, const std::string &value) {
        send("SELECT pg_catalog.set_config(" + quote(setting) + ", " + quote(value) + ", false)", false);
    };
    // A server whose client has died shall not go on for long; not every platform can tell.
    try {
        set("client_connection_check_interval", "1s");
    } catch (const ServerError &) {
    }
    set("application_name", name);
    // What is calibrated with shall not count as what the server is used for. Superusers may say so.
    try {
        set("pg_stat_statements.track", "none");
    } catch (const ServerError &) {
    }
    set("statement_timeout", "0");
    set("idle_in_transaction_session_timeout", "0");
    set("plan_cache_mode", "force_custom_plan"); // functions shall not keep plans of other weights
    for (const std::string &setting : target_.settings) {
        const size_t equals = setting.find('=');
        try {
            set(setting.substr(0, equals), setting.substr(equals + 1));
        } catch (const ServerError &e) {
            throw SessionError("cannot set " + setting + ": " + e.what());
        }
    }
    if (!target_.allow_writes)
        set("default_transaction_read_only", "on");
    if (!weights_.empty())
        send(weights_, false);
}

void Session::lock(int patience_s) {
    const auto end = Clock::now() + std::chrono::seconds(patience_s);
    for (;;) {
        if (std::string(
                send("SELECT pg_catalog.pg_try_advisory_lock(" + std::string(lock_key) + ")", false).get(0, 0)) == "t")
            return;
        check_interrupt();
        if (Clock::now() >= end)
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    const Holder other = holder();
    throw SessionError("another calibration runs in this database" +
                       (other.pid.empty() ? "" : " (server process " + other.pid + ")") +
                       "; times of both would be wrong: wait for its end");
}

// Who else has such a lock, in any database.
Session::Holder Session::holder() {
    const pg::Result r =
        send("SELECT d.datname, l.pid FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_database d ON d.oid = l.database "
             "WHERE l.locktype = 'advisory' AND l.granted AND l.pid <> pg_catalog.pg_backend_pid() AND l.objsubid = 1 "
             "AND (l.classid::bigint << 32 | l.objid::bigint) = " +
                 std::string(lock_key),
             false);
    return r.rows() > 0 ? Holder{r.get(0, 0), r.get(0, 1)} : Holder{};
}

void Session::keep_others_out() {
    try {
        lock(3); // a client that was killed leaves its server process for a moment
        locked_ = true;
        if (const Holder other = holder(); !other.pid.empty())
            throw SessionError("another calibration runs in database \"" + other.database +
                               "\" of this server (server process " + other.pid +
                               "); times of both would be wrong: wait for its end");
    } catch (const Lost &) {
        throw SessionError("the connection is lost");
    }
}

void Session::reconnect() {
    on_notice("the connection is lost; trying to get it back for " + std::to_string(target_.reconnect_s) + " s");
    const auto end = Clock::now() + std::chrono::seconds(target_.reconnect_s);
    for (;;) {
        check_interrupt();
        try {
            connect();
            prepare();
            if (locked_)
                lock(30);
            on_notice("connected again");
            return;
        } catch (const Lost &) {
        } catch (const ServerError &) {
        } catch (const SessionError &e) {
            if (PQstatus(connection_) == CONNECTION_OK)
                throw;
            if (Clock::now() >= end)
                throw SessionError("the connection is lost, and the server did not come back within " +
                                   std::to_string(target_.reconnect_s) + " s: " + e.what());
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
}

template <typename F> auto Session::patiently(F f) -> decltype(f()) {
    for (int attempt = 0;; ++attempt) {
        try {
            return f();
        } catch (const Lost &) {
            if (attempt == 4)
                throw SessionError("the connection is lost again and again");
            reconnect();
        }
    }
}

void Session::cancel() {
    if (PGcancel *request = PQgetCancel(connection_)) {
        char error[256];
        PQcancel(request, error, sizeof error);
        PQfreeCancel(request);
    }
}

// The last result of what was sent; its rows are dropped when they come one by one.
pg::Result Session::wait(double limit_ms) {
    constexpr double grace_ms = 60000; // beyond a limit that the server should keep
    const auto start = Clock::now();
    pg::Result last(nullptr);
    bool cancelled = false;
    for (;;) {
        while (PQisBusy(connection_)) {
            if (interrupted() && !cancelled) {
                cancel();
                cancelled = true;
            }
            if (limit_ms > 0 && ms_since(start) > limit_ms + grace_ms)
                throw Lost{};
            pollfd waiting{PQsocket(connection_), POLLIN, 0};
            ::poll(&waiting, 1, 100);
            if (!PQconsumeInput(connection_))
                throw Lost{};
        }
        PGresult *next = PQgetResult(connection_);
        if (!next)
            break;
        if (PQresultStatus(next) == PGRES_SINGLE_TUPLE)
            PQclear(next);
        else
            last = pg::Result(next);
    }
    if (cancelled)
        throw Interrupted();
    if (PQstatus(connection_) != CONNECTION_OK || !last.raw())
        throw Lost{};
    const ExecStatusType status = PQresultStatus(last.raw());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY) {
        const std::string sqlstate = last.sqlstate();
        if (means_lost(sqlstate))
            throw Lost{};
        const char *message = PQresultErrorField(last.raw(), PG_DIAG_MESSAGE_PRIMARY);
        const char *position = PQresultErrorField(last.raw(), PG_DIAG_STATEMENT_POSITION);
        throw ServerError(message ? message : pg::trimmed(PQresultErrorMessage(last.raw())), sqlstate,
                          position ? static_cast<size_t>(std::stoul(position)) : 0);
    }
    return last;
}

pg::Result Session::send(const std::string &sql, bool extended, double limit_ms) {
    const int sent = extended ? PQsendQueryParams(connection_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0)
                              : PQsendQuery(connection_, sql.c_str());
    if (!sent)
        throw Lost{};
    return wait(limit_ms);
}

pg::Result Session::query(const std::string &sql) {
    return patiently([&] { return send(sql, false); });
}

std::string Session::value(const std::string &sql) {
    const pg::Result r = query(sql);
    return r.rows() > 0 && r.columns() > 0 ? r.get(0, 0) : std::string();
}

bool Session::has_setting(const std::string &setting) {
    return value("SELECT count(*) FROM pg_catalog.pg_settings WHERE name = " + quote(setting)) == "1";
}

std::string Session::of_extension(const std::string &name) {
    return value("SELECT count(*) FROM pg_catalog.pg_extension WHERE extname = 'gpuscan' AND (pg_catalog.to_regclass(" +
                 quote(name) + ") IS NOT NULL OR pg_catalog.to_regproc(" + quote(name) + ") IS NOT NULL)") == "1"
               ? name
               : "";
}

std::string Session::quote(const std::string &text) const {
    char *quoted = PQescapeLiteral(connection_, text.data(), text.size());
    if (!quoted)
        throw SessionError("bad text: " + pg::trimmed(PQerrorMessage(connection_)));
    std::string s = quoted;
    PQfreemem(quoted);
    return s;
}

void Session::clean_up(const std::string &sql) noexcept {
    try {
        if (PQstatus(connection_) != CONNECTION_OK || PQtransactionStatus(connection_) != PQTRANS_IDLE) {
            connect();
            PQsetNoticeProcessor(
                connection_, [](void *, const char *) {}, nullptr);
        }
        const pg::Result done(PQexec(connection_, sql.c_str()));
        if (PQresultStatus(done.raw()) != PGRES_COMMAND_OK)
            on_notice("could not clean up (" + sql + "): " + pg::trimmed(PQresultErrorMessage(done.raw())));
    } catch (const std::exception &e) {
        on_notice("could not clean up (" + sql + "): " + e.what());
    }
}

std::string Session::place() const {
    const auto text = [](const char *s) { return std::string(s ? s : ""); };
    return "database \"" + text(PQdb(connection_)) + "\" on " + text(PQhost(connection_)) + ":" +
           text(PQport(connection_)) + " as " + text(PQuser(connection_));
}

void Session::set_weights(const Model &model, const Weights &weights) {
    const std::string sql = set_statements(model, weights);
    if (sql == weights_)
        return;
    query(sql);
    weights_ = sql;
}

std::string Session::explain(const std::string &sql, const std::string &options) {
    check_interrupt();
    const std::string prefix = "EXPLAIN (FORMAT JSON, " + options + ") ";
    try {
        return patiently([&] { return send(prefix + sql, true); }).get(0, 0);
    } catch (const ServerError &e) {
        if (e.sqlstate == "08P01") // the server wants parameters, and says so in terms of the protocol
            throw ServerError("this query has parameters ($1); values are needed instead", e.sqlstate, 0);
        throw ServerError(e.what(), e.sqlstate, e.position > prefix.size() ? e.position - prefix.size() : 0);
    }
}

// (The extended protocol takes one statement only.)
void Session::prepare_statement(const std::string &statement, const std::string &sql) {
    check_interrupt();
    patiently([&] { return send("PREPARE " + statement + " AS " + sql, true); });
}

std::string Session::explain_generic(const std::string &statement, size_t parameters) {
    std::string nulls;
    for (size_t i = 0; i < parameters; ++i)
        nulls += i > 0 ? ", NULL" : "NULL";
    const auto set = [this](const char *setting, const char *value) {
        query("SELECT pg_catalog.set_config('" + std::string(setting) + "', '" + value + "', true)");
    };
    const bool devices = has_setting("gpuscan.offload");
    query("BEGIN");
    try {
        set("plan_cache_mode", "force_generic_plan");
        if (devices)
            set("gpuscan.offload", "off");
        const std::string plan = value("EXPLAIN (FORMAT JSON, COSTS OFF, VERBOSE) EXECUTE " + statement +
                                       (parameters > 0 ? "(" + nulls + ")" : ""));
        query("ROLLBACK");
        return plan;
    } catch (const ServerError &) {
        query("ROLLBACK");
        throw;
    }
}

Session::Outcome Session::run(const std::string &sql, double limit_ms) {
    constexpr int attempts = 3;
    const long limit = std::lround(std::ceil(limit_ms));
    const std::string begin = std::string("BEGIN") + (target_.allow_writes ? "" : " READ ONLY") +
                              "; SET LOCAL statement_timeout = " + std::to_string(limit);
    for (int attempt = 1;; ++attempt) {
        check_interrupt();
        try {
            send(begin, false);
            const auto start = Clock::now();
            Outcome outcome{Outcome::finished, 0, "", ""};
            try {
                if (!PQsendQueryParams(connection_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0))
                    throw Lost{};
                PQsetSingleRowMode(connection_);
                wait(limit_ms);
                outcome.ms = ms_since(start);
            } catch (const ServerError &e) {
                outcome = {Outcome::failed, ms_since(start), e.what(), e.sqlstate};
            }
            send("ROLLBACK", false);
            if (outcome.ending == Outcome::failed && outcome.sqlstate == "57014") {
                if (limit == 0 || outcome.ms < 0.9 * limit_ms)
                    throw SessionError(std::string("a query was cancelled by somebody else (") + outcome.message + ")");
                outcome = {Outcome::stopped, limit_ms, "", ""};
            }
            if (outcome.ending == Outcome::failed && is_transient(outcome.sqlstate) && attempt < attempts)
                continue;
            return outcome;
        } catch (const Lost &) {
            reconnect();
            if (attempt == attempts)
                return {Outcome::failed, 0, "the connection was lost each time it ran", ""};
        }
    }
}

} // namespace calibrate
