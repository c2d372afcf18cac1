// Answers of a server; comparison.hpp says when two of them are the same.
#pragma once

#include <map>

#include "queries.hpp"

namespace fuzz {

struct Answer {
    string sqlstate, message;
    vector<vector<string>> rows; // NULL: one byte 0
    size_t bytes = 0;            // of the rows
    vector<Oid> column_types;
    vector<string> warnings; // that functions have sent, in order; of answer() only
};

// What the device's notices told: why the CPU plan took over, and why no device plan was made.
extern std::map<string, int> fallbacks, refusals;
extern bool fell_back;
void notice(void *, const char *message); // a PQnoticeProcessor

Answer answer(pg::Connection &c, const string &sql); // to one statement, as the session is

// All executions of a query, one after the other; stops at the first error. Its rows are those of all.
Answer answer_of(pg::Connection &c, const Query &q, const vector<string> &arguments, const string &offload,
                 bool generic, bool cursor, const string &execute = "EXECUTE");
// The plans of all executions with the device forced, and what its stages counted.
string explained(pg::Connection &c, const Query &q, const vector<string> &arguments, bool generic);
long answered_by_device(pg::Connection &c); // so far

// A command that only ends something. Its time limit is that of any statement, and where the machine is busy it may be the
// one that meets it; it then does it the second time.
void end_with(pg::Connection &c, const string &sql);

// Errors depend on the plan where a query joins: a filter that raises one may or may not meet a row that a join drops. And
// where only the first rows or groups are wanted: those behind them are computed or not. Only one of the two answers to the
// query is an error of a value, or both are: can it be told without looking for PostgreSQL's other plans?
bool error_depends_on_plan(const Query &q, const Answer &plain, const Answer &forced);

// Is there a plan of PostgreSQL's own that gives this answer?
bool another_plan_agrees(pg::Connection &c, const Query &q, const vector<string> &arguments, bool generic, bool cursor,
                         const Answer &answer);

} // namespace fuzz
