#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <sstream>

namespace fuzz {

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

static bool is_number(const string &value) {
    char *end;
    return std::isfinite(strtod(value.c_str(), &end)) && end != value.c_str() && *end == '\0';
}

// A float with all its digits, as a text. (One that is close to it may have fewer: 98 and 98.00000000000006.)
static bool is_printed_float(const string &value) {
    return value.size() >= 15 && value.find('.') != string::npos && is_number(value);
}

// Of equal numerics of different scales, or characters with fewer blanks, a group shows the one that came first, in
// PostgreSQL as well.
static bool shows_one_of_equals(const Query &q) {
    return q.has_one_of({") UNION SELECT", " EXCEPT ", " INTERSECT "}) ||
           (q.rows && q.has_one_of({" GROUP BY ", "DISTINCT", " UNION "}));
}

static void cut_scales(Answer &answer) {
    static const std::regex zeros("(\\.[0-9]*?)0+(?![0-9])"), point("\\.(?![0-9])"); // (in a row as a text, too)
    for (vector<string> &row : answer.rows)
        for (size_t c = 0; c < row.size(); ++c)
            if ((answer.column_types[c] == numeric_oid || answer.column_types[c] == text_oid) && row[c].size() < 4096)
                row[c] = std::regex_replace(std::regex_replace(row[c], zeros, "$1"), point, "");
}

static bool mixes_characters(const Query &q) {
    return q.has_one_of({" GROUP BY ", "DISTINCT", " UNION ", " EXCEPT ", " INTERSECT "}) &&
           q.has_one_of({"coalesce(", "CASE ", "greatest(", "least("});
}

// Zeros of either sign are equal.
static void cut_signs(Answer &answer) {
    static const std::regex zero("(^|[(,])-0(?=[,)]|$)"); // (in a row as a text, too)
    for (vector<string> &row : answer.rows)
        for (size_t c = 0; c < row.size(); ++c)
            if ((is_float(answer.column_types[c]) || answer.column_types[c] == text_oid) && row[c].size() < 4096)
                row[c] = std::regex_replace(row[c], zero, "$010");
}

static void cut_blanks(Answer &answer) {
    for (vector<string> &row : answer.rows)
        for (size_t c = 0; c < row.size(); ++c)
            if (answer.column_types[c] == bpchar_oid)
                row[c].erase(row[c].find_last_not_of(' ') + 1);
}

// Of intervals that are as long, written in different ways, a set has the one that came first.
static bool shows_a_set(const Query &q) {
    return q.has_one_of({"SELECT DISTINCT ", " UNION ", " EXCEPT ", " INTERSECT "});
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

static void cut_intervals(Answer &answer) {
    for (vector<string> &row : answer.rows)
        for (size_t c = 0; c < row.size(); ++c)
            if (answer.column_types[c] == interval_oid && row[c].find_first_of("0123456789") != string::npos)
                row[c] = length_of(row[c]);
}

static Answer cut(const Query &q, Answer answer) {
    if (q.one_of_equals || shows_one_of_equals(q)) {
        cut_scales(answer);
        cut_signs(answer);
    }
    if (mixes_characters(q))
        cut_blanks(answer);
    if (shows_a_set(q))
        cut_intervals(answer);
    return answer;
}

// Does the query say of varying floats which of them are the same?
static bool shows_a_set_of_sums(const Query &q) {
    return q.sql.rfind("SELECT DISTINCT ", 0) == 0 &&
           q.has_one_of({"sum(", "avg(", "stddev", "var_", "variance(", "corr(", "covar_", "regr_"});
}

static bool same_value(Oid type, const string &x, const string &y) {
    if (x == y)
        return true;
    return (is_float(type) || (type == text_oid && (is_printed_float(x) || is_printed_float(y)))) && close(x, y);
}

static const string a_float = "(a float)";

// What of a row must be the same in its partner.
static vector<string> exact_part(const vector<Oid> &types, const vector<string> &row) {
    vector<string> out;
    for (size_t c = 0; c < row.size(); ++c) {
        const bool number = is_float(types[c]) && std::isfinite(strtod(row[c].c_str(), nullptr)) && row[c][0] != '\0';
        out.push_back(number || (types[c] == text_oid && is_number(row[c])) ? a_float : row[c]);
    }
    return out;
}

static bool partners(const vector<Oid> &types, const vector<string> &x, const vector<string> &y) {
    for (size_t c = 0; c < x.size(); ++c)
        if (!same_value(types[c], x[c], y[c]))
            return false;
    return true;
}

using Indices = vector<size_t>;

// Rows of one answer in the order of a column of floats (those with the same exact part), or in any order without one.
struct Ordered {
    const Answer &answer;
    Indices rows;
    vector<double> keys; // of `rows`; empty: there is no such column

    Ordered(const Answer &answer, const Indices &unordered, size_t column) : answer(answer), rows(unordered) {
        if (column == none)
            return;
        const auto key = [&](size_t row) { return strtod(answer.rows[row][column].c_str(), nullptr); };
        std::sort(rows.begin(), rows.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
        for (size_t row : rows)
            keys.push_back(key(row));
    }

    // The positions [first, second) at which partners of a row with this key can be.
    std::pair<size_t, size_t> near(double key) const {
        if (keys.empty())
            return {0, rows.size()};
        const double apart = 2e-12 * std::fabs(key) + 1e-9;
        const auto first = std::lower_bound(keys.begin(), keys.end(), key - apart);
        return {first - keys.begin(), std::upper_bound(first, keys.end(), key + apart) - keys.begin()};
    }
    double key(size_t position) const { return keys.empty() ? 0 : keys[position]; }

    static constexpr size_t none = static_cast<size_t>(-1);
};

// Rows of two answers whose exact parts are the same: who is whose partner is a matching, which Kuhn's algorithm makes as
// large as it can be. What follows the pairs are the rows of x that have none.
struct Pairing {
    const Ordered &from, &to;
    vector<size_t> partner_of = vector<size_t>(to.rows.size(), none); // for each of `to`: one of `from`, or none
    vector<size_t> tried = vector<size_t>(to.rows.size(), none);      // ... for which row of `from`
    static constexpr size_t none = Ordered::none;

    // A path of rows, each of which takes the partner of the next one; of the last one the partner is free. (Not by recursion: a path may
    // be as long as the answer.)
    struct Step {
        size_t row, begin, count, first, next; // the next candidate is begin + (first + next) % count
        size_t candidate;
    };

    Step step_of(size_t row, size_t first) const {
        const auto [begin, end] = to.near(from.key(row));
        return {row, begin, end - begin, first, 0, none};
    }

    // The step's next candidate that nobody on this search has tried, or none.
    size_t next_candidate(Step *step, size_t searcher) {
        while (step->next < step->count) {
            const size_t k = step->begin + (step->first + step->next++) % step->count;
            if (tried[k] != searcher &&
                partners(from.answer.column_types, from.answer.rows[from.rows[step->row]], to.answer.rows[to.rows[k]]))
                return k;
        }
        return none;
    }

    bool find_partner(size_t row) {
        vector<Step> path = {step_of(row, row)};
        while (!path.empty()) {
            const size_t k = next_candidate(&path.back(), row);
            path.back().candidate = k;
            if (k == none) {
                path.pop_back();
                continue;
            }
            tried[k] = row;
            if (partner_of[k] != none) {
                path.push_back(step_of(partner_of[k], k + 1));
                continue;
            }
            for (const Step &step : path)
                partner_of[step.candidate] = step.row;
            return true;
        }
        return false;
    }

    Indices rows_without() {
        Indices out;
        for (size_t row = 0; row < from.rows.size(); ++row)
            if (!find_partner(row))
                out.push_back(from.rows[row]);
        return out;
    }
};

// In a set a row with floats may be the partner of several; as often as it is there itself (once in each execution) the other
// side has partners of it.
static Indices without_partner_in_set(const Ordered &from, const Ordered &to) {
    Indices out;
    const auto count = [&](const Ordered &in, size_t position, auto is_one) {
        const auto [begin, end] = in.near(from.key(position));
        return std::count_if(in.rows.begin() + static_cast<long>(begin), in.rows.begin() + static_cast<long>(end),
                             is_one);
    };
    for (size_t i = 0; i < from.rows.size(); ++i) {
        const vector<string> &row = from.answer.rows[from.rows[i]];
        const auto times = count(from, i, [&](size_t k) { return from.answer.rows[k] == row; });
        const auto there =
            count(to, i, [&](size_t k) { return partners(from.answer.column_types, row, to.answer.rows[k]); });
        if (there < times)
            out.push_back(from.rows[i]);
    }
    return out;
}

// The rows of x that have no partner in y.
static Indices without_partner(const Answer &x, const Answer &y, bool set) {
    std::map<vector<string>, std::pair<Indices, Indices>> alike;
    for (size_t i = 0; i < x.rows.size(); ++i)
        alike[exact_part(x.column_types, x.rows[i])].first.push_back(i);
    for (size_t i = 0; i < y.rows.size(); ++i)
        alike[exact_part(y.column_types, y.rows[i])].second.push_back(i);
    Indices out;
    for (const auto &[part, rows] : alike) {
        const auto column = std::find(part.begin(), part.end(), a_float);
        const size_t key = column == part.end() ? Ordered::none : static_cast<size_t>(column - part.begin());
        const Ordered from(x, rows.first, key), to(y, rows.second, key);
        const Indices alone =
            set && key != Ordered::none ? without_partner_in_set(from, to) : Pairing{from, to}.rows_without();
        out.insert(out.end(), alone.begin(), alone.end());
    }
    return out;
}

// The usual case, and of many rows alike the only quick one.
static bool equal_rows(const Answer &x, const Answer &y) {
    if (x.rows.size() != y.rows.size())
        return false;
    vector<const vector<string> *> a, b;
    for (size_t i = 0; i < x.rows.size(); ++i) {
        a.push_back(&x.rows[i]);
        b.push_back(&y.rows[i]);
    }
    const auto less = [](const vector<string> *p, const vector<string> *q) { return *p < *q; };
    std::sort(a.begin(), a.end(), less);
    std::sort(b.begin(), b.end(), less);
    return std::equal(a.begin(), a.end(), b.begin(),
                      [](const vector<string> *p, const vector<string> *q) { return *p == *q; });
}

static bool same_rows(const Answer &x, const Answer &y, bool set) {
    if (x.column_types == y.column_types && equal_rows(x, y))
        return true;
    return x.column_types == y.column_types && without_partner(x, y, set).empty() && without_partner(y, x, set).empty();
}

bool same(const Query &q, const Answer &x, const Answer &y) {
    if (x.sqlstate != y.sqlstate)
        return false;
    const bool set = shows_a_set_of_sums(q);
    return !x.sqlstate.empty() || same_rows(x, y, set) || same_rows(cut(q, x), cut(q, y), set);
}

bool falsify(Answer &answer) {
    if (!answer.sqlstate.empty()) {
        answer.sqlstate = chance(50) ? "" : answer.sqlstate == "22003" ? "22012" : "22003";
        return true;
    }
    if (answer.rows.empty())
        return false;
    const size_t row = static_cast<size_t>(roll(static_cast<int>(answer.rows.size())));
    if (chance(30) || answer.rows[row].empty()) {
        if (chance(50))
            answer.rows.push_back(answer.rows[row]);
        else
            answer.rows.erase(answer.rows.begin() + static_cast<long>(row));
        return true;
    }
    const size_t column = static_cast<size_t>(roll(static_cast<int>(answer.rows[row].size())));
    string &value = answer.rows[row][column];
    char *end;
    const double number = strtod(value.c_str(), &end);
    if (value[0] == '\0')
        value = "0";
    else if ((is_float(answer.column_types[column]) || is_printed_float(value)) && std::isfinite(number))
        value = std::to_string(number == 0 ? 1e-3 : number * (1 + 1e-6) + (std::fabs(number) < 1 ? 1e-3 : 0));
    else if (chance(20))
        value = string(1, '\0');
    else if (*end == '\0' && !value.empty())
        value += value.find('.') == string::npos ? ".5" : "5"; // one more digit
    else
        value = "wrong";
    return true;
}

void show(const Query &q, const Answer &answer, const Answer &other) {
    if (!answer.sqlstate.empty()) {
        printf("    ERROR %s %s\n", answer.sqlstate.c_str(), answer.message.c_str());
        return;
    }
    const Answer mine = cut(q, answer), others = cut(q, other);
    Indices alone = without_partner(mine, others, shows_a_set_of_sums(q));
    const size_t shown = std::min<size_t>(alone.size(), 4);
    for (size_t i = 0; i < shown; ++i) {
        printf("    ");
        for (const string &value : answer.rows[alone[i]])
            printf("%s | ", value == string(1, '\0') ? "NULL" : value.c_str());
        printf("\n");
    }
    printf("    (%zu of %zu rows)\n", alone.size(), answer.rows.size());
}

} // namespace fuzz
