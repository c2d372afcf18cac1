#include "answers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <sstream>

namespace fuzz {

std::map<string, int> fallbacks, refusals;
bool fell_back;

void notice(void *, const char *message) {
    string text = pg::trimmed(message);
    size_t at = text.find("the CPU plan is used: ");
    if (at != string::npos) {
        fell_back = true;
        ++fallbacks[text.substr(at + 22, 60)];
    } else if (text.find("gpuscan") != string::npos || text.find("device") != string::npos) {
        ++refusals[text.substr(0, 100)];
    }
}

static void take(Answer &answer, const pg::Result &r) {
    const PGresult *raw = r.raw();
    if (PQresultStatus(raw) != PGRES_TUPLES_OK && PQresultStatus(raw) != PGRES_COMMAND_OK) {
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
        answer.rows.push_back(row);
    }
}

constexpr Oid text_oid = 25, float4_oid = 700, float8_oid = 701, bpchar_oid = 1042, numeric_oid = 1700,
              interval_oid = 1186;

static bool is_float(Oid type) { return type == float4_oid || type == float8_oid; }

static bool close(const string &x, const string &y) {
    if (x == y)
        return true;
    if (x.size() < 2 && (x[0] == '\0' || y[0] == '\0'))
        return false;
    double a = strtod(x.c_str(), nullptr), b = strtod(y.c_str(), nullptr);
    if (!std::isfinite(a) || !std::isfinite(b) || (a == 0 && b == 0))
        return false; // NaN, infinities and the signs of zeros were equal as texts, or are not
    return std::fabs(a - b) <= 1e-12 * std::max(std::fabs(a), std::fabs(b)) + 1e-9;
}

// A float with all its digits, as a text.
static bool is_printed_float(const string &value) {
    char *end;
    strtod(value.c_str(), &end);
    return value.size() >= 15 && value.find('.') != string::npos && *end == '\0';
}

// Other columns first, so that nearly equal floats stand at the same place in both answers.
static void sort_rows(Answer &answer) {
    const vector<Oid> &column_types = answer.column_types;
    std::sort(answer.rows.begin(), answer.rows.end(), [&](const vector<string> &a, const vector<string> &b) {
        for (int floats = 0; floats < 2; ++floats)
            for (size_t c = 0; c < a.size(); ++c) {
                if (is_float(column_types[c]) != (floats == 1) || a[c] == b[c])
                    continue;
                return a[c] < b[c];
            }
        return false;
    });
}

bool shows_one_of_equals(const Query &q) {
    for (const char *word : {") UNION SELECT", " EXCEPT ", " INTERSECT "})
        if (q.sql.find(word) != string::npos)
            return true;
    for (const char *word : {" GROUP BY ", "DISTINCT", " UNION "})
        if (q.rows && q.sql.find(word) != string::npos)
            return true;
    return false;
}

void cut_scales(Answer &answer) {
    static const std::regex zeros("(\\.[0-9]*?)0+(?![0-9])"), point("\\.(?![0-9])"); // (in a row as a text, too)
    for (vector<string> &row : answer.rows)
        for (size_t c = 0; c < row.size(); ++c)
            if ((answer.column_types[c] == numeric_oid || answer.column_types[c] == text_oid) && row[c].size() < 4096)
                row[c] = std::regex_replace(std::regex_replace(row[c], zeros, "$1"), point, "");
}

bool mixes_characters(const Query &q) {
    bool grouped = false, mixed = false;
    for (const char *word : {" GROUP BY ", "DISTINCT", " UNION ", " EXCEPT ", " INTERSECT "})
        grouped |= q.sql.find(word) != string::npos;
    for (const char *word : {"coalesce(", "CASE ", "greatest(", "least("})
        mixed |= q.sql.find(word) != string::npos;
    return grouped && mixed;
}

void cut_blanks(Answer &answer) {
    for (vector<string> &row : answer.rows)
        for (size_t c = 0; c < row.size(); ++c)
            if (answer.column_types[c] == bpchar_oid)
                row[c].erase(row[c].find_last_not_of(' ') + 1);
}

static bool same_value(Oid type, const string &x, const string &y) {
    if (x == y)
        return true;
    return (is_float(type) || (type == text_oid && is_printed_float(x) && is_printed_float(y))) && close(x, y);
}

bool shows_a_set(const Query &q) {
    for (const char *word : {"SELECT DISTINCT ", " UNION ", " EXCEPT ", " INTERSECT "})
        if (q.sql.find(word) != string::npos)
            return true;
    return false;
}

// An interval as PostgreSQL writes it ("1 year 2 mons -3 days 04:05:06.7"), as what it is compared by.
static string length_of(const string &interval) {
    __int128 micros = 0;
    std::istringstream words(interval);
    string word, unit;
    while (words >> word) {
        const size_t colon = word.find(':');
        if (colon == string::npos) {
            words >> unit;
            const long days = unit[0] == 'y' ? 360 : unit[0] == 'm' ? 30 : 1;
            micros += static_cast<__int128>(atol(word.c_str())) * days * 86400000000;
            continue;
        }
        const size_t from = word[0] == '-' || word[0] == '+' ? 1 : 0;
        const long minutes = atol(word.c_str() + from) * 60 + atol(word.c_str() + colon + 1);
        const double seconds = strtod(word.c_str() + word.rfind(':') + 1, nullptr);
        const __int128 clock = static_cast<__int128>(minutes) * 60000000 + std::llround(seconds * 1e6);
        micros += word[0] == '-' ? -clock : clock;
    }
    return std::to_string(static_cast<long>(micros / 1000000)) + " s " +
           std::to_string(static_cast<long>(micros % 1000000));
}

void cut_intervals(Answer &answer) {
    for (vector<string> &row : answer.rows)
        for (size_t c = 0; c < row.size(); ++c)
            if (answer.column_types[c] == interval_oid && row[c].find_first_of("0123456789") != string::npos)
                row[c] = length_of(row[c]);
}

bool same(Answer &x, Answer &y) {
    if (x.sqlstate != y.sqlstate)
        return false;
    if (!x.sqlstate.empty())
        return true;
    if (x.rows.size() != y.rows.size() || x.column_types != y.column_types)
        return false;
    sort_rows(x);
    sort_rows(y);
    for (size_t i = 0; i < x.rows.size(); ++i)
        for (size_t c = 0; c < x.rows[i].size(); ++c)
            if (!same_value(x.column_types[c], x.rows[i][c], y.rows[i][c]))
                return false;
    return true;
}

long answered_by_device(pg::Connection &c) {
    return atol(c.value("SELECT fragments - fallbacks FROM gpuscan_stat").c_str());
}

bool joins(const Query &q) {
    for (const char *word : {" JOIN ", "EXISTS (", " IN (SELECT"})
        if (q.sql.find(word) != string::npos)
            return true;
    return false;
}

void end_with(pg::Connection &c, const string &sql) {
    const pg::Result first(PQexec(c.raw(), sql.c_str()));
    if (first.sqlstate() == string("57014"))
        c.exec(sql);
    else if (*first.sqlstate() != '\0')
        throw pg::Error(sql + ": " + PQerrorMessage(c.raw()));
}

Answer answer_of(pg::Connection &c, const Query &q, const vector<string> &arguments, const string &offload,
                 bool generic, bool cursor) {
    Answer answer;
    c.exec("SAVEPOINT run");
    c.exec("SET LOCAL gpuscan.offload = " + offload + "; SET LOCAL plan_cache_mode = force_" +
           (generic ? "generic" : "custom") + "_plan");
    if (offload == "force")
        c.exec("SET LOCAL client_min_messages = debug1");
    if (q.parameters.empty() && cursor) {
        take(answer, pg::Result(PQexec(c.raw(), ("DECLARE fuzzed SCROLL CURSOR FOR " + q.sql).c_str())));
        for (const char *fetch : {"FETCH ALL FROM fuzzed", "FETCH BACKWARD ALL FROM fuzzed"})
            if (answer.sqlstate.empty())
                take(answer, pg::Result(PQexec(c.raw(), fetch)));
    } else if (q.parameters.empty()) {
        take(answer, pg::Result(PQexec(c.raw(), q.sql.c_str())));
    } else {
        string list;
        for (const auto &parameter : q.parameters)
            list +=
                (list.empty() ? "" : ", ") + string(parameter.first == Bpchar ? "bpchar" : type_names[parameter.first]);
        take(answer, pg::Result(PQexec(c.raw(), ("PREPARE fuzzed (" + list + ") AS " + q.sql).c_str())));
        for (size_t i = 0; i < arguments.size() && answer.sqlstate.empty(); ++i)
            take(answer, pg::Result(PQexec(c.raw(), ("EXECUTE fuzzed" + arguments[i]).c_str())));
    }
    if (PQstatus(c.raw()) != CONNECTION_OK)
        throw pg::Error("the connection is gone: " + answer.message + "\n" + q.sql);
    end_with(c, "ROLLBACK TO run");
    if (!q.parameters.empty())
        c.exec("DEALLOCATE ALL");
    return answer;
}

bool another_plan_agrees(pg::Connection &c, const Query &q, const vector<string> &arguments, bool generic,
                         Answer &answer) {
    const char *const joins[] = {"hashjoin", "mergejoin", "nestloop"};
    constexpr int plans = 36; // the last ones with the joins in any order
    for (int plan = 0; plan < plans; ++plan) {
        string sql =
            "SAVEPOINT plan; SET LOCAL max_parallel_workers_per_gather = 0"; // (sums of floats may overflow or not)
        for (int i = 0; i < 3; ++i)
            sql += string("; SET LOCAL enable_") + joins[i] + (plan % 3 == i ? " = on" : " = off");
        sql += string("; SET LOCAL join_collapse_limit = ") + (plan / 3 % 2 ? "1" : "8");
        sql += string("; SET LOCAL enable_material = ") + (plan / 6 % 2 ? "off" : "on");
        if (plan >= 12)
            sql += "; SET LOCAL join_collapse_limit = 8; SET LOCAL geqo_threshold = 2; SET LOCAL geqo_pool_size = 2; "
                   "SET LOCAL geqo_generations = 1; SET LOCAL geqo_seed = " +
                   std::to_string(plan / static_cast<double>(plans));
        c.exec(sql);
        Answer other = answer_of(c, q, arguments, "off", generic, false);
        end_with(c, "ROLLBACK TO plan");
        if (same(other, answer))
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
    Answer other = answer_of(c, all, arguments, "off", generic, false);
    return same(other, answer);
}

bool is_data_error(const Answer &answer) { return answer.sqlstate.compare(0, 2, "22") == 0; }

void show(const Answer &answer, const Answer &other) {
    if (!answer.sqlstate.empty()) {
        printf("    ERROR %s %s\n", answer.sqlstate.c_str(), answer.message.c_str());
        return;
    }
    int shown = 0;
    for (const vector<string> &row : answer.rows) {
        if (std::find(other.rows.begin(), other.rows.end(), row) != other.rows.end() || shown++ >= 4)
            continue;
        printf("    ");
        for (const string &value : row)
            printf("%s | ", value == string(1, '\0') ? "NULL" : value.c_str());
        printf("\n");
    }
    printf("    (%zu rows)\n", answer.rows.size());
}

} // namespace fuzz
