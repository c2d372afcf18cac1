#include "answer.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>

namespace bench {

std::string lower(std::string s) {
    std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
    return s;
}

std::vector<std::string> split(const std::string &text, char at) {
    std::vector<std::string> parts;
    size_t from = 0;
    for (size_t i = 0; i <= text.size(); ++i)
        if (i == text.size() || text[i] == at) {
            parts.push_back(text.substr(from, i - from));
            from = i + 1;
        }
    return parts;
}

// ---- queries ----

std::vector<std::string> Query::order_columns() const {
    const size_t at = lower(sql).rfind("order by");
    std::vector<std::string> names;
    if (at == std::string::npos)
        return names;
    for (const std::string &item : split(sql.substr(at + 8), ',')) {
        const size_t from = item.find_first_not_of(" \n\t");
        names.push_back(item.substr(from, item.find_first_of(" \n\t", from) - from));
    }
    return names;
}

int Query::limit() const {
    const size_t at = lower(sql).rfind("\nlimit ");
    return at == std::string::npos ? -1 : std::atoi(sql.c_str() + at + 7);
}

std::string Query::without_limit() const { return sql.substr(0, lower(sql).rfind("\nlimit ")); }

// ---- results ----

static void append_field(std::string &out, const pg::Result &r, int row, int column) {
    out += r.is_null(row, column) ? '\1' : '\2';
    out += r.get(row, column);
    out += '\0';
}

Answer answer_of(const Query &q, const pg::Result &r) {
    std::vector<int> order_columns;
    for (const std::string &name : q.order_columns()) {
        const int place = std::atoi(name.c_str()); // ORDER BY 1
        const int column = place > 0 ? place - 1 : PQfnumber(r.raw(), name.substr(name.find('.') + 1).c_str());
        if (column < 0 || column >= r.columns())
            throw pg::Error(q.name + ": ORDER BY " + name + " is not in the result");
        order_columns.push_back(column);
    }
    Answer a;
    for (int row = 0; row < r.rows(); ++row) {
        std::string all, key;
        for (int c = 0; c < r.columns(); ++c)
            append_field(all, r, row, c);
        for (int c : order_columns)
            append_field(key, r, row, c);
        a.rows.push_back(std::move(all));
        a.order.push_back(std::move(key));
    }
    if (r.rows() > 0 && r.rows() == q.limit())
        while (!a.rows.empty() && a.order[a.rows.size() - 1] == a.order.back()) {
            a.ties.push_back(std::move(a.rows.back()));
            a.rows.pop_back();
        }
    std::sort(a.rows.begin(), a.rows.end());
    std::sort(a.ties.begin(), a.ties.end());
    return a;
}

void Expected::add(const Query &q, Answer a, const std::function<pg::Result(const std::string &sql)> &run_by_postgres) {
    if (!answer) {
        answer = std::move(a);
        return;
    }
    if (a.rows != answer->rows || a.order != answer->order || a.ties.size() != answer->ties.size()) {
        equal = false;
        return;
    }
    if (a.ties == answer->ties)
        return;
    if (!unlimited) {
        Query all = q;
        all.sql = q.without_limit();
        unlimited = answer_of(all, run_by_postgres(all.sql)).rows;
    }
    equal = equal && std::includes(unlimited->begin(), unlimited->end(), a.ties.begin(), a.ties.end());
}

// ---- files ----

// The key, the time, and the lists of the answer; a text and a list have their length before them.
void save_answer(const std::string &path, const std::string &key, const StoredAnswer &stored) {
    std::ofstream out(path, std::ios::binary);
    const auto put = [&](const std::string &text) { out << text.size() << ' ' << text; };
    put(key);
    out << stored.ms << ' ';
    for (const std::vector<std::string> *list : {&stored.answer.rows, &stored.answer.order, &stored.answer.ties}) {
        out << list->size() << ' ';
        for (const std::string &text : *list)
            put(text);
    }
    out.close();
    if (!out)
        throw pg::Error("cannot write " + path);
}

std::optional<StoredAnswer> load_answer(const std::string &path, const std::string &key) {
    std::ifstream in(path, std::ios::binary);
    if (!in)
        return std::nullopt;
    const auto count = [&] {
        size_t n = 0;
        in >> n;
        in.get();
        return n;
    };
    const auto text = [&] {
        std::string s(count(), '\0');
        in.read(s.data(), static_cast<std::streamsize>(s.size()));
        return s;
    };
    if (text() != key)
        throw pg::Error("the answer in " + path + " belongs to other data or parameters");
    StoredAnswer stored;
    in >> stored.ms;
    for (std::vector<std::string> *list : {&stored.answer.rows, &stored.answer.order, &stored.answer.ties})
        for (size_t n = count(); n > 0 && in; --n)
            list->push_back(text());
    if (!in)
        throw pg::Error("the answer in " + path + " is cut short");
    return stored;
}

} // namespace bench
