#include "tables.hpp"

#include <algorithm>

namespace fuzz {

vector<Table> tables;

static vector<Column> all_columns() {
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
static string definitions(const vector<Column> &columns, const char *gone) {
    string out;
    for (size_t i = 0; i < columns.size(); ++i) {
        if (i == 2)
            out += string(", ") + gone + " int4";
        out += (i ? ", " : "") + columns[i].name + " " + columns[i].declared;
    }
    return out;
}

// What follows the creation of a parent. One of the parts has the columns in an order of its own, and another dropped one.
static vector<string> make_parts(const Table &table, const string &kind) {
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

} // namespace fuzz
