#include "answers.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "comparison.hpp"

namespace fuzz {

std::map<string, int> fallbacks, refusals;
bool fell_back;
static vector<string> warnings;

void notice(void *, const char *message) {
    string text = pg::trimmed(message);
    size_t at = text.find("gpuscan fallback: ");
    if (at != string::npos) {
        fell_back = true;
        ++fallbacks[text.substr(at + 18, 60)];
    } else if (text.find("gpuscan") != string::npos || text.find("device") != string::npos) {
        ++refusals[text.substr(0, 100)];
    } else if (text.compare(0, 9, "WARNING: ") == 0) {
        warnings.push_back(text);
    }
}

// A few joins draw more rows than this machine's memory holds. Such a query ends as one does that takes too long.
constexpr size_t most_bytes = size_t{256} << 20;

static void take(Answer &answer, const pg::Result &r) {
    const PGresult *raw = r.raw();
    const ExecStatusType status = PQresultStatus(raw);
    if (status != PGRES_TUPLES_OK && status != PGRES_SINGLE_TUPLE && status != PGRES_COMMAND_OK) {
        answer.sqlstate = r.sqlstate();
        answer.message = pg::trimmed(PQresultErrorMessage(raw));
        if (answer.sqlstate.empty())
            answer.sqlstate = "lost";
        return;
    }
    answer.column_types.clear();
    for (int c = 0; c < r.columns(); ++c)
        answer.column_types.push_back(PQftype(raw, c));
    for (int i = 0; i < r.rows(); ++i) {
        vector<string> row;
        for (int c = 0; c < r.columns(); ++c)
            row.push_back(r.is_null(i, c) ? string(1, '\0') : r.get(i, c));
        for (const string &value : row)
            answer.bytes += sizeof(value) + value.size();
        answer.rows.push_back(std::move(row));
    }
}

static void cancel(PGconn *c) {
    std::array<char, 256> error{};
    PGcancel *request = PQgetCancel(c);
    PQcancel(request, error.data(), error.size());
    PQfreeCancel(request);
}

// The answer to a command, behind the rows that answer has; none of its own if it ends with an error. Rows are taken as
// they come: no more of them are kept than most_bytes.
static void ask(Answer &answer, pg::Connection &c, const string &sql) {
    PQsendQuery(c.raw(), sql.c_str());
    PQsetSingleRowMode(c.raw());
    const size_t before = answer.rows.size();
    bool too_long = false;
    while (PGresult *raw = PQgetResult(c.raw())) {
        const pg::Result r(raw);
        if (too_long)
            continue;
        take(answer, r);
        if ((too_long = answer.bytes > most_bytes))
            cancel(c.raw());
    }
    if (too_long) {
        answer.sqlstate = "57014";
        answer.message = "the answer is too long";
    }
    if (!answer.sqlstate.empty())
        answer.rows.resize(before);
}

Answer answer(pg::Connection &c, const string &sql) {
    Answer out;
    warnings.clear();
    ask(out, c, sql);
    out.warnings = warnings;
    if (PQstatus(c.raw()) != CONNECTION_OK)
        throw pg::Error("the connection is gone: " + out.message + "\n" + sql);
    return out;
}

long answered_by_device(pg::Connection &c) {
    return atol(c.value("SELECT fragments - fallbacks FROM gpuscan.stat").c_str());
}

void end_with(pg::Connection &c, const string &sql) {
    const pg::Result first(PQexec(c.raw(), sql.c_str()));
    if (first.sqlstate() == string("57014"))
        c.exec(sql);
    else if (*first.sqlstate() != '\0')
        throw pg::Error(sql + ": " + PQerrorMessage(c.raw()));
}

Answer answer_of(pg::Connection &c, const Query &q, const vector<string> &arguments, const string &offload,
                 bool generic, bool cursor, const string &execute) {
    Answer answer;
    c.exec("SAVEPOINT run");
    c.exec("SET LOCAL gpuscan.offload = " + offload + "; SET LOCAL plan_cache_mode = force_" +
           (generic ? "generic" : "custom") + "_plan");
    if (offload == "force")
        c.exec("SET LOCAL client_min_messages = debug2");
    if (q.parameters.empty() && cursor) {
        ask(answer, c, "DECLARE fuzzed SCROLL CURSOR FOR " + q.sql);
        for (const char *fetch : {"FETCH ALL FROM fuzzed", "FETCH BACKWARD ALL FROM fuzzed"})
            if (answer.sqlstate.empty())
                ask(answer, c, fetch);
    } else if (q.parameters.empty()) {
        ask(answer, c, q.sql);
    } else {
        string list;
        for (const auto &parameter : q.parameters)
            list +=
                (list.empty() ? "" : ", ") + string(parameter.first == Bpchar ? "bpchar" : type_names[parameter.first]);
        ask(answer, c, "PREPARE fuzzed (" + list + ") AS " + q.sql);
        for (size_t i = 0; i < arguments.size() && answer.sqlstate.empty(); ++i)
            ask(answer, c, execute + " fuzzed" + arguments[i]);
    }
    if (PQstatus(c.raw()) != CONNECTION_OK)
        throw pg::Error("the connection is gone: " + answer.message + "\n" + q.sql);
    end_with(c, "ROLLBACK TO run");
    if (!q.parameters.empty())
        c.exec("DEALLOCATE ALL");
    return answer;
}

string explained(pg::Connection &c, const Query &q, const vector<string> &arguments, bool generic) {
    Query plan = q;
    const string explain = "EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) ";
    if (q.parameters.empty())
        plan.sql = explain + q.sql;
    const Answer lines =
        answer_of(c, plan, arguments, "force", generic, false, q.parameters.empty() ? "EXECUTE" : explain + "EXECUTE");
    string text = lines.message.empty() ? "" : "    " + lines.message + "\n";
    for (const auto &row : lines.rows)
        text += "    " + row[0] + "\n";
    return text;
}

// Errors of values, not of the server or of the query.
static bool is_data_error(const Answer &answer) { return answer.sqlstate.compare(0, 2, "22") == 0; }

bool error_depends_on_plan(const Query &q, const Answer &plain, const Answer &forced) {
    const bool joins = q.has_one_of({" JOIN ", "EXISTS (", " IN (SELECT"});
    if (is_data_error(plain) && is_data_error(forced))
        return true; // which of several is met depends on the row that comes first
    if (plain.sqlstate.empty() && !forced.sqlstate.empty() && joins)
        return true; // rows that feed a device are computed even if PostgreSQL sees first that the other side is empty
    if (is_data_error(plain) == is_data_error(forced))
        return false;
    // The plan that took over from a device need not be the one that PostgreSQL would choose without it.
    return fell_back || (is_data_error(plain) && q.has_one_of({" LIMIT "}));
}

bool another_plan_agrees(pg::Connection &c, const Query &q, const vector<string> &arguments, bool generic, bool cursor,
                         const Answer &answer) {
    const char *const joins[] = {"hashjoin", "mergejoin", "nestloop"};
    constexpr int plans = 156; // the first ones with one kind of join, the others with any order of the joins
    const time_t start = time(nullptr);
    for (int plan = 0; plan < plans && time(nullptr) - start < 60; ++plan) {
        const bool any_order = plan >= 12;
        const int kinds = any_order ? 1 + plan % 7 : 1 << plan % 3;
        string sql =
            "SAVEPOINT plan; SET LOCAL max_parallel_workers_per_gather = 0"; // (sums of floats may overflow or not)
        for (int i = 0; i < 3; ++i)
            sql += string("; SET LOCAL enable_") + joins[i] + (kinds >> i & 1 ? " = on" : " = off");
        sql += string("; SET LOCAL join_collapse_limit = ") + (any_order || plan / 3 % 2 == 0 ? "8" : "1");
        sql += string("; SET LOCAL enable_material = ") + (plan / 6 % 2 ? "off" : "on");
        if (any_order)
            sql += "; SET LOCAL geqo_threshold = 2; SET LOCAL geqo_pool_size = 2; SET LOCAL geqo_generations = 1; "
                   "SET LOCAL geqo_seed = " +
                   std::to_string(plan / static_cast<double>(plans));
        // A hash join looks for a row of its outer side first only if that costs less than its inner side does. Then an empty
        // side keeps the other one's errors from being met; without costs it is the inner side that is read first.
        if (plan % 2)
            for (const char *cost :
                 {"seq_page_cost", "random_page_cost", "cpu_tuple_cost", "cpu_index_tuple_cost", "cpu_operator_cost"})
                sql += string("; SET LOCAL ") + cost + " = 0";
        c.exec(sql);
        Answer other = answer_of(c, q, arguments, "off", generic, cursor);
        end_with(c, "ROLLBACK TO plan");
        if (same(q, other, answer))
            return true;
    }
    if (q.sql.find(" GROUP BY ") == string::npos || answer.sqlstate.empty())
        return false;
    Query all = q; // and the plan that computes all groups
    const size_t limit = all.sql.rfind(" LIMIT "), first = all.sql.rfind(" FETCH FIRST ");
    if (limit != string::npos) {
        const size_t number = limit + strlen(" LIMIT ");
        all.sql.replace(number, all.sql.find_first_not_of("0123456789", number) - number, "ALL");
    } else if (first != string::npos) {
        all.sql.erase(first);
    } else {
        return false;
    }
    Answer other = answer_of(c, all, arguments, "off", generic, cursor);
    return same(q, other, answer);
}

} // namespace fuzz
