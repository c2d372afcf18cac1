// What the classes of queries (classes.hpp) share: sessions, counts, the two ways in which something is asked twice, and reports.
#pragma once

#include <memory>

#include "comparison.hpp"

namespace fuzz {

// One statement of a script, and the session that runs it. In a cursor's answer the order of rows counts.
struct Step {
    int session;
    string sql;
    bool ordered = false;
};

struct World {
    string conninfo, name; // of the class
    vector<std::unique_ptr<pg::Connection>> sessions;
    uint64_t seed = 1;
    long round = 0, timeout = 20;
    bool falsified = false, verbose = false;
    bool alone = false; // nobody else asks this server: its counters are those of this program
    long queries = 0, device = 0, fallback = 0, errors = 0, plan_dependent = 0, timeouts = 0, differences = 0;

    pg::Connection &session(int i = 0); // made when it is asked for

    // Asks PostgreSQL and the device in the transaction that session i has begun. `as_well`: what PostgreSQL may take for the same query.
    void ask_in(int i, const Query &q, const string &told = "", const string &as_well = "");
    // ... in a transaction of its own, with some settings.
    void ask(const Query &q, const string &settings = "");
    // Runs a script without the device and with it, each time after `reset` by session 0, and compares each step.
    void play(const string &reset, const vector<Step> &steps);

    void run(int i, const string &sql);     // must succeed
    bool attempt(int i, const string &sql); // may fail
    void differ(const string &sql, const string &more);

  private:
    vector<Answer> transcript(const string &reset, const vector<Step> &steps, const string &offload);
};

Query query(const string &sql, bool rows = true, bool one_of_equals = true);
string joined(const vector<string> &parts, const string &gap = ", ");

} // namespace fuzz
