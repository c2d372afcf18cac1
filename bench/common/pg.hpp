// The little of libpq that the benchmark programs need: a connection and a result that clean up
// after themselves and throw pg::Error with the server's message.
#pragma once

#include <libpq-fe.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pg {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline std::string trimmed(const char *message) {
    std::string s = message ? message : "";
    while (!s.empty() && (s.back() == '\n' || s.back() == ' '))
        s.pop_back();
    return s;
}

class Result {
  public:
    explicit Result(PGresult *r) : r_(r) {}
    Result(Result &&other) noexcept : r_(std::exchange(other.r_, nullptr)) {}
    Result &operator=(Result &&other) noexcept {
        std::swap(r_, other.r_);
        return *this;
    }
    ~Result() { PQclear(r_); }

    PGresult *raw() const { return r_; }
    int rows() const { return PQntuples(r_); }
    int columns() const { return PQnfields(r_); }
    bool is_null(int row, int column) const { return PQgetisnull(r_, row, column) != 0; }
    std::string get(int row, int column) const { return PQgetvalue(r_, row, column); }
    const char *sqlstate() const {
        const char *s = PQresultErrorField(r_, PG_DIAG_SQLSTATE);
        return s ? s : "";
    }

  private:
    PGresult *r_;
};

class Connection {
  public:
    // `conninfo` may be empty (the PG* variables decide), a database name, a connection string or a URI.
    Connection(const std::string &conninfo, const char *application) {
        const char *keys[] = {"fallback_application_name", "dbname", nullptr};
        const char *values[] = {application, conninfo.c_str(), nullptr};
        if (conninfo.empty())
            keys[1] = nullptr;
        c_ = PQconnectdbParams(keys, values, 1);
        if (PQstatus(c_) != CONNECTION_OK) {
            const std::string message = trimmed(PQerrorMessage(c_));
            PQfinish(c_);
            throw Error("cannot connect: " + message);
        }
    }
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;
    ~Connection() { PQfinish(c_); }

    PGconn *raw() const { return c_; }
    int version() const { return PQserverVersion(c_); }

    // Runs `sql`; throws unless it succeeded.  Several statements give the result of the last.
    Result exec(const std::string &sql) {
        Result r(PQexec(c_, sql.c_str()));
        check(r, sql);
        return r;
    }

    Result exec(const std::string &sql, std::initializer_list<std::string> parameters) {
        const char *values[8] = {};
        int n = 0;
        for (const std::string &p : parameters)
            values[n++] = p.c_str();
        Result r(PQexecParams(c_, sql.c_str(), n, nullptr, values, nullptr, nullptr, 0));
        check(r, sql);
        return r;
    }

    void prepare(const char *name, const std::string &sql) {
        check(Result(PQprepare(c_, name, sql.c_str(), 0, nullptr)), sql);
    }

    // A prepared statement.
    Result execute(const char *name, const std::vector<std::string> &parameters) {
        const char *values[16];
        int n = 0;
        for (const std::string &p : parameters)
            values[n++] = p.c_str();
        Result r(PQexecPrepared(c_, name, n, values, nullptr, nullptr, 0));
        check(r, name);
        return r;
    }

    std::string value(const std::string &sql) {
        Result r = exec(sql);
        return r.rows() > 0 && r.columns() > 0 ? r.get(0, 0) : std::string();
    }

    std::string quote_identifier(const std::string &name) {
        char *quoted = PQescapeIdentifier(c_, name.data(), name.size());
        if (!quoted)
            throw Error("bad name '" + name + "': " + trimmed(PQerrorMessage(c_)));
        std::string s = quoted;
        PQfreemem(quoted);
        return s;
    }

    std::string quote_literal(const std::string &text) {
        char *quoted = PQescapeLiteral(c_, text.data(), text.size());
        if (!quoted)
            throw Error("bad string '" + text + "': " + trimmed(PQerrorMessage(c_)));
        std::string s = quoted;
        PQfreemem(quoted);
        return s;
    }

  private:
    void check(const Result &r, const std::string &sql) {
        const ExecStatusType status = PQresultStatus(r.raw());
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_COPY_IN)
            throw Error(trimmed(PQerrorMessage(c_)) +
                        "\n  in: " + (sql.size() > 300 ? sql.substr(0, 300) + "..." : sql));
    }

    PGconn *c_ = nullptr;
};

} // namespace pg
