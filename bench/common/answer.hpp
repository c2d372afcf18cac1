// What a query has to give, whatever plan it runs by: the same rows, the same order as far as ORDER BY determines it, and under a
// LIMIT the same rows but for those that tie with the last one, which have to be rows of the query without its LIMIT.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pg.hpp"

namespace bench {

struct Query {
    std::string name;
    std::string sql; // without comments and the final semicolon

    std::vector<std::string> order_columns() const; // in ORDER BY: names, perhaps with their table's, and numbers
    std::string without_limit() const;
    int limit() const; // rows that LIMIT lets through, or -1
};

// A result in a form that compares.
struct Answer {
    std::vector<std::string> rows;  // those that the query defines, sorted
    std::vector<std::string> order; // the ORDER BY columns of all rows as they came
    std::vector<std::string> ties;  // under a LIMIT: the rows that tie with the last one, sorted
};

// Throws pg::Error if a column of ORDER BY is not in the result.
Answer answer_of(const Query &q, const pg::Result &r);

// The answer to a query, now or before; every run has to give the same.
struct Expected {
    std::optional<Answer> answer;
    std::optional<std::vector<std::string>> unlimited; // all rows without LIMIT, sorted; once they are asked for
    bool equal = true;

    // One more run's answer: the first is what is expected of the others. `run_by_postgres` runs a statement by PostgreSQL's own plan.
    void add(const Query &q, Answer a, const std::function<pg::Result(const std::string &sql)> &run_by_postgres);
};

// An answer that is kept in a file, and the time that it took.
struct StoredAnswer {
    double ms;
    Answer answer;
};

// `key` says what the answer belongs to: data and query. Throws pg::Error if the file cannot be written.
void save_answer(const std::string &path, const std::string &key, const StoredAnswer &stored);
// Nothing if there is no file. Throws pg::Error if it belongs to something else or is cut short.
std::optional<StoredAnswer> load_answer(const std::string &path, const std::string &key);

std::string lower(std::string s);
std::vector<std::string> split(const std::string &text, char at);

} // namespace bench
