// The server, as a calibration uses it: connects, keeps others out, sets weights, asks for plans and runs queries under a limit, and
// comes back after a lost connection. Needs no rights but those that the queries need.
//
// A workload's query goes by the extended protocol, which takes one statement only, in a transaction of its own that is read only and
// rolled back. Its rows are read and thrown away as they come.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/common/pg.hpp"
#include "weights.hpp"

namespace calibrate {

struct Target {
    std::string host, port, user,
        dbname; // as psql has them: dbname may be a connection string; empty: PG* variables, service file
    bool never_password = false, ask_password = false;
    std::vector<std::string> settings; // "NAME=VALUE" for every session
    bool allow_writes = false;
    int reconnect_s = 120; // for how long a lost server is waited for
};

struct ServerError : std::runtime_error {
    ServerError(const std::string &message, std::string sqlstate, size_t position)
        : std::runtime_error(message), sqlstate(std::move(sqlstate)), position(position) {}
    std::string sqlstate;
    size_t position; // in the statement, in characters from 1; 0: none
};

// No connection, or no lock. The message says what to do.
struct SessionError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Session {
  public:
    // Connects. Throws SessionError.
    explicit Session(Target target);
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;
    ~Session();

    // Two calibrations on one server would disturb each other's times: takes an advisory lock in this database, and looks for sessions
    // like this one in others. Throws SessionError if there is another one.
    void keep_others_out();

    // What is said to the user meanwhile.
    std::function<void(const std::string &)> on_notice = [](const std::string &) {};

    int version() const { return PQserverVersion(connection_); }
    std::string place() const; // "database x on host:port", without a password

    // Statements of our own. Throw ServerError; after a lost connection they are sent once more.
    pg::Result query(const std::string &sql);
    std::string value(const std::string &sql); // the first one, or ''
    bool has_setting(const std::string &name);
    // The name of a view or function of the extension gpuscan, with its schema; '' if this database's extension has none, or there is
    // no extension.
    std::string of_extension(const std::string &name);
    std::string quote(const std::string &text) const;
    // A last statement, also after an interrupt or a lost connection, as far as that is possible.
    void clean_up(const std::string &sql) noexcept;

    void set_weights(const Model &model, const Weights &weights);
    // EXPLAIN's JSON. Throws ServerError, whose position is in `sql`.
    std::string explain(const std::string &sql, const std::string &options = "COSTS OFF");
    // A statement with parameters, and its generic plan as PostgreSQL alone makes it, with names of schemas.
    void prepare_statement(const std::string &name, const std::string &sql);
    std::string explain_generic(const std::string &name, size_t parameters);

    struct Outcome {
        enum { finished, stopped, failed } ending;
        double ms;           // if finished
        std::string message; // if failed
        std::string sqlstate;
    };
    // Runs a query for `limit_ms` at most; 0: for as long as it takes. Throws Interrupted, and SessionError if somebody cancelled it
    // or the server does not come back. A query with which the server was lost three times has failed.
    Outcome run(const std::string &sql, double limit_ms);

  private:
    struct Lost {};

    struct Holder {
        std::string database, pid;
    };

    void connect();
    void reconnect();
    void prepare();
    void lock(int patience_s);
    Holder holder();
    template <typename F> auto patiently(F f) -> decltype(f());
    pg::Result wait(double limit_ms);
    pg::Result send(const std::string &sql, bool extended, double limit_ms = 0);
    void cancel();

    Target target_;
    PGconn *connection_ = nullptr;
    std::string weights_; // the statements that set them
    bool locked_ = false;
};

} // namespace calibrate
