#include "queries.hpp"

namespace fuzz {

int rows_share = 35;
int sets_share = 5;

static Source table_source(const Table &table, const string &alias) { return {alias, table.columns}; }

// A relation of FROM: a table, or a subquery with some of its columns.
static string from_item(const string &alias, Source *source, bool small) {
    const Table &table =
        small ? pick(vector<Table>{tables[2], tables[2], tables[5], tables[6], tables[3]}) : pick(tables);
    *source = table_source(table, alias);
    if (!chance(15))
        return table.name + " " + alias;
    Scope inner;
    inner.sources.push_back(table_source(table, "q"));
    Generator g{inner};
    vector<Column> kept;
    string list;
    for (const Column &column : table.columns)
        if (column.name == "k" || chance(50)) {
            kept.push_back(column);
            list += (list.empty() ? "" : ", ") + ("q." + column.name);
        }
    source->columns = kept;
    string select = "SELECT " + list + " FROM " + table.name + " q";
    switch (roll(4)) {
    case 0:
        return "(" + select + " WHERE " + g.condition(2) + ") " + alias;
    case 1:
        return "(" + select + " WHERE " + g.condition(2) + " OFFSET 0) " + alias;
    case 2:
        return "(SELECT DISTINCT * FROM (" + select + ") x) " + alias;
    default:
        if (chance(50))
            return "(" + select + " UNION ALL " + select + " WHERE " + g.condition(1) + ") " + alias;
        return "(" + select + " WHERE " + g.condition(1) + " UNION ALL SELECT " + list + " FROM " + pick(tables).name +
               " q) " + alias;
    }
}

static string join_condition(const Source &a, const Source &b) {
    Scope left, right;
    left.sources.push_back(a);
    right.sources.push_back(b);
    Generator l{left}, r{right};
    switch (roll(10)) {
    case 9: {
        const vector<Type> floats{Float4, Float8};
        vector<string> x = l.columns(pick(floats)), y = r.columns(pick(floats));
        if (!x.empty() && !y.empty())
            return pick(x) + " = " + pick(y) + " AND " + a.alias + ".k = " + b.alias + ".k";
        break;
    }
    case 8: {
        string x = chance(50) ? l.text_column() : l.text_value(1), y = chance(50) ? r.text_column() : r.text_value(1);
        return "(" + x + ")::text COLLATE \"C\" = (" + y + ")::text COLLATE \"C\"" +
               (chance(70) ? " AND " + a.alias + ".k = " + b.alias + ".k" : "");
    }
    case 0: {
        Type type = pick(vector<Type>{Int2, Int4, Int8, Date, Numeric, Timestamp, Bool});
        vector<string> x = l.columns(type), y = r.columns(type);
        if (!x.empty() && !y.empty())
            return pick(x) + " = " + pick(y) + " AND " + a.alias + ".k = " + b.alias + ".k";
        break;
    }
    case 1:
        return a.alias + ".k + 1 = " + b.alias + ".k";
    case 2:
        return a.alias + ".k::int8 = " + b.alias + ".k - 0";
    case 3: {
        Type type = pick(vector<Type>{Int2, Int4, Int8, Date, Numeric});
        return l.expression(type, 1) + " = " + r.expression(type, 1) + " AND " + b.alias + ".k = " + a.alias + ".k";
    }
    default:
        break;
    }
    return a.alias + ".k = " + b.alias + ".k";
}

static string condition_over(const vector<Source> &sources) {
    Scope scope;
    scope.sources = sources;
    Generator g{scope};
    switch (roll(4)) {
    case 0:
        return sources[0].alias + ".k " + pick({"<>", "<", ">="}) + " " + sources[1].alias + ".k";
    case 1: {
        const Type type = pick(vector<Type>{Int2, Int4, Int8, Date, Numeric, Bool});
        const vector<string> columns = g.columns(type);
        return columns.empty() ? "true" : pick(columns) + pick({" <> ", " < ", " = "}) + pick(columns);
    }
    default:
        return g.condition(1 + roll(2));
    }
}

// No equality at all, over a source that is small.
static string pair_condition(const Source &a, const Source &b) {
    switch (roll(4)) {
    case 0:
        return "true";
    case 1:
        return a.alias + ".k BETWEEN " + b.alias + ".k - 2 AND " + b.alias + ".k + 1";
    case 2:
        return a.alias + ".k " + pick({"<", "<=", ">", "<>"}) + " " + b.alias + ".k * 3";
    default:
        return condition_over({a, b});
    }
}

// Rows that have, or have not, a partner in another table, or in several that are joined.
static string partner_exists(const Source &source) {
    static int number_of_partners = 0;
    const Table &table = chance(50) ? pick(tables) : tables[2];
    const Source partner = table_source(table, "e" + number(number_of_partners++));
    string where = join_condition(source, partner), from = " FROM " + table.name + " " + partner.alias;
    if (chance(40))
        where += " AND " + condition_over({source, partner});
    if (chance(30)) {
        const Source other = table_source(tables[2], "e" + number(number_of_partners++));
        from += (chance(70) ? " JOIN " : " LEFT JOIN ") + tables[2].name + " " + other.alias + " ON " +
                join_condition(partner, other);
        if (chance(50))
            where += " AND " + condition_over({chance(50) ? source : partner, other});
    }
    from += " WHERE ";
    if (chance(25))
        return source.alias + ".k" + (chance(85) ? " IN" : " NOT IN") + " (SELECT " + partner.alias + ".k" + from +
               condition_over({partner, partner}) + ")";
    return (chance(50) ? "EXISTS (SELECT" : "NOT EXISTS (SELECT") + from + where + ")";
}

// Rows of which nothing in another table is the same in a column or two, NULLs and all, by conditions that cannot fail.
static string nothing_equal(const Source &source) {
    static int number_of_lists = 0;
    const Table &table = pick(tables);
    const Source list = table_source(table, "l" + number(number_of_lists++));
    Scope outside, inside;
    outside.sources = {source};
    inside.sources = {list};
    Generator o{outside}, l{inside};
    string x = source.alias + ".k", y = list.alias + ".k";
    const Type type = pick(vector<Type>{Int2, Int4, Int8, Date, Numeric, Timestamp, Bool, Float8});
    const vector<string> xs = o.columns(type), ys = l.columns(type);
    const bool more = !xs.empty() && !ys.empty() && chance(50), all = chance(15);
    if (more && (all || chance(60))) {
        x = pick(xs);
        y = pick(ys);
    } else if (more) {
        x = "(" + x + ", " + pick(xs) + ")";
        y += ", " + pick(ys);
    }
    string where = " WHERE " + list.alias + ".k " + pick({"< 5", "> 0", "<> 2", "IS NOT NULL", "< 0", "IS NULL"});
    if (!ys.empty() && chance(40))
        where += " AND " + pick(ys) + " IS NOT NULL";
    if (chance(30))
        where += " AND " + list.alias + ".k = " + source.alias + ".k";
    if (chance(10) && !xs.empty() && !ys.empty())
        where += " AND " + pick(ys) + pick({" > ", " = "}) + pick(xs);
    return x + (all && x[0] != '(' ? " <> ALL (SELECT " : " NOT IN (SELECT ") + (chance(15) ? "DISTINCT " : "") + y +
           " FROM " + table.name + " " + list.alias + (chance(10) ? "" : where) + ")";
}

static string select_query(Scope &scope, bool grouped, bool one_row);

// FROM and WHERE over 1..4 relations, added to the scope.
static string from_where(Scope &scope) {
    int relations = chance(55) ? 1 : chance(60) ? 2 : 3 + roll(2);
    string from, where;
    Generator g{scope};
    for (int i = 0; i < relations; ++i) {
        Source source;
        string item = from_item("r" + std::to_string(scope.sources.size()) + (scope.outer[Int4].empty() ? "" : "i"),
                                &source, i > 1);
        if (i == 0) {
            from = item;
        } else {
            const vector<Source> before = scope.sources;
            if (chance(20)) { // the side is a join itself
                Source other;
                const string more = from_item(source.alias + "j", &other, true);
                item = "(" + item + pick({" JOIN ", " JOIN ", " LEFT JOIN ", " FULL JOIN "}) + more + " ON " +
                       join_condition(source, other) + ")";
                if (chance(50))
                    std::swap(source, other);
                scope.sources.push_back(other);
            }
            const bool pairs = i > 1 && chance(12), inner = chance(60);
            string on = pairs ? pair_condition(pick(before), source) : join_condition(pick(before), source);
            if (inner && chance(50)) {
                from = from + " CROSS JOIN " + item; // a comma would hide earlier relations from the ON of later ones
                where += (where.empty() ? "" : " AND ") + on;
            } else {
                const string kind = inner                 ? " JOIN "
                                    : chance(55)          ? " LEFT JOIN "
                                    : chance(50) || pairs ? " RIGHT JOIN "
                                                          : " FULL JOIN ";
                if (kind != " FULL JOIN " && chance(40))
                    on += " AND " + condition_over({pick(scope.sources), source});
                from = from + kind + item + " ON " + on;
            }
        }
        scope.sources.push_back(source);
    }
    if (chance(5)) // what stands beside it must not fail either
        return " FROM " + from + " WHERE " + (where.empty() ? "" : where + " AND ") +
               nothing_equal(pick(scope.sources));
    for (int i = roll(4); i > 0; --i)
        where += (where.empty() ? "" : " AND ") + g.condition(1 + roll(4));
    if (chance(25))
        where += (where.empty() ? "" : " AND ") + partner_exists(pick(scope.sources));
    if (chance(8))
        where += (where.empty() ? "" : " AND ") + partner_exists(pick(scope.sources));
    if (chance(4)) {
        const Table &table = pick(tables);
        where += (where.empty() ? "" : " AND ") +
                 ("(SELECT max(y.k) FROM " + table.name + " y) > " + pick(scope.sources).alias + ".k");
    }
    return " FROM " + from + (where.empty() ? "" : " WHERE " + where);
}

// One of two or three parts of a set operation: some columns of a table, or expressions over them of the same types.
static string set_part(Scope &scope, const vector<string> &columns, const vector<string> &expressions) {
    const Table &table = pick(tables);
    scope.sources = {table_source(table, "q")};
    Generator g{scope};
    string list;
    for (size_t i = 0; i < columns.size(); ++i)
        list += (i ? ", " : "") + (chance(80) ? "q." + columns[i] : expressions[i]);
    string from = table.name + " q";
    if (chance(15))
        from += " JOIN " + pick(tables).name + " z ON z.k = q.k";
    const string where = chance(60)   ? g.condition(1 + roll(2))
                         : chance(50) ? "q.k IS NOT NULL AND q.k > " + number(roll(9))
                                      : "";
    return string("SELECT ") + (chance(15) ? "DISTINCT " : "") + list + " FROM " + from +
           (where.empty() ? "" : " WHERE " + where);
}

static string set_operation(Scope &scope) {
    const vector<vector<const char *>> choices = {
        {"k", "q.k + 1"}, {"j", "NULL::int8"}, {"b", "NOT q.b"},  {"i2", "q.i2"}, {"t", "upper(q.t)"}, {"d", "q.d"},
        {"c", "q.c"},     {"n", "q.n"},        {"s2", "3::int2"}, {"u", "q.u"},   {"ts", "q.ts"},      {"sf", "q.sf"}};
    vector<string> columns, expressions;
    for (int i = 1 + roll(3); i > 0; --i) {
        const vector<const char *> &choice = pick(choices);
        columns.push_back(choice[0]);
        expressions.push_back(choice[1]);
        one_of_equals |= columns.back() == "n"; // its scale is each table's own
    }
    string sql = set_part(scope, columns, expressions);
    for (int i = chance(60) ? 1 : 1 + roll(4); i > 0; --i) {
        const string part = set_part(scope, columns, expressions);
        const string operation =
            pick({" UNION ", " UNION ", " UNION ALL ", " INTERSECT ", " INTERSECT ALL ", " EXCEPT ", " EXCEPT ALL "});
        sql = chance(50) ? "(" + sql + ")" + operation + part : part + operation + "(" + sql + ")";
    }
    return sql;
}

// Conditions over groups that the device process tests, or does not.
static string group_condition() {
    static const vector<string> values = {
        "count(*)",
        "sum(r0.k)",
        "avg(r0.k)",
        "min(r0.k)",
        "max(r0.k)",
        "count(r0.k)",
        "sum(r0.k::numeric(12,2) / 4)",
        "sum(r0.k::numeric(12,2) * 0.25)",
        "avg(r0.k * 0.5::float8)",
        "avg(r0.k::numeric(12,2) * 1.5)",
        "max(r0.k) - min(r0.k)",
        "sum(r0.k) % 7",
        "count(DISTINCT r0.k % 3)",
        "bit_or(r0.k)",
        "stddev(r0.k)",
        "1000 / (count(*) - 2)",
        "extract(dow FROM max((date '2020-01-01' + r0.k % 3000)::timestamptz))",
        "date '2024-01-01' - min((date '2020-01-01' + r0.k % 3000)::timestamptz)::date"};
    auto compare = [&] {
        const string left = pick(values);
        if (chance(5)) {
            string list;
            for (int i = 9 + roll(300); i > 0; --i)
                list += (list.empty() ? "" : ", ") + number(roll(3000));
            return left + pick({" IN (", " NOT IN ("}) + list + ")";
        }
        if (chance(12))
            return left + " IS" + (chance(50) ? " NOT" : "") + " NULL";
        const string right = chance(30)   ? pick(values)
                             : chance(30) ? number(roll(40)) + "." + number(roll(1000))
                                          : number(roll(2000));
        return left + pick({" > ", " < ", " >= ", " <= ", " = ", " <> ", " IS DISTINCT FROM "}) + right;
    };
    string condition = compare();
    while (chance(35))
        condition = (chance(25) ? "NOT " : "") + string("(") + condition + pick({" AND ", " OR "}) + compare() + ")";
    return condition;
}

// Has it values whose last digits depend on the order of rows?
static bool has_moments(const string &query) {
    for (const char *word : {"regr_", "corr(", "covar_", "stddev", "var_", "variance("})
        if (query.find(word) != string::npos)
            return true;
    return false;
}

// The first rows by all columns in some order: equal rows are the same row, so the answer is defined.
static string first_of(const string &query) {
    // Of a key that is a constant PostgreSQL forgets the order, although grouping sets also have NULLs there.
    if (query.find("ROLLUP (") != string::npos || query.find("CUBE (") != string::npos)
        return query;
    if (has_moments(query))
        return query;
    vector<string> keys;
    for (int i = 0; query.find(" AS o" + number(i)) != string::npos; ++i)
        keys.push_back(number(i + 1));
    for (size_t i = keys.size(); i > 1; --i)
        std::swap(keys[i - 1], keys[static_cast<size_t>(roll(static_cast<int>(i)))]);
    string order;
    for (const string &key : keys)
        order += (order.empty() ? " ORDER BY " : ", ") + key + pick({"", " DESC", " NULLS FIRST", " DESC NULLS LAST"});
    if (!order.empty() && chance(15))
        return query + order + " FETCH FIRST " + number(1 + roll(9)) + " ROWS WITH TIES";
    return query + order + " LIMIT " + number(roll(12)) + (chance(25) ? " OFFSET " + number(roll(5)) : "");
}

// Groups in an order: how many stand behind one that they should stand before, and where the NULLs are.
static string groups_in_order(const string &query) {
    if (query.find("ROLLUP (") != string::npos || query.find("CUBE (") != string::npos)
        return query;
    int columns = 0;
    while (query.find(" AS o" + number(columns)) != string::npos)
        ++columns;
    if (columns == 0)
        return query;
    const int key = roll(columns);
    const bool descending = chance(40);
    const string column = "s.o" + number(key), order = number(key + 1) + (descending ? " DESC" : "") +
                                                       pick({"", " NULLS FIRST", " NULLS LAST"}) +
                                                       (chance(40) ? ", " + number(1 + roll(columns)) : "");
    return "SELECT count(*), count(*) FILTER (WHERE NOT c " + string(descending ? "<=" : ">=") +
           " b), count(*) FILTER (WHERE (c IS NULL) <> (b IS NULL)) FROM (SELECT " + column + " AS c, lag(" + column +
           ") OVER () AS b FROM (" + query + " ORDER BY " + order + ") s) x";
}

// Rows in the order of all of their columns, and the order shown as one value. (Not by floats: zeros of either sign are equal.)
static string in_order(Scope &scope) {
    const string tail = from_where(scope);
    string list, order;
    for (int i = 1 + roll(4); i > 0;) {
        const Source &source = pick(scope.sources);
        const Column &column = pick(source.columns);
        if (column.type == Float4 || column.type == Float8)
            continue;
        --i;
        const string item = source.alias + "." + column.name;
        // (of numerics that are equal, those of a union's other part may have another scale)
        list += (list.empty() ? "" : ", ") + (column.type == Numeric ? "(" + item + ")::numeric(30,8)" : item);
        order +=
            (order.empty() ? "" : ", ") + item + pick({"", " DESC"}) + pick({"", "", " NULLS FIRST", " NULLS LAST"});
    }
    string limit = " OFFSET 0";
    if (chance(15))
        limit = " FETCH FIRST " + number(1 + roll(30)) + " ROWS WITH TIES";
    else if (chance(50))
        limit = " LIMIT " + number(roll(300)) + (chance(25) ? " OFFSET " + number(roll(60)) : "");
    return "SELECT count(*), md5(string_agg(x::text, ';')) FROM (SELECT " + list + tail + " ORDER BY " + order + limit +
           ") x";
}

static string select_query(Scope &scope, bool grouped, bool one_row) {
    string tail = from_where(scope);
    Generator g{scope};
    string list, group;
    vector<string> keys;
    if (grouped)
        for (int i = 1 + roll(3); i > 0; --i) {
            Type type = pick(vector<Type>{Bool, Int2, Int4, Int8, Numeric, Date, Timestamp, Timestamptz, Text, Bpchar});
            string key = type == Text || type == Bpchar ? (chance(50) ? g.text_column() : g.text_value(2))
                                                        : g.expression(type, 1 + roll(2));
            const char first = key.rfind("(- ", 0) == 0 ? key[3] : key[0]; // -7 would be a column's position, as 7
            if (first == '$' || (first >= '0' && first <= '9') || first == '\'' || key.rfind("NULL", 0) == 0 ||
                key == "true" || key == "false")
                key = pick(scope.sources).alias + ".k";
            if (type == Numeric) // of equal values of several scales, which one is shown depends on the plan
                key = "(" + key + ")::numeric(30,8)";
            keys.push_back(key);
            group += (group.empty() ? "" : ", ") + key;
        }
    const bool sets = !keys.empty() && chance(12);
    if (sets)
        group = pick({"ROLLUP (", "CUBE ("}) + group + ")" + (chance(20) ? ", GROUPING SETS ((), ())" : "");
    if (!keys.empty())
        group = " GROUP BY " + group;
    int column = 0;
    auto add = [&](const string &item) {
        list += (list.empty() ? "" : ", ") + item + " AS o" + std::to_string(column++);
    };
    if (!one_row) {
        for (const string &key : keys)
            if (chance(85))
                add(key);
        if (sets && chance(40))
            add("grouping(" + pick(keys) + ")");
        for (int i = keys.empty() ? 1 + roll(4) : roll(4); i > 0; --i)
            add(g.aggregate());
    }
    if (list.empty() && one_row) {
        const Type type = pick(vector<Type>{Int4, Int8, Numeric});
        one_of_equals |= type == Numeric;
        add(pick({"sum(", "max("}) + scope.sources[0].alias + ".k + " + g.expression(type, 1) + ")");
    } else if (list.empty()) {
        add("count(*)");
    }
    string having;
    if (chance(15))
        having = " HAVING " + group_condition();
    if (chance(8))
        having = " HAVING " +
                 pick({"count(*) > 1", "count(*) < 5", "min(r0.k) > 10", "sum(r0.k) IS NOT NULL", "max(r0.k) % 2 = 0"});
    if (!scope.outer[Int4].empty())
        having.clear();
    return "SELECT " + list + tail + group + having;
}

// Rows instead of groups: columns, some expressions over them.
static string select_rows(Scope &scope) {
    string tail = from_where(scope);
    Generator g{scope};
    string list;
    const int items = 1 + roll(chance(20) ? 20 : 5);
    for (int i = 0; i < items; ++i) {
        const Source &source = pick(scope.sources);
        string item = source.alias + "." + pick(source.columns).name;
        if (chance(15))
            item = g.expression(static_cast<Type>(1 + roll(Text - 1)), 2);
        else if (chance(8))
            item = "(" + g.text_of(g.text_column(), 2) + ")";
        list += (i ? ", " : "") + item + " AS o" + std::to_string(i);
    }
    if (chance(5))
        list = scope.sources[0].alias + ".*";
    else if (chance(3))
        list = "1 AS o0";
    return "SELECT " + list + tail;
}

static string exclusion() {
    return chance(25) ? pick({" EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"}) : string();
}

// Window functions and DISTINCT ON, also over groups. Rows that tie in the order of a window have the same values in all columns that are shown, so that it
// does not matter which of them comes first; groups do not tie.
static string windows_over(Scope &scope) {
    const string tail = from_where(scope);
    vector<string> columns, numbers;
    for (const Source &source : scope.sources)
        for (const Column &column : source.columns)
            if (column.type == Int2 || column.type == Int4 || column.type == Int8 || column.type == Date ||
                column.type == Timestamp || column.type == Text) {
                if (columns.size() > 4 || chance(40))
                    continue;
                columns.push_back(source.alias + "." + column.name);
                if (column.type == Int2 || column.type == Int4)
                    numbers.push_back(columns.back());
            }
    if (columns.empty())
        columns.push_back(scope.sources[0].alias + ".k");
    string list, functions;
    for (const string &column : columns)
        list += (list.empty() ? "" : ", ") + column;
    // One order for all: in two of them rows that tie would be numbered in two ways.
    string order;
    for (const string &column : columns)
        order += (order.empty() ? "" : ", ") + column + pick({"", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"});
    const string partition = chance(60) ? "PARTITION BY " + pick(columns) : "";
    string groups;
    if (chance(40)) {
        for (const string &column : columns)
            groups += (groups.empty() ? " GROUP BY " : ", ") + column;
        if (chance(30))
            groups += " HAVING count(*) > 1";
        order = pick(vector<string>{"", "", "count(*) DESC, ", "max(" + columns[0] + "), "}) + order;
        columns.push_back("count(*)");
        columns.push_back("min(" + columns[0] + ")");
        numbers = {"count(*)", numbers.empty() ? "count(*)" : "sum(" + pick(numbers) + ")"};
        list += ", " + numbers[1] + (chance(30) ? ", avg(" + scope.sources[0].alias + ".k)" : "");
    }
    if (chance(15)) {
        const string &first = columns[0];
        return "SELECT DISTINCT ON (" + first + ") " + list + tail + groups + " ORDER BY " + first +
               pick({"", " DESC", " NULLS FIRST"}) + ", " + order;
    }
    for (int i = 1 + roll(4); i > 0; --i) {
        const string &arg = pick(columns), &summed = numbers.empty() ? string("1") : pick(numbers);
        const string bound = pick({"UNBOUNDED PRECEDING", "3 PRECEDING", "CURRENT ROW", "1 FOLLOWING"});
        const string function =
            pick({"row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)", "count(*)",
                  "count(%)", "lag(%)", "lead(%, 2)", "lag(%, 0)", "first_value(%)", "last_value(%)", "nth_value(%, 2)",
                  "sum(#)", "avg(#)", "min(#)", "max(#)", "sum(# * 0.5)"});
        string call;
        for (const char c : function)
            call += c == '%' ? arg : c == '#' ? summed : string(1, c);
        if (chance(20)) {
            functions += ", " + pick({"count(*)", "sum", "min", "avg"});
            functions += (functions.back() == ')' ? "" : "(" + summed + ")") +
                         (chance(40) ? " FILTER (WHERE " + columns[0] + " IS NOT NULL)" : "") + " OVER (" + partition +
                         " ORDER BY " + summed + pick({"", " DESC", " NULLS FIRST"}) + " RANGE BETWEEN " +
                         pick({"2 PRECEDING AND 1 FOLLOWING", "UNBOUNDED PRECEDING AND 3 PRECEDING",
                               "CURRENT ROW AND 10 FOLLOWING"}) +
                         exclusion() + ") AS w" + std::to_string(i);
            continue;
        }
        functions += ", " + call + " OVER (" + partition + " ORDER BY " + order +
                     (chance(50) ? pick({" ROWS BETWEEN ", " GROUPS BETWEEN "}) + bound + " AND " +
                                       pick(bound == "1 FOLLOWING"
                                                ? vector<string>{"2 FOLLOWING", "UNBOUNDED FOLLOWING"}
                                                : vector<string>{"CURRENT ROW", "2 FOLLOWING", "UNBOUNDED FOLLOWING"}) +
                                       exclusion()
                                 : "") +
                     ") AS w" + std::to_string(i);
    }
    const string query = "SELECT " + list + functions + tail + groups;
    if (!chance(25))
        return query + (chance(10) ? " LIMIT (SELECT 1000000)" : "");
    return "SELECT count(*), sum(r) FROM (SELECT row_number() OVER (PARTITION BY " + columns[0] + " ORDER BY " + list +
           ") AS r" + tail + groups + ") s WHERE r <= " + number(roll(5));
}

// Windows of a subquery, what it computes of them, and a query around it that filters and groups the rows. (As above, rows that tie are
// alike.)
static string windows_below(Scope &scope) {
    const string tail = from_where(scope);
    vector<string> columns;
    for (const Source &source : scope.sources)
        for (const Column &column : source.columns)
            if ((column.type == Int2 || column.type == Int4) && chance(60))
                columns.push_back(source.alias + "." + column.name);
    columns.push_back(scope.sources[0].alias + ".k");
    string order;
    for (const string &column : columns)
        order += (order.empty() ? "" : ", ") + column + pick({"", "", " DESC", " NULLS FIRST"});
    const string number_of = pick(columns);
    const auto written = [&](const string &text) {
        string result;
        for (const char c : text)
            result += c == '#'   ? number_of
                      : c == '@' ? " OVER (" + string(chance(60) ? "PARTITION BY " + columns[0] : "") + " ORDER BY " +
                                       order + ")"
                                 : string(1, c);
        return result;
    };
    const string computed = written(
        pick({"# - lag(#)@", "lead(#, 2)@", "coalesce(lag(#)@, 0)", "# * 1.5 / nullif(rank()@, 3)",
              "# / (dense_rank()@ - 2)", "avg(#)@", "CASE WHEN lag(#)@ IS NULL THEN # ELSE 0 END", "sum(#)@ - #",
              "lag(#)@ > #", "round(avg(#)@, 1)", "100.0 * # / nullif(sum(#)@, 0)", "count(*)@ * 2"}));
    const string rows = "(SELECT " + columns[0] + " AS c, " + number_of + " AS n, " + computed + " AS x, " +
                        written("row_number()@") + " AS r" + tail + ") s" +
                        pick({"", "", " WHERE r <= 3", " WHERE r = 1", " WHERE x IS NOT NULL", " WHERE n > 3 AND r > 1",
                              " WHERE r % 2 = 0 OR c IS NULL"});
    switch (roll(4)) {
    case 0:
        return "SELECT c, count(*), sum(r), count(x) FROM " + rows + " GROUP BY c";
    case 1:
        return "SELECT x, count(*), sum(n) FROM " + rows + " GROUP BY x";
    case 2:
        return "SELECT count(DISTINCT x), max(r), sum(n) FILTER (WHERE x IS NULL) FROM " + rows;
    default:
        return "SELECT count(*), count(x), sum(r), min(n) FROM " + rows;
    }
}

// What may stand above rows that a device delivers. Whatever takes rows as they come is told an order.
static string above_rows(Scope &scope) {
    if (chance(15))
        return in_order(scope);
    if (chance(15))
        return windows_over(scope);
    if (chance(15))
        return windows_below(scope);
    string rows = select_rows(scope);
    switch (roll(12)) {
    case 0:
        return "SELECT * FROM (" + rows + ") s ORDER BY s::text COLLATE \"C\" LIMIT " + number(roll(9));
    case 1:
        return chance(50) ? "SELECT DISTINCT" + rows.substr(6) : "SELECT DISTINCT * FROM (" + rows + ") s";
    case 2:
        return "SELECT count(*), string_agg(s::text, ',' ORDER BY s::text COLLATE \"C\") FROM (" + rows + ") s";
    case 3:
        return "SELECT s.*, row_number() OVER (ORDER BY s::text COLLATE \"C\") FROM (" + rows + ") s";
    case 4:
        return "SELECT count(*) FROM (" + rows + " LIMIT " + number(roll(40)) +
               (chance(30) ? " OFFSET " + number(roll(10)) : "") + ") s";
    case 5:
        return "WITH w AS MATERIALIZED (" + rows + ") SELECT x.*, y.* FROM w x, w y WHERE x::text = y::text";
    case 6: {
        Scope second;
        second.parameters = scope.parameters;
        return "SELECT x.t FROM (SELECT s::text AS t FROM (" + rows + ") s) x" +
               pick({" UNION ALL ", " UNION ", " EXCEPT ", " INTERSECT ALL "}) +
               "SELECT y.t FROM (SELECT s::text AS t FROM (" + select_rows(second) + ") s) y";
    }
    case 7:
        return "SELECT s.* FROM (" + rows + " OFFSET 0) s LEFT JOIN fuzz.s z ON z.k = length(s::text)";
    default:
        return rows;
    }
}

// Groups for each row of a table `o`, by conditions on the groups or on what is grouped: rescans of which some need no other groups.
static string groups_by_row(Scope &inner, const Source &outer) {
    if (chance(40))
        for (const Column &column : outer.columns)
            inner.outer[column.type].push_back("o." + column.name);
    const string tail = from_where(inner), key = inner.sources[0].alias + ".k";
    const string having = chance(30) ? " HAVING count(*) < 9" : "";
    string where = "g.c " + string(pick({"> ", "= ", "<> "})) + "o.k % 4";
    if (chance(50))
        where = (chance(50) ? "g.m > o.k" : "g.a = o.k") + (chance(50) ? " AND " + where : "");
    return "SELECT count(*) AS n, sum(g.c * 3 + g.m) AS s FROM (SELECT " + key + " AS a, count(*) AS c, max(" + key +
           ") AS m" + tail + " GROUP BY " + key + having + ") g WHERE " + where;
}

static Query make_query(bool prepared) {
    Query q;
    Scope scope;
    if (prepared)
        scope.parameters = &q.parameters;
    if (chance(sets_share)) {
        q.sql = chance(75) ? set_operation(scope)
                           : "SELECT count(*), max(s::text COLLATE \"C\") FROM (" + set_operation(scope) + ") s";
        return q;
    }
    if (chance(rows_share)) {
        q.sql = above_rows(scope);
        q.rows = true;
        return q;
    }
    switch (roll(18)) {
    case 16: { // groups of a union
        const string part = select_rows(scope);
        q.sql = "SELECT o0::text, count(*), min(o0::text), max(o0::text COLLATE \"C\") FROM (" + part + " UNION ALL " +
                part + ") s GROUP BY o0::text";
        if (part.find(" AS o0") == string::npos)
            q.sql = "SELECT count(*) FROM (" + part + " UNION ALL " + part + ") s";
        return q;
    }
    case 12: // only the first rows of a total order
        q.sql = "SELECT * FROM (" + select_query(scope, true, false) + ") s ORDER BY s::text LIMIT " + number(roll(6));
        return q;
    case 15:
        q.sql = groups_in_order(select_query(scope, true, false));
        return q;
    case 17:
        q.sql = first_of(select_query(scope, true, false));
        return q;
    case 13: {
        Scope inner;
        inner.parameters = scope.parameters;
        string in = "SELECT r0.k" + from_where(inner) + " GROUP BY r0.k HAVING count(*) " + pick({"> 1", "= 1", "< 9"});
        q.sql = select_query(scope, chance(50), false);
        size_t at = q.sql.find(" GROUP BY ");
        string clause = (q.sql.find(" WHERE ") == string::npos ? " WHERE r0.k" : " AND r0.k") +
                        string(chance(50) ? " IN (" : " NOT IN (") + in + ")";
        if (q.sql.find(" HAVING ") != string::npos || q.sql.find("(SELECT") != string::npos)
            return q; // too hard to find the right place
        q.sql.insert(at == string::npos ? q.sql.size() : at, clause);
        return q;
    }
    case 14: {
        Scope second;
        second.parameters = scope.parameters;
        q.sql = "SELECT count(*), sum(r0.k)" + from_where(scope) + " UNION ALL SELECT count(*), max(r0.k)" +
                from_where(second);
        return q;
    }
    case 0: { // a correlated subquery: rescans with other parameters
        const Table &table = tables[chance(70) ? 2 : 5];
        Source outer = table_source(table, "o");
        Scope inner;
        inner.parameters = scope.parameters;
        if (chance(30)) {
            q.sql = "SELECT o.k, x.n, x.s FROM " + table.name + " o, LATERAL (" + groups_by_row(inner, outer) + ") x";
            return q;
        }
        for (const Column &column : outer.columns)
            inner.outer[column.type].push_back("o." + column.name);
        string sub = select_query(inner, false, true);
        q.sql = "SELECT o.k, o.i4, (" + sub + ") AS x FROM " + table.name + " o";
        return q;
    }
    case 1: // above an aggregate
        q.sql = "SELECT count(*), min(o0::text), max(o0::text) FROM (" + select_query(scope, true, false) + ") s";
        return q;
    case 2: {
        const string groups = select_query(scope, true, false);
        q.sql = "WITH w AS MATERIALIZED (" + groups + ") SELECT count(*) FROM w x, w y WHERE " +
                (has_moments(groups) ? "(x.o0 IS NULL) = (y.o0 IS NULL)" : "x.o0 = y.o0");
        return q;
    }
    case 3: {
        Scope second;
        second.parameters = scope.parameters;
        q.sql = "SELECT * FROM (SELECT count(*) AS c, max(r0.k) AS m" + from_where(scope) +
                ") x, (SELECT count(*) AS d, min(r0.k) AS e" + from_where(second) + ") y";
        return q;
    }
    case 4:
        one_of_equals = true;
        q.sql = "SELECT DISTINCT * FROM (" + select_query(scope, true, false) + ") s";
        return q;
    default:
        q.sql = select_query(scope, chance(60), false);
        return q;
    }
}

Query random_query(bool prepared) {
    one_of_equals = false;
    Query q = make_query(prepared);
    q.one_of_equals = one_of_equals;
    return q;
}

} // namespace fuzz
