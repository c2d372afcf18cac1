// Random queries, answered twice in one snapshot: by PostgreSQL and with gpuscan.offload = force.
//
// A seed decides everything: the tables (all supported types, many NULLs, edge values, text in three collations, a
// column added later, a dropped one, tables that are temporary, unlogged or empty, tables with partitions and children),
// the queries, and the writes, VACUUMs and DDL between them. Rows are compared as multisets (floats up to the order of their additions), errors by
// SQLSTATE.
// Prints each difference as a script that can be fed to psql, and at the end how many queries the device answered.
//
// Usage: differential [--seed N] [--queries M] [--seconds S] [--rows PER_CENT] [--sets PER_CENT]
//                     [--timeout SECONDS] [--stop-after DIFFERENCES] [--verbose] [CONNINFO]
// A query that takes longer than the timeout (default 20 s) on either side is counted, but not compared.
// The database's schema "fuzz" is dropped and made anew. Exit status: 0 no difference, 1 differences, 2 trouble.
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../../bench/common/pg.hpp"

namespace {

using std::string;
using std::vector;

std::mt19937_64 engine;

int rows_share = 35; // per cent of the queries that are none of groups
int sets_share = 5;  // ... and of those that are set operations
bool one_of_equals;  // the query shows one of several equal numerics, whose scales may differ

int roll(int n) { return static_cast<int>(engine() % static_cast<uint64_t>(n)); }
bool chance(int percent) { return roll(100) < percent; }
template <class T> T pick(const vector<T> &from) {
    return from[static_cast<size_t>(roll(static_cast<int>(from.size())))];
}
string pick(std::initializer_list<const char *> from) { return *(from.begin() + roll(static_cast<int>(from.size()))); }
string number(int n) { return std::to_string(n); }

// ---- types and values ----

enum Type { Bool, Int2, Int4, Int8, Float4, Float8, Numeric, Date, Timestamp, Timestamptz, Text, Bpchar, types };

const char *const type_names[types] = {"bool",    "int2", "int4",      "int8",        "float4", "float8",
                                       "numeric", "date", "timestamp", "timestamptz", "text",   "char(5)"};

// A literal without its type; `edge` per cent of them are at the type's limits.
string literal(Type type, int edge) {
    bool limit = chance(edge);
    switch (type) {
    case Bool:
        return pick({"true", "false"});
    case Int2:
        return limit ? pick({"-32768", "32767", "-1", "0", "181", "182"}) : number(roll(12) - 3);
    case Int4:
        return limit ? pick({"-2147483648", "2147483647", "-1", "0", "46341", "32768", "-32769"})
                     : number(roll(60) - 10);
    case Int8:
        return limit ? pick({"-9223372036854775808", "9223372036854775807", "2147483648", "-2147483649", "3037000500",
                             "0"})
                     : number(roll(60) - 10);
    case Float4:
        return limit ? pick({"NaN", "Infinity", "-Infinity", "-0", "3.4e38", "1e-45", "1.1754944e-38"})
                     : number(roll(64) - 20) + pick({"", ".5", ".25"});
    case Float8:
        return limit ? pick({"NaN", "Infinity", "-Infinity", "-0", "1.7e308", "5e-324", "1e141", "9007199254740993"})
                     : number(roll(64) - 20) + pick({"", ".5", ".25"});
    case Numeric:
        return limit ? pick({"0", "0.00", "-0.01", "99999999.99", "-99999999.99", "0.005", "1.005", "1.0050",
                             "12345678901234.5", "NaN", "1e20", "0.000000000001"})
                     : number(roll(40) - 10) + pick({"", ".5", ".50", ".25", ".01", ".125"});
    case Date:
        return limit ? pick({"infinity", "-infinity", "4713-01-01 BC", "5874897-12-31", "2000-01-01", "294276-12-31"})
                     : "2024-0" + number(1 + roll(3)) + "-" + number(10 + roll(15));
    case Timestamp:
    case Timestamptz:
        return limit ? pick({"infinity", "-infinity", "4713-01-01 00:00:00 BC", "294276-12-31 23:59:59.999999",
                             "2000-01-01"})
                     : "2024-01-" + number(10 + roll(15)) + pick({"", " 12:00:00", " 23:59:59.999999"});
    case Text:
        return limit ? pick({"", " ", "a ", "%", "_", "\\\\", "\xc3\x84pfel", "\xc3\xa4pfel",
                             "stra\xc3\x9f"
                             "e",
                             "\xe2\x82\xac"})
                     : pick({"a", "b", "ab", "abc", "B", "A", "Abc", "foo", "bar", "10", "9", "a-b", "xyz"});
    default:
        return limit ? pick({"", " ", "a", "a    ", "\xc3\x84"})
                     : pick({"a", "b", "ab", "abc", "B", "abcde", "10", "9"});
    }
}

string quoted(const string &text) {
    string out = "'";
    for (char c : text)
        out += c == '\'' ? "''" : string(1, c);
    return out + "'";
}

string constant(Type type, int edge = 12) {
    if (chance(5))
        return string("NULL::") + type_names[type];
    string value = literal(type, edge);
    if ((type == Int4 || type == Numeric) && chance(50) && value[0] != '-' && value[0] != 'N')
        return value;
    return quoted(value) + "::" + (type == Bpchar && chance(50) ? "bpchar" : type_names[type]);
}

// ---- tables ----

struct Column {
    string name;
    Type type;
    string declared;
    int edge; // per cent of limit values
    int null;
    int domain; // 0: literal(); else integers below it, for keys of joins
};

struct Table {
    string name;
    int rows;
    bool writable;
    vector<Column> columns;
};

vector<Table> tables;

vector<Column> all_columns() {
    return {
        {"k", Int4, "int4 NOT NULL", 0, 0, 120},
        {"j", Int8, "int8", 0, 10, 90},
        {"b", Bool, "bool", 0, 20, 0},
        {"i2", Int2, "int2", 4, 15, 0},
        {"i4", Int4, "int4", 3, 15, 0},
        {"t", Text, "text", 10, 15, 0},
        {"i8", Int8, "int8", 3, 15, 0},
        {"f4", Float4, "float4", 6, 15, 0},
        {"c", Bpchar, "char(5)", 10, 15, 0},
        {"f8", Float8, "float8", 6, 15, 0},
        {"n", Numeric, "numeric(10,2)", 0, 15, 0},
        {"m", Numeric, "numeric(24,6)", 0, 15, 0},
        {"n0", Numeric, "numeric(5,0)", 0, 15, 0},
        {"d", Date, "date", 4, 15, 0},
        {"v", Text, "varchar(10) COLLATE \"en-x-icu\"", 10, 15, 0},
        {"ts", Timestamp, "timestamp", 4, 15, 0},
        {"tz", Timestamptz, "timestamptz", 4, 15, 0},
        {"s2", Int2, "int2", 0, 10, 0},
        {"s4", Int4, "fuzz.small", 0, 10, 0},
        {"s8", Int8, "int8 NOT NULL", 0, 0, 0},
        {"sf", Float8, "float8", 0, 10, 0},
        {"sd", Date, "date NOT NULL", 0, 0, 0},
        {"u", Text, "text COLLATE \"C\"", 0, 10, 0},
        {"dn", Numeric, "fuzz.price", 0, 10, 0},
        {"dt", Text, "fuzz.word", 0, 10, 0},
    };
}

string row_value(const Column &column) {
    if (chance(column.null))
        return "NULL";
    if (column.domain > 0)
        return number(roll(column.domain));
    string value = literal(column.type, column.edge);
    if (column.type == Numeric && column.declared == "numeric(24,6)" && chance(5))
        value = pick({"123456789012345678.123456", "-123456789012345678.123456", "999999999999999999"});
    return quoted(value);
}

string insert_rows(const Table &table, int rows) {
    string names, sql;
    for (const Column &column : table.columns)
        names += (names.empty() ? "" : ", ") + column.name;
    sql = "INSERT INTO " + table.name + " (" + names + ") VALUES ";
    for (int i = 0; i < rows; ++i) {
        string values;
        for (const Column &column : table.columns)
            values += (values.empty() ? "" : ", ") + row_value(column);
        sql += (i ? ", (" : "(") + values + ")";
    }
    return sql;
}

// The definitions of a table's columns, with one to be dropped.
string definitions(const vector<Column> &columns, const char *gone) {
    string out;
    for (size_t i = 0; i < columns.size(); ++i) {
        if (i == 2)
            out += string(", ") + gone + " int4";
        out += (i ? ", " : "") + columns[i].name + " " + columns[i].declared;
    }
    return out;
}

// What follows the creation of a parent. One of the parts has the columns in an order of its own, and another dropped one.
vector<string> make_parts(const Table &table, const string &kind) {
    const string &name = table.name, part = "CREATE TABLE " + name;
    vector<Column> columns = table.columns;
    columns.push_back({"gone", Int4, "int4", 0, 0, 0});
    std::shuffle(columns.begin(), columns.end(), engine);
    vector<string> out = {part + "_2 (" + definitions(columns, "gone_too") + ")",
                          "ALTER TABLE " + name + "_2 DROP COLUMN gone_too"};
    if (kind == "RANGE (k)") {
        out.push_back(part + "_1 PARTITION OF " + name + " FOR VALUES FROM (MINVALUE) TO (30)");
        out.push_back("ALTER TABLE " + name + " ATTACH PARTITION " + name + "_2 FOR VALUES FROM (30) TO (60)");
        out.push_back(part + "_3 PARTITION OF " + name + " DEFAULT PARTITION BY HASH (s8)");
        out.push_back(part + "_30 PARTITION OF " + name + "_3 FOR VALUES WITH (MODULUS 2, REMAINDER 0)");
        out.push_back(part + "_31 PARTITION OF " + name + "_3 FOR VALUES WITH (MODULUS 2, REMAINDER 1)");
    } else if (kind == "LIST (b)") {
        out.push_back(part + "_1 PARTITION OF " + name + " FOR VALUES IN (true, NULL)");
        out.push_back("ALTER TABLE " + name + " ATTACH PARTITION " + name + "_2 FOR VALUES IN (false)");
    } else {
        out.push_back("ALTER TABLE " + name + "_2 INHERIT " + name);
        out.push_back(part + "_1 (own text) INHERITS (" + name + ")");
        out.push_back(part + "_10 () INHERITS (" + name + "_1)");
    }
    return out;
}

void make_tables(pg::Connection &c, FILE *script) {
    auto run = [&](const string &sql) {
        c.exec(sql);
        if (script)
            fprintf(script, "%s;\n", sql.c_str());
    };
    run("DROP SCHEMA IF EXISTS fuzz CASCADE");
    run("CREATE SCHEMA fuzz");
    // User functions, one of which fails.
    run("CREATE FUNCTION fuzz.loud(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN upper($1) || $1; "
        "END'");
    run("CREATE FUNCTION fuzz.odd(text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN length($1) % 2 = 1; "
        "END'");
    run("CREATE FUNCTION fuzz.size(text) RETURNS int STABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN octet_length($1); "
        "END'");
    run("CREATE FUNCTION fuzz.picky(text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS "
        "'BEGIN IF $1 = ''ab'' THEN RAISE ''picky''; END IF; RETURN $1 < ''b''; END'");
    run("CREATE DOMAIN fuzz.small AS int4 CHECK (VALUE IS NULL OR VALUE < 1000000)");
    run("CREATE DOMAIN fuzz.price AS numeric(8,2)");
    run("CREATE DOMAIN fuzz.word AS varchar(12) COLLATE \"C\"");
    struct Plan {
        const char *name, *kind;
        int rows;
        bool clean; // no limit values: expressions rarely fail
        const char *parts;
    };
    const Plan plans[] = {{"fuzz.a", "TABLE", 900, true, ""},
                          {"fuzz.e", "TABLE", 500, false, "LIST (b)"},
                          {"fuzz.s", "TABLE", 60, true, ""},
                          {"fuzz.z", "TABLE", 0, true, ""},
                          {"fuzz.big", "TABLE", 4000, true, "RANGE (k)"},
                          {"fuzz.heirs", "TABLE", 300, true, "INHERITS"},
                          {"fuzz.one", "TABLE", 1, false, ""},
                          {"fuzz.unlogged", "UNLOGGED TABLE", 600, false, ""},
                          {"pg_temp.tmp", "TEMP TABLE", 80, true, ""}};
    for (const Plan &plan : plans) {
        Table table{plan.name, plan.rows, true, all_columns()};
        if (plan.clean)
            for (Column &column : table.columns)
                column.edge = column.type == Text || column.type == Bpchar ? column.edge : 0;
        if (plan.rows % 100 == 0)
            std::shuffle(table.columns.begin(), table.columns.end(), engine);
        const string parts = plan.parts;
        const bool inherits = parts == "INHERITS";
        run(string("CREATE ") + plan.kind + " " + table.name + " (" + definitions(table.columns, "gone") + ")" +
            (parts.empty() || inherits ? "" : " PARTITION BY " + parts));
        if (!parts.empty())
            for (const string &statement : make_parts(table, parts))
                run(statement);
        for (int left = plan.rows; left > 0; left -= 200)
            run(insert_rows(table, std::min(left, 200)));
        run("ALTER TABLE " + table.name + " DROP COLUMN gone");
        run("ALTER TABLE " + table.name +
            " ADD COLUMN late numeric(6,2) DEFAULT 7.50, ADD COLUMN lt text DEFAULT 'late'");
        table.columns.push_back({"late", Numeric, "numeric(6,2)", 0, 20, 0});
        table.columns.push_back({"lt", Text, "text", 0, 20, 0});
        if (plan.rows > 0)
            run(insert_rows(table, 1 + plan.rows / 20));
        tables.push_back(table);
        for (const char *heir : {"_1", "_2", "_10"})
            if (inherits) {
                table.name = plan.name + string(heir);
                run(insert_rows(table, 60));
                tables.push_back(table);
            }
    }
    run("CREATE INDEX ON fuzz.a (k)");
    run("ANALYZE");
}

// ---- expressions ----

struct Source {
    string alias;
    vector<Column> columns;
};

struct Scope {
    vector<Source> sources;
    vector<std::pair<Type, string>> *parameters = nullptr; // of a prepared statement: type and first value
    vector<string> outer[types];                           // columns of an outer query
};

struct Generator {
    Scope &scope;

    // The columns of a type, as alias.name.
    vector<string> columns(Type type) const {
        vector<string> out;
        for (const Source &source : scope.sources)
            for (const Column &column : source.columns)
                if (column.type == type)
                    out.push_back(source.alias + "." + column.name);
        return out;
    }

    string leaf(Type type) {
        vector<string> names = columns(type);
        if (!scope.outer[type].empty() && chance(15))
            return pick(scope.outer[type]);
        if (!names.empty() && chance(78))
            return pick(names);
        if (scope.parameters && chance(50)) {
            scope.parameters->push_back({type, literal(type, 5)});
            return "$" + std::to_string(scope.parameters->size());
        }
        return constant(type, 6);
    }

    string text_of(const string &column, int depth) {
        if (depth <= 0 || chance(45))
            return column;
        string inner = text_of(column, depth - 1);
        switch (roll(19)) {
        case 18:
            return "fuzz.loud((" + inner + ")::text)";
        case 14:
            return "replace(" + inner + ", 'a', " + quoted(pick({"", "e", "aa"})) + ")";
        case 15:
            return "reverse(" + inner + ")";
        case 16:
            return "split_part(" + inner + ", '-', " + number(1 + roll(3)) + ")";
        case 17:
            return "translate(" + inner + ", 'ab', 'b')";
        case 0:
            return "upper(" + inner + ")";
        case 1:
            return "lower(" + inner + ")";
        case 2:
            return "substr(" + inner + ", " + number(roll(6) - 2) + ")";
        case 3:
            return "substring(" + inner + ", " + number(roll(6) - 2) + ", " + number(roll(4)) + ")";
        case 4:
            return "left(" + inner + ", " + number(roll(6) - 3) + ")";
        case 5:
            return "right(" + inner + ", " + number(roll(6) - 3) + ")";
        case 6:
            return "rtrim(" + inner + ")";
        case 7:
            return inner + " || 'x'";
        case 8:
            return "'a' || " + inner;
        case 9:
            return "coalesce(" + inner + ", 'ab')";
        case 10:
            return "nullif(" + inner + ", 'a')";
        case 11:
            return "CASE WHEN " + inner + " LIKE 'a%' THEN " + inner + " ELSE 'b' END";
        case 12:
            return "(" + inner + ")::text";
        default:
            return "initcap(" + inner + ")";
        }
    }

    string text_column() {
        vector<string> names = columns(Text), padded = columns(Bpchar);
        names.insert(names.end(), padded.begin(), padded.end());
        return names.empty() ? "'abc'::text" : pick(names);
    }

    // A text that may come from several columns or from none.
    string text_value(int depth) {
        auto one = [&] { return "((" + text_of(text_column(), 1) + ")::text COLLATE \"C\")"; };
        if (depth <= 0 || chance(50))
            return one();
        switch (roll(5)) {
        case 0:
            return "coalesce(" + text_value(depth - 1) + ", " + text_value(depth - 1) + ")";
        case 1:
            return "nullif(" + text_value(depth - 1) + ", " + text_value(depth - 1) + ")";
        case 2:
            return "(CASE WHEN " + condition(1) + " THEN " + text_value(depth - 1) +
                   (chance(70) ? " ELSE " + text_value(depth - 1) : "") + " END)";
        case 3:
            return "(CASE WHEN " + condition(1) + " THEN 'a' WHEN " + condition(1) + " THEN 'xyz' ELSE 'ab' END)";
        default:
            return "(" + quoted(literal(Text, 10)) + "::text)";
        }
    }

    string text_condition() {
        if (chance(25))
            return text_value(2) + pick({" = ", " = ", " <> ", " IS DISTINCT FROM ", " IS NOT DISTINCT FROM "}) +
                   text_value(2);
        if (chance(10))
            return text_value(2) + pick({" IN ", " NOT IN "}) + "('a', 'ab', " + quoted(literal(Text, 10)) + ")";
        string x = "(" + text_of(text_column(), 2) + ")";
        string value = quoted(literal(Text, 15));
        if (!scope.outer[Text].empty() && chance(40)) {
            value = pick(scope.outer[Text]);
        } else if (scope.parameters && chance(30)) {
            scope.parameters->push_back({Text, literal(Text, 10)});
            value = "$" + std::to_string(scope.parameters->size());
        }
        switch (roll(13)) {
        case 10:
        case 11:
            return "fuzz.odd((" + x + ")::text)";
        case 12:
            return chance(80) ? "fuzz.size((" + x + ")::text) > 2" : "fuzz.picky((" + x + ")::text)";
        case 0:
        case 1:
        case 2:
            return x + " " + pick({"=", "<>", "<", "<=", ">", ">="}) + " " + value;
        case 3:
            return x + pick({" LIKE ", " NOT LIKE ", " ILIKE "}) +
                   quoted(pick({"a%", "%b%", "_", "%", "", "a\\%", "%a_c", "\\\\%"}));
        case 4:
            return x + pick({" IN ", " NOT IN "}) + "('a', " + value + pick({", 'ab')", ", NULL)", ")"});
        case 5:
            return x + pick({" IS NULL", " IS NOT NULL"});
        case 6:
            return x + pick({" ~ 'a'", " !~ '^a.*b'", " ~* 'AB|x'", " IS DISTINCT FROM 'a'", " IS DISTINCT FROM NULL"});
        case 7:
            return x + " COLLATE " + pick({"\"C\"", "\"en-x-icu\""}) + pick({" < ", " >= "}) + value;
        case 8:
            return "starts_with(" + x + "::text, 'a')";
        default:
            return x + " BETWEEN 'a' AND " + value;
        }
    }

    Type comparable() {
        static const vector<Type> choice = {Int2,    Int4,    Int8, Int4,      Int8,        Float4, Float8,
                                            Numeric, Numeric, Date, Timestamp, Timestamptz, Bool};
        return pick(choice);
    }
    Type number_type() {
        static const vector<Type> choice = {Int2, Int4, Int8, Float8, Numeric};
        return pick(choice);
    }

    string condition(int depth) {
        if (depth <= 0 || chance(8)) {
            vector<string> names = columns(Bool);
            return names.empty() || chance(10) ? pick({"true", "false", "NULL::bool"}) : pick(names);
        }
        Type type = comparable();
        auto x = [&] { return expression(type, depth - 1); };
        switch (roll(28)) {
        case 24: // of the same moment both are equal, however they are written
            return "(" + span(depth - 1) + pick({" = ", " <> ", " < ", " <= ", " > ", " >= "}) + span(depth - 1) + ")";
        case 25: {
            string list;
            type = pick(vector<Type>{Int2, Int4, Int8, Numeric, Date, Timestamp});
            for (int i = 9 + roll(300); i > 0; --i)
                list += (list.empty() ? "" : ", ") + constant(type);
            return "(" + x() + pick({" IN (", " NOT IN ("}) + list + "))";
        }
        case 26:
            return "(" + expression(Timestamptz, depth - 1) + "::date" + pick({" = ", " < ", " >= "}) +
                   expression(Date, depth - 1) + ")";
        case 27:
            return "(" + expression(Timestamptz, depth - 1) + pick({"::timestamp", " AT TIME ZONE 'Europe/Berlin'"}) +
                   pick({" = ", " < ", " >= "}) + expression(Timestamp, depth - 1) + ")";
        case 22:
            return "(" + expression(Date, depth - 1) + pick({" = ", " <> ", " < ", " <= ", " > ", " >= "}) +
                   expression(Timestamp, depth - 1) + ")";
        case 23:
            return "(" + expression(Timestamp, depth - 1) + pick({" = ", " <> ", " < ", " <= ", " > ", " >= "}) +
                   expression(Date, depth - 1) + ")";
        case 0:
        case 1:
            return "(" + condition(depth - 1) + " AND " + condition(depth - 1) + ")";
        case 2:
        case 3:
            return "(" + condition(depth - 1) + " OR " + condition(depth - 1) + ")";
        case 4:
            return "(NOT " + condition(depth - 1) + ")";
        case 5:
            return "(" + x() + pick({" IS NULL", " IS NOT NULL"}) + ")";
        case 6:
            return "(" + condition(depth - 1) +
                   pick({" IS TRUE", " IS NOT TRUE", " IS FALSE", " IS NOT FALSE", " IS UNKNOWN", " IS NOT UNKNOWN"}) +
                   ")";
        case 7: {
            string list = constant(type);
            for (int i = roll(5); i > 0; --i)
                list += ", " + constant(type);
            return "(" + x() + pick({" IN (", " NOT IN ("}) + list + "))";
        }
        case 8:
            return "(" + x() + pick({" BETWEEN ", " NOT BETWEEN "}) + leaf(type) + " AND " + leaf(type) + ")";
        case 9:
            return "(" + x() + pick({" IS DISTINCT FROM ", " IS NOT DISTINCT FROM "}) + x() + ")";
        case 10:
            return "(CASE WHEN " + condition(depth - 1) + " THEN " + condition(depth - 1) + " ELSE " +
                   condition(depth - 1) + " END)";
        case 11:
            return "coalesce(" + condition(depth - 1) + ", " + condition(depth - 1) + ")";
        case 12:
        case 13:
        case 14:
            return "(" + text_condition() + ")";
        case 15: { // numbers of different types
            Type other = number_type();
            if (type == Bool || type >= Date)
                type = Int4;
            return "(" + expression(type, depth - 1) + pick({" = ", " <> ", " < ", " >= "}) +
                   expression(other, depth - 1) + ")";
        }
        case 16:
            return "(" + x() + pick({" = ANY ", " <> ALL ", " < ANY ", " >= ALL "}) + "('{}'::" + type_names[type] +
                   "[]))";
        default:
            return "(" + x() + " " + pick({"=", "<>", "<", "<=", ">", ">="}) + " " + x() + ")";
        }
    }

    string expression(Type type, int depth) {
        if (type == Bool)
            return condition(depth);
        if (depth <= 0 || chance(35))
            return leaf(type);
        auto same = [&] { return expression(type, depth - 1); };
        switch (roll(13)) {
        case 12:
            return string(chance(50) ? "greatest(" : "least(") + same() + ", " + same() +
                   (chance(30) ? ", " + leaf(type) : "") + ")";
        case 0:
            return "coalesce(" + same() + ", " + same() + ")";
        case 1:
            return "(CASE WHEN " + condition(depth - 1) + " THEN " + same() + (chance(70) ? " ELSE " + same() : "") +
                   " END)";
        case 2:
            return "nullif(" + same() + ", " + same() + ")";
        case 3:
            return "(CASE " + expression(Int4, 1) + " WHEN 1 THEN " + same() + " WHEN " + constant(Int4) + " THEN " +
                   leaf(type) + " END)";
        default:
            break;
        }
        auto arithmetic = [&](const string &operators) {
            string op(1, operators[static_cast<size_t>(roll(static_cast<int>(operators.size())))]);
            return "(" + same() + " " + op + " " + same() + ")";
        };
        switch (type) {
        case Int2:
            return chance(50) ? arithmetic("+-*/%") : chance(30) ? "(- " + same() + ")" : "(" + leaf(Int4) + ")::int2";
        case Int4:
            switch (roll(10)) {
            case 8:
                return "abs(" + same() + ")";
            case 9:
                return "(" + expression(Numeric, depth - 1) + ")::int4";
            case 0:
                return "(" + leaf(Int2) + " " + pick({"+", "-", "*", "/"}) + " " + same() + ")";
            case 1:
                return (chance(70) ? "length((" : "fuzz.size((") + text_of(text_column(), 1) + ")::text)";
            case 2:
                return "(" + leaf(Date) + " - " + leaf(Date) + ")";
            case 3:
                return "(" + condition(depth - 1) + ")::int4";
            case 4:
                return "(" + leaf(pick(vector<Type>{Int8, Float8, Float4, Int2})) + ")::int4";
            case 5:
                return chance(50) ? "(- " + same() + ")" : "strpos(" + text_of(text_column(), 1) + ", 'b')";
            case 6:
                return chance(20) ? "(~ " + same() + ")"
                                  : "(" + same() + pick({" << ", " >> "}) + number(roll(34)) + ")";
            default:
                return arithmetic("+-*/%&|#");
            }
        case Int8:
            switch (roll(6)) {
            case 0:
                return "(" + expression(Int4, depth - 1) + " " + pick({"+", "-", "*", "/"}) + " " + same() + ")";
            case 1:
                return "(" + same() + " " + pick({"+", "-", "*", "/"}) + " " + leaf(Int2) + ")";
            case 2:
                return "(" + leaf(pick(vector<Type>{Int4, Float8, Int2})) + ")::int8";
            case 3:
                return "(- " + same() + ")";
            default:
                return arithmetic("+-*/%&|#");
            }
        case Float4:
            return chance(60) ? arithmetic("+-*/")
                              : "(" + leaf(pick(vector<Type>{Int4, Float8, Int8, Int2})) + ")::float4";
        case Float8:
            switch (roll(7)) {
            case 5:
                return pick({"abs(", "floor(", "ceil(", "round(", "trunc(", "sign("}) + same() + ")";
            case 6:
                return chance(50) ? "sqrt(abs(" + same() + "))"
                                  : "date_part('" + date_part() + "', " + expression(Timestamp, depth - 1) + ")";
            case 0:
                return "(" + expression(pick(vector<Type>{Int4, Float4, Int8, Numeric}), depth - 1) + ")::float8";
            case 1:
                return "(" + leaf(Float4) + " " + pick({"+", "-", "*", "/"}) + " " + same() + ")";
            case 2:
                return "(- " + same() + ")";
            default:
                return arithmetic("+-*/");
            }
        case Numeric:
            switch (roll(13)) {
            case 6:
                return pick({"abs(", "floor(", "ceil(", "round(", "trunc(", "sign("}) + same() + ")";
            case 7:
                return pick({"round(", "trunc("}) + same() + ", " + number(roll(5)) + ")";
            case 8:
                return "mod(" + same() + ", " + pick({"3", "0.75", "-7.125"}) + ")";
            case 9:
                return "extract(" + date_part() + " from " + expression(Date, depth - 1) + ")";
            case 10:
                return "extract(" +
                       (chance(50) ? date_part() : pick({"hour", "minute", "second", "milliseconds", "epoch"})) +
                       " from " + expression(chance(50) ? Timestamp : Timestamptz, depth - 1) + ")";
            case 12:
                return "extract(" + pick({"year", "month", "day", "hour", "minute", "second", "epoch"}) + " from " +
                       span(depth - 1) + ")";
            case 11:
                return "(" + same() + ")::numeric(" + pick({"9,1", "12,0", "6,3"}) + ")";
            case 0:
                return "(" + expression(pick(vector<Type>{Int4, Int8, Int2}), depth - 1) + ")::numeric";
            case 1:
                return "(- " + same() + ")";
            case 2:
                return "(" + same() + ")::numeric(" + pick({"20,4", "30,8", "12,2", "38,10"}) + ")";
            default:
                return arithmetic("+-*");
            }
        case Date:
            if (chance(25))
                return "(" + expression(Timestamp, depth - 1) + ")::date";
            return "(" + same() + pick({" + ", " - "}) + (chance(80) ? number(roll(40)) : leaf(Int4)) + ")";
        case Timestamp:
            switch (roll(4)) {
            case 0:
                return "date_trunc('" + pick({"year", "quarter", "month", "week", "day", "hour", "minute", "second"}) +
                       "', " + same() + ")";
            case 1:
                return "(" + same() + pick({" + ", " - "}) + interval() + ")";
            case 2:
                return "(" + expression(Date, depth - 1) + pick({" + ", " - "}) + interval() + ")";
            default:
                return chance(50) ? "(" + leaf(Date) + ")::timestamp" : "(" + same() + " + (" + span(depth - 1) + "))";
            }
        case Timestamptz:
            switch (roll(6)) {
            case 0:
                return "date_trunc('" + pick({"year", "quarter", "month", "week", "day", "hour", "minute"}) + "', " +
                       same() + pick({")", ", 'America/St_Johns')"});
            case 1:
                return "(" + same() + pick({" + ", " - "}) + interval() + ")";
            case 2:
                return "(" + expression(pick(vector<Type>{Date, Timestamp}), depth - 1) + ")::timestamptz";
            case 3:
                return "now()";
            default:
                return leaf(type);
            }
        default:
            return leaf(type);
        }
    }

    // An interval.
    string span(int depth) {
        switch (depth > 0 ? roll(4) : 3) {
        case 0:
            return "(" + expression(Timestamp, depth - 1) + " - " + expression(Timestamp, depth - 1) + ")";
        case 1:
            return "age(" + expression(Timestamp, depth - 1) + ", " + expression(Timestamp, depth - 1) + ")";
        case 2:
            return "(" + span(depth - 1) + pick({" + ", " - "}) + interval() + ")";
        default:
            return chance(50) ? interval() : "(" + leaf(Timestamptz) + " - " + leaf(Timestamptz) + ")";
        }
    }
    string distinct(int percent) { return chance(percent) ? "DISTINCT " : ""; }
    string date_part() {
        return pick(
            {"year", "quarter", "month", "week", "day", "doy", "dow", "isodow", "isoyear", "decade", "century"});
    }
    string interval() {
        return "interval '" +
               pick({"1 day", "-3 days", "1 month", "13 months 2 days", "1 year -1 day 03:04:05.678", "90 minutes",
                     "-1 month", "0"}) +
               "'";
    }

    string aggregate() {
        string call;
        switch (roll(17)) {
        case 12:
            call = pick({"stddev(", "variance(", "var_pop(", "stddev_pop("}) +
                   expression(pick(vector<Type>{Float4, Float8}), 1) + ")";
            break;
        case 13:
            call = pick({"corr(", "covar_pop(", "regr_slope(", "regr_intercept(", "regr_sxx(", "regr_count(",
                         "regr_avgx("}) +
                   leaf(Float8) + ", " + leaf(Float8) + ")";
            break;
        case 14:
            call = pick({"sum(", "avg("}) + span(2) + ")";
            break;
        case 0:
            call = "count(*)";
            break;
        case 1:
            call = "count(" + (chance(15) ? text_value(2) : expression(static_cast<Type>(roll(types)), 2)) + ")";
            break;
        case 2:
        case 3:
        case 4:
            call = "sum(" + expression(number_type(), 2) + ")";
            break;
        case 5: {
            Type type = pick(vector<Type>{Int2, Int4, Int8, Float4, Float8, Numeric});
            call = "avg(" + expression(type, 2) + ")";
            break;
        }
        case 6:
            call = pick({"bool_and(", "bool_or(", "every("}) + condition(2) + ")";
            break;
        case 7:
            call = string(pick({"bit_and(", "bit_or(", "bit_xor("})) + distinct(20) +
                   expression(pick(vector<Type>{Int2, Int4, Int8}), 2) + ")";
            break;
        case 8:
            call = pick({"stddev(", "stddev_pop(", "var_samp(", "var_pop("}) +
                   expression(pick(vector<Type>{Int2, Int4, Int8, Numeric, Numeric}), 1) + ")";
            break;
        case 9:
        case 10: {
            Type type = static_cast<Type>(roll(types));
            call = "count(DISTINCT " + (type == Text || type == Bpchar ? text_column() : expression(type, 2)) + ")";
            break;
        }
        case 11: {
            Type type = pick(vector<Type>{Int2, Int4, Int8, Numeric});
            one_of_equals |= type == Numeric;
            call = pick({"sum(DISTINCT ", "avg(DISTINCT "}) + expression(type, 2) + ")";
            break;
        }
        default: {
            Type type = static_cast<Type>(1 + roll(types - 1));
            one_of_equals |= type == Numeric;
            call = pick({"min(", "max("}) + distinct(5) +
                   (type == Text || type == Bpchar ? text_of(text_column(), 1) : expression(type, 2)) + ")";
        }
        }
        if (chance(20))
            call += " FILTER (WHERE " + condition(2) + ")";
        return call;
    }
};

// ---- queries ----

struct Query {
    string sql;
    vector<std::pair<Type, string>> parameters;
    bool rows = false; // what stands above them sees equal values in the order in which they come
    bool one_of_equals = false;
};

Source table_source(const Table &table, const string &alias) { return {alias, table.columns}; }

// A relation of FROM: a table, or a subquery with some of its columns.
string from_item(const string &alias, Source *source, bool small) {
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

string join_condition(const Source &a, const Source &b) {
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

string condition_over(const vector<Source> &sources) {
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
string pair_condition(const Source &a, const Source &b) {
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
string partner_exists(const Source &source) {
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

string select_query(Scope &scope, bool grouped, bool one_row);

// FROM and WHERE over 1..4 relations, added to the scope.
string from_where(Scope &scope) {
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
string set_part(Scope &scope, const vector<string> &columns, const vector<string> &expressions) {
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

string set_operation(Scope &scope) {
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
string group_condition() {
    static const vector<string> values = {"count(*)",
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
                                          "1000 / (count(*) - 2)"};
    auto compare = [&] {
        const string left = pick(values);
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

// The first rows by all columns in some order: equal rows are the same row, so the answer is defined.
string first_of(const string &query) {
    // Of a key that is a constant PostgreSQL forgets the order, although grouping sets also have NULLs there.
    if (query.find("ROLLUP (") != string::npos || query.find("CUBE (") != string::npos)
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
string groups_in_order(const string &query) {
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
string in_order(Scope &scope) {
    const string tail = from_where(scope);
    string list, order;
    for (int i = 1 + roll(4); i > 0;) {
        const Source &source = pick(scope.sources);
        const Column &column = pick(source.columns);
        if (column.type == Float4 || column.type == Float8)
            continue;
        --i;
        const string item = source.alias + "." + column.name;
        list += (list.empty() ? "" : ", ") + item;
        order +=
            (order.empty() ? "" : ", ") + item + pick({"", " DESC"}) + pick({"", "", " NULLS FIRST", " NULLS LAST"});
    }
    return "SELECT count(*), md5(string_agg(x::text, ';')) FROM (SELECT " + list + tail + " ORDER BY " + order +
           (chance(30) ? " LIMIT " + number(roll(300)) : " OFFSET 0") + ") x";
}

string select_query(Scope &scope, bool grouped, bool one_row) {
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
    if (list.empty())
        add(one_row ? pick({"sum(", "max("}) + scope.sources[0].alias + ".k + " +
                          g.expression(pick(vector<Type>{Int4, Int8, Numeric}), 1) + ")"
                    : "count(*)");
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
string select_rows(Scope &scope) {
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

// What may stand above rows that a device delivers. Whatever takes rows as they come is told an order.
string above_rows(Scope &scope) {
    if (chance(15))
        return in_order(scope);
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

Query make_query(bool prepared) {
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
        for (const Column &column : outer.columns)
            inner.outer[column.type].push_back("o." + column.name);
        string sub = select_query(inner, false, true);
        q.sql = "SELECT o.k, o.i4, (" + sub + ") AS x FROM " + table.name + " o";
        return q;
    }
    case 1: // above an aggregate
        q.sql = "SELECT count(*), min(o0::text), max(o0::text) FROM (" + select_query(scope, true, false) + ") s";
        return q;
    case 2:
        q.sql = "WITH w AS MATERIALIZED (" + select_query(scope, true, false) +
                ") SELECT count(*) FROM w x, w y WHERE x.o0 = y.o0";
        return q;
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

// ---- running ----

struct Answer {
    string sqlstate, message;
    vector<vector<string>> rows; // NULL: one byte 0
    vector<Oid> column_types;
};

std::map<string, int> fallbacks, refusals;
bool fell_back, verbose = false;

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

void take(Answer &answer, const pg::Result &r) {
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

constexpr Oid text_oid = 25, float4_oid = 700, float8_oid = 701, numeric_oid = 1700;

bool is_float(Oid type) { return type == float4_oid || type == float8_oid; }

bool close(const string &x, const string &y) {
    if (x == y)
        return true;
    if (x.size() < 2 && (x[0] == '\0' || y[0] == '\0'))
        return false;
    double a = strtod(x.c_str(), nullptr), b = strtod(y.c_str(), nullptr);
    if (!std::isfinite(a) || !std::isfinite(b) || (a == 0 && b == 0))
        return false; // NaN, infinities and the signs of zeros were equal as texts, or are not
    return std::fabs(a - b) <= 1e-12 * std::max(std::fabs(a), std::fabs(b)) + 1e-9;
}

// Other columns first, so that nearly equal floats stand at the same place in both answers.
void sort_rows(Answer &answer) {
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

// Of equal numerics of different scales, a group shows the one that came first, in PostgreSQL as well.
bool shows_one_of_equals(const Query &q) {
    for (const char *word : {") UNION SELECT", " EXCEPT ", " INTERSECT "})
        if (q.sql.find(word) != string::npos)
            return true;
    for (const char *word : {" GROUP BY ", "DISTINCT", " UNION "})
        if (q.rows && q.sql.find(word) != string::npos)
            return true;
    return false;
}

// (Numerics as texts, too.)
void cut_scales(Answer &answer) {
    for (vector<string> &row : answer.rows)
        for (size_t c = 0; c < row.size(); ++c) {
            const bool number = answer.column_types[c] == numeric_oid || answer.column_types[c] == text_oid;
            if (!number || row[c].find_first_not_of("0123456789.-") != string::npos || row[c].find('.') == string::npos)
                continue;
            row[c].erase(row[c].find_last_not_of('0') + 1);
            if (row[c].back() == '.')
                row[c].pop_back();
        }
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
            if (x.rows[i][c] != y.rows[i][c] && !(is_float(x.column_types[c]) && close(x.rows[i][c], y.rows[i][c])))
                return false;
    return true;
}

long answered_by_device(pg::Connection &c) {
    return atol(c.value("SELECT fragments - fallbacks FROM gpuscan_stat").c_str());
}

// Errors depend on the plan where a query joins: a filter that raises one may or may not meet a row that a join drops.
// Is there a plan of PostgreSQL's own that gives this answer?
bool another_plan_agrees(pg::Connection &c, const Query &q, const vector<string> &arguments, bool generic,
                         Answer &answer);

bool joins(const Query &q) {
    for (const char *word : {" JOIN ", "EXISTS (", " IN (SELECT"})
        if (q.sql.find(word) != string::npos)
            return true;
    return false;
}

// A command that only ends something. Its time limit is that of any statement, and where the machine is busy it may be the
// one that meets it; it then does it the second time.
void end_with(pg::Connection &c, const string &sql) {
    const pg::Result first(PQexec(c.raw(), sql.c_str()));
    if (first.sqlstate() == string("57014"))
        c.exec(sql);
    else if (*first.sqlstate() != '\0')
        throw pg::Error(sql + ": " + PQerrorMessage(c.raw()));
}

// All executions of a query, one after the other; stops at the first error.
Answer answer_of(pg::Connection &c, const Query &q, const vector<string> &arguments, const string &offload,
                 bool generic, bool cursor = false) {
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
        string sql = "SAVEPOINT plan";
        for (int i = 0; i < 3; ++i)
            sql += string("; SET LOCAL enable_") + joins[i] + (plan % 3 == i ? " = on" : " = off");
        sql += string("; SET LOCAL join_collapse_limit = ") + (plan / 3 % 2 ? "1" : "8");
        sql += string("; SET LOCAL enable_material = ") + (plan / 6 % 2 ? "off" : "on");
        if (plan >= 12)
            sql += "; SET LOCAL join_collapse_limit = 8; SET LOCAL geqo_threshold = 2; SET LOCAL geqo_pool_size = 2; "
                   "SET LOCAL geqo_generations = 1; SET LOCAL geqo_seed = " +
                   std::to_string(plan / static_cast<double>(plans));
        c.exec(sql);
        Answer other = answer_of(c, q, arguments, "off", generic);
        end_with(c, "ROLLBACK TO plan");
        if (same(other, answer))
            return true;
    }
    return false;
}

// Errors of values, not of the server or of the query.
bool is_data_error(const Answer &answer) { return answer.sqlstate.compare(0, 2, "22") == 0; }

string write_statement() {
    const Table &table = pick(tables);
    const Column &column = pick(table.columns);
    string where = " WHERE k " + pick({"=", "<", ">"}) + " " + number(roll(120));
    if (chance(70))
        where = " WHERE k = " + number(roll(120));
    switch (roll(6)) {
    case 0:
        return "DELETE FROM " + table.name + " WHERE k = " + number(roll(120)) + " AND i4 > 20";
    case 1:
    case 2:
        return "UPDATE " + table.name + " SET " + column.name + " = " + row_value(column) + where;
    case 3:
        return table.rows > 0 ? insert_rows(table, 1 + roll(20)) : "SELECT 1";
    case 4:
        return "UPDATE " + table.name + " SET lt = repeat('long', " + number(500 + roll(2000)) +
               ") WHERE k = " + number(roll(120));
    default:
        return "UPDATE " + table.name + " SET lt = 'short' WHERE length(lt) > 10";
    }
}

string maintenance() {
    const Table &table = pick(tables);
    switch (roll(17)) {
    case 0:
        return "VACUUM FULL " + table.name;
    case 1:
        return "ANALYZE " + table.name;
    case 2: // rewrites, or only says that the type is another one
        return "ALTER TABLE " + table.name + " ALTER COLUMN n TYPE numeric(" + pick({"10,2", "12,2", "13,3"}) + ")";
    case 3:
        return "VACUUM (FREEZE) " + table.name;
    case 4:
        return "ALTER TABLE " + table.name + " ADD COLUMN IF NOT EXISTS extra int8 DEFAULT 5";
    case 5:
        return "ALTER TABLE " + table.name + " DROP COLUMN IF EXISTS extra";
    case 6:
        return "ALTER TABLE " + table.name + " ALTER COLUMN s8 " + pick({"SET", "DROP"}) + " NOT NULL";
    case 7:
        return "BEGIN; ALTER TABLE fuzz.big DETACH PARTITION fuzz.big_2; ALTER TABLE fuzz.big ATTACH PARTITION "
               "fuzz.big_2 FOR VALUES FROM (30) TO (60); COMMIT";
    default:
        return "VACUUM " + table.name;
    }
}

string settings() {
    string out;
    for (const char *name : {"enable_partitionwise_join", "enable_partitionwise_aggregate"})
        if (chance(15))
            out += string("SET LOCAL ") + name + " = on; ";
    if (chance(10))
        out += "SET LOCAL enable_partition_pruning = off; ";
    for (const char *name :
         {"enable_hashagg", "enable_hashjoin", "enable_mergejoin", "enable_nestloop", "enable_indexscan"})
        if (chance(20))
            out += string("SET LOCAL ") + name + " = off; ";
    if (chance(25))
        out += "SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL "
               "min_parallel_table_scan_size = 0; ";
    if (chance(15))
        out += "SET LOCAL TimeZone = 'Asia/Tokyo'; ";
    if (chance(10))
        out += "SET LOCAL work_mem = '64kB'; ";
    return out;
}

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

} // namespace

int main(int argc, char **argv) {
    setvbuf(stdout, nullptr, _IOLBF, 0); // what was found is kept if the run is cut short
    uint64_t seed = 1;
    long queries = 1000, stop_after = 20, seconds = LONG_MAX, timeout = 20;
    string conninfo;
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            seed = strtoull(argv[++i], nullptr, 10);
        else if (!strcmp(argv[i], "--queries") && i + 1 < argc)
            queries = atol(argv[++i]);
        else if (!strcmp(argv[i], "--stop-after") && i + 1 < argc)
            stop_after = atol(argv[++i]);
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            seconds = atol(argv[++i]);
        else if (!strcmp(argv[i], "--rows") && i + 1 < argc)
            rows_share = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--sets") && i + 1 < argc)
            sets_share = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--timeout") && i + 1 < argc)
            timeout = atol(argv[++i]);
        else if (!strcmp(argv[i], "--verbose"))
            verbose = true;
        else if (argv[i][0] == '-') {
            fprintf(stderr, "usage: differential [--seed N] [--queries M] [--seconds S] [--rows PER_CENT] [--sets "
                            "PER_CENT] [--timeout SECONDS] "
                            "[--stop-after DIFFERENCES] [--verbose] [CONNINFO]\n");
            return 2;
        } else
            conninfo = argv[i];
    }
    try {
        engine.seed(seed);
        pg::Connection c(conninfo, "differential");
        PQsetNoticeProcessor(c.raw(), notice, nullptr);
        c.exec("SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS gpuscan");
        make_tables(c, nullptr);
        c.exec("SET statement_timeout = '" + number(timeout) +
               "s'; SET extra_float_digits = 1; SET gpuscan.explain_refusals = on");
        long differences = 0, device = 0, fallback = 0, cpu = 0, errors = 0, timeouts = 0, plan_dependent = 0;
        string history;
        const time_t start = time(nullptr);
        for (long i = 0; i < queries && time(nullptr) - start < seconds; ++i) {
            if (chance(12))
                PQclear(PQexec(c.raw(), (history = write_statement()).c_str())); // may fail: a value beyond its type
            if (chance(6))
                PQclear(PQexec(c.raw(), maintenance().c_str()));
            bool prepared = chance(25);
            Query q = random_query(prepared);
            vector<string> arguments;
            for (int k = 1 + roll(3); k > 0 && !q.parameters.empty(); --k) {
                string list;
                for (const auto &parameter : q.parameters)
                    list +=
                        (list.empty() ? "" : ", ") + (chance(8) ? string("NULL") : quoted(literal(parameter.first, 5)));
                arguments.push_back("(" + list + ")");
            }
            bool generic = chance(50);
            c.exec("BEGIN ISOLATION LEVEL REPEATABLE READ");
            c.exec("SET LOCAL client_min_messages = warning");
            c.exec("SELECT 1");
            string local = settings();
            if (!local.empty())
                c.exec(local);
            if (chance(5)) { // rows of the own transaction
                c.exec("SAVEPOINT own");
                pg::Result r(PQexec(c.raw(), write_statement().c_str()));
                if (*r.sqlstate() != '\0')
                    c.exec("ROLLBACK TO own");
            }
            const bool cursor = chance(5);
            Answer plain = answer_of(c, q, arguments, "off", generic, cursor);
            fell_back = false;
            const long before = answered_by_device(c);
            Answer forced = answer_of(c, q, arguments, "force", generic, cursor);
            const bool on_device = answered_by_device(c) > before;
            bool equal = same(plain, forced);
            if (!equal && plain.sqlstate == forced.sqlstate && (q.one_of_equals || shows_one_of_equals(q))) {
                cut_scales(plain);
                cut_scales(forced);
                equal = same(plain, forced);
            }
            // (Rows of a plan that feeds the device are computed even if PostgreSQL sees first that the other side is
            // empty.)
            const bool fed = plain.sqlstate.empty() && !forced.sqlstate.empty() && joins(q);
            // (And where PostgreSQL's own plan took over, it need not be the one that it would choose without a device.)
            const bool took_over = fell_back && is_data_error(plain) && forced.sqlstate.empty() && joins(q);
            // (And which of several errors is met depends on the row that comes first.)
            const bool both_fail = is_data_error(plain) && is_data_error(forced);
            const bool other_plan =
                !equal && (!plain.sqlstate.empty() || !forced.sqlstate.empty()) &&
                (fed || took_over || both_fail || another_plan_agrees(c, q, arguments, generic, forced));
            end_with(c, chance(50) ? "COMMIT" : "ROLLBACK");
            if (plain.sqlstate == "57014" || forced.sqlstate == "57014") {
                ++timeouts;
                continue;
            }
            fallback += fell_back;
            cpu += !fell_back && !on_device;
            device += !fell_back && on_device;
            plan_dependent += other_plan;
            errors += !plain.sqlstate.empty();
            if (verbose || (plain.sqlstate.compare(0, 2, "42") == 0 && plain.sqlstate != "42501"))
                printf("-- %ld %s %s\n%s\n", i, plain.sqlstate.c_str(), plain.message.c_str(), q.sql.c_str());
            if (equal || other_plan)
                continue;
            ++differences;
            printf("DIFFERENT (seed %llu, query %ld, %s%s)\n  %s\n  %s;\n", static_cast<unsigned long long>(seed), i,
                   fell_back   ? "fallback"
                   : on_device ? "device"
                               : "cpu",
                   generic ? ", generic" : "", local.c_str(), q.sql.c_str());
            for (const string &argument : arguments)
                printf("  EXECUTE %s\n", argument.c_str());
            printf("  only PostgreSQL:\n");
            show(plain, forced);
            printf("  only the device:\n");
            show(forced, plain);
            fflush(stdout);
            if (differences >= stop_after)
                break;
        }
        printf("%ld queries: %ld by the device, %ld by a fallback, %ld on the CPU; %ld errors, %ld that depend on the "
               "plan, %ld timeouts, "
               "%ld differences\n",
               device + fallback + cpu, device, fallback, cpu, errors, plan_dependent, timeouts, differences);
        if (verbose) {
            for (const auto &reason : fallbacks)
                printf("  fallback %6d  %s\n", reason.second, reason.first.c_str());
            for (const auto &reason : refusals)
                printf("  refused  %6d  %s\n", reason.second, reason.first.c_str());
        }
        return differences ? 1 : 0;
    } catch (const std::exception &e) {
        fprintf(stderr, "differential: %s\n", e.what());
        return 2;
    }
}
