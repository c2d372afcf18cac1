// Answers of a server, and when two of them are the same: rows as multisets (floats up to the order of their additions), errors by
// SQLSTATE.
#pragma once

#include <map>

#include "queries.hpp"

namespace fuzz {

struct Answer {
    string sqlstate, message;
    vector<vector<string>> rows; // NULL: one byte 0
    vector<Oid> column_types;
};

// What the device's notices told: why the CPU plan took over, and why no device plan was made.
extern std::map<string, int> fallbacks, refusals;
extern bool fell_back;
void notice(void *, const char *message); // a PQnoticeProcessor

// All executions of a query, one after the other; stops at the first error.
Answer answer_of(pg::Connection &c, const Query &q, const vector<string> &arguments, const string &offload,
                 bool generic, bool cursor);
long answered_by_device(pg::Connection &c); // so far

// A command that only ends something. Its time limit is that of any statement, and where the machine is busy it may be the
// one that meets it; it then does it the second time.
void end_with(pg::Connection &c, const string &sql);

bool same(Answer &x, Answer &y); // (which are sorted)

// Of equal numerics of different scales, or characters with fewer blanks, a group shows the one that came first, in
// PostgreSQL as well.
bool shows_one_of_equals(const Query &q);
void cut_scales(Answer &answer); // (numerics as texts, too)
// Of intervals that are as long, written in different ways, a set has the one that came first.
bool shows_a_set(const Query &q);
void cut_intervals(Answer &answer);
bool mixes_characters(const Query &q);
void cut_blanks(Answer &answer);

// Errors of values, not of the server or of the query.
bool is_data_error(const Answer &answer);

// Errors depend on the plan where a query joins: a filter that raises one may or may not meet a row that a join drops. And
// where only the first groups are wanted: those behind them are computed or not.
// Is there a plan of PostgreSQL's own that gives this answer?
bool another_plan_agrees(pg::Connection &c, const Query &q, const vector<string> &arguments, bool generic,
                         Answer &answer);

bool joins(const Query &q);

void show(const Answer &answer, const Answer &other); // the rows of one that the other has not

} // namespace fuzz
