#include <cstdio>
#include <regex>

#include "classes.hpp"

namespace fuzz {

namespace {

// The tables are called alike, and as long. No statistics: PostgreSQL's own plans follow those of hidden rows.
const char *const with = "hid.with_secret", *const without = "hid.without_one";

const vector<Column> columns = {
    {"id", Int4, "int4", 0, 0, 0}, {"k", Int4, "int4", 0, 0, 0},     {"v", Int4, "int4", 0, 0, 0},
    {"y", Int8, "int8", 0, 0, 0},  {"t", Text, "text", 0, 0, 0},     {"n", Numeric, "numeric(9,2)", 0, 0, 0},
    {"d", Date, "date", 0, 0, 0},  {"f", Float8, "float8", 0, 0, 0}, {"ts", Timestamp, "timestamp", 0, 0, 0}};

string value_of(Type type) {
    switch (type) {
    case Int4:
        return pick({"2147483647", "-2147483648", "0", "NULL", "123456789", "i"});
    case Int8:
        return pick({"9223372036854775807", "NULL", "0", "-1", "i"});
    case Text:
        return pick({"'the secret is 42'", "NULL", "''", "'w' || i", "repeat('secret', 500)", "md5(i::text)", "'ab'"});
    case Numeric:
        return pick({"9999999.99", "NULL", "0", "i / 8.0"}) /* of NaN a fallback tells, see doc/limits */;
    case Date:
        return pick({"'infinity'", "'-infinity'", "'4713-01-01 BC'", "NULL", "date '1999-01-01' + i"});
    case Float8:
        return pick({"'NaN'", "'Infinity'", "1.7e308", "-0.0", "NULL", "i"});
    default:
        return pick({"'infinity'", "NULL", "'294276-12-31'", "timestamp '2000-01-01' + i * interval '1 hour'"});
    }
}

void make_pair(World &w) {
    const int rows = pick(vector<int>{40, 400, 4000, 15000, 60000}), share = 2 + roll(5);
    const bool together = chance(50); // ... the hidden rows, or one here and there
    const string hidden = together ? "i > " + number(rows - rows / share) : "i % " + number(share) + " = 0";
    const string fill = chance(50) ? "" : " WITH (fillfactor = " + number(10 + roll(60)) + ")";
    w.run(0, "DROP TABLE IF EXISTS hid.with_secret, hid.without_one CASCADE");
    string common, names;
    for (const Column &column : columns)
        names += ", " + column.name;
    for (const string name : {with, without}) {
        string definitions;
        for (const Column &column : columns)
            definitions += ", " + column.name + " " + column.declared;
        w.run(0, "CREATE TABLE " + name + " (owner text NOT NULL" + definitions + ")" + fill);
        w.run(0, "ALTER TABLE " + name + " SET (autovacuum_enabled = off)");
    }
    const string plain =
        "i, i % 40, nullif(i % 97, 3), i * 3, 'w' || i % 50, i % 90 / 4.0, date '2024-01-01' + i % 60, i % 30, "
        "timestamp '2024-01-01' + i % 700 * interval '1 hour'";
    for (const string name : {with, without}) {
        // Values of other lengths would lie on other pages, whose number PostgreSQL tells as well.
        w.run(0, "INSERT INTO " + name + " SELECT CASE WHEN " + hidden + " THEN 'nobody' ELSE 'fuzz_plain' END, " +
                     plain + " FROM generate_series(1, " + number(rows) + ") i");
        string set;
        if (name == with || chance(15)) {
            for (const Column &column : columns)
                if (column.type != Text && column.name != "id" && chance(60))
                    set += (set.empty() ? "" : ", ") + column.name + " = " +
                           std::regex_replace(value_of(column.type), std::regex("NULL"), column.name);
            set += string(set.empty() ? "" : ", ") + "t = overlay(t placing '" + pick({"#", "ab", "s", "%"}) +
                   "' from 1 for " + "1)";
            set = std::regex_replace(set, std::regex("\\bi\\b"), "id");
            set = std::regex_replace(set, std::regex("'ab'"), "'a'");
            w.run(0,
                  "UPDATE " + name + " SET " + set + " WHERE owner = 'nobody'" + (chance(50) ? " AND id % 3 = 1" : ""));
        } else {
            w.run(0, "UPDATE " + name + " SET t = t WHERE owner = 'nobody'");
        }
    }
    w.run(0, "VACUUM FULL " + string(with));
    w.run(0, "VACUUM FULL " + string(without));
    // The second table of a join has no policy.
    w.run(0, "VACUUM (FREEZE) hid.with_secret, hid.without_one, hid.probes");
    for (const string name : {with, without}) {
        w.run(0, "ALTER TABLE " + name + " ENABLE ROW LEVEL SECURITY");
        w.run(0, "CREATE POLICY own ON " + name + " USING (" + "owner = current_user)");
        w.run(0, "CREATE VIEW " + (name == with ? string("hid.barrier_with") : string("hid.barrier_none")) +
                     " WITH (security_barrier) AS SELECT * FROM " + name + " WHERE owner = 'fuzz_plain'");
    }
    w.run(0, "GRANT SELECT ON ALL TABLES IN SCHEMA hid TO fuzz_plain");
}

string hidden_query() {
    const string table = chance(75) ? with : "hid.barrier_with";
    Scope scope;
    scope.sources = {{"o", columns}};
    Generator g{scope};
    const string from = " FROM " + table + " o";
    const string secret = pick({"o.t LIKE '%secret%'", "o.v = 123456789", "o.v * 20 > 0", "o.v + 1 > 5", "o.t ~ '#'",
                                "upper(o.t) = 'AB1'", "o.n = 'NaN'", "o.d + 1 > date '2024-01-05'", "length(o.t) > 3",
                                "1 / o.v > 0", "o.y + o.id > 90", "o.f * 2 > 30",
                                "o.ts + interval '1 day' > '2024-01-03'", "o.t < 'w20'", "substr(o.t, 1, 1) = '#'"});
    // What only hidden rows are: their chunks and zones would be read.
    const Column &special = pick(columns);
    const string probe = "o." + special.name + pick({" = ", " = ", " > ", " >= ", " < "}) + "(" +
                         std::regex_replace(value_of(special.type), std::regex("\\bi\\b"), "77777") +
                         ")::" + type_names[special.type];
    const string where = " WHERE " +
                         (chance(35)   ? probe
                          : chance(50) ? secret
                                       : g.condition(1 + roll(2))) +
                         (chance(30) ? " AND " + g.condition(1) : "");
    const string x = "o." + pick(columns).name;
    switch (roll(9)) {
    case 0:
    case 1:
        return "SELECT count(*), sum(o.k)" + from + where;
    case 2:
        return "SELECT " + x + ", count(*)" + from + (chance(50) ? where : "") + " GROUP BY 1";
    case 3:
        return "SELECT o.id, " + x + from + where;
    case 4:
        return "SELECT max(" + x + "), count(DISTINCT " + x + ")" + from + (chance(50) ? where : "");
    case 5:
        return "SELECT count(*), sum(p.x)" + from + pick({" JOIN ", " LEFT JOIN "}) + "hid.probes p ON " +
               pick({"o.v = p.x", "o.k = p.x", "o.t = p.word", "o.v + 1 = p.x + 1"}) + (chance(50) ? where : "");
    case 6:
        return "SELECT count(*) FROM hid.probes p WHERE EXISTS (SELECT" + from + where + " AND " +
               pick({"o.k = p.x", "o.t = p.word"}) + ")";
    case 7:
        return "SELECT sum(length(replace(o.t, '#', ''))), sum(o.v % 7)" + from + (chance(50) ? where : "");
    default:
        return "SELECT upper(o.t), sum(o.k + 1)" + from + (chance(50) ? where : "") + " GROUP BY 1 HAVING count(*) > 1";
    }
}

string other_table(string sql) {
    sql = std::regex_replace(sql, std::regex("hid\\.with_secret"), without);
    return std::regex_replace(sql, std::regex("barrier_with"), "barrier_none");
}

// What EXPLAIN says, without the names of the tables and times.
string told(World &w, const string &sql) {
    const Answer a = answer(w.session(), sql);
    string out = a.sqlstate + a.message;
    for (const vector<string> &row : a.rows)
        out += row[0] + "\n";
    out = std::regex_replace(out, std::regex("without_one"), "with_secret");
    out = std::regex_replace(out, std::regex("barrier_none"), "barrier_with");
    return std::regex_replace(out, std::regex("(Memory Usage|Memory|Planning Time|Execution Time): .*"), "");
}

// What has been counted since, without what does not come from rows.
vector<string> counters(World &w) {
    static const char *const names = "fragments, fallbacks, row_errors, cancelled, pages_cached, pages_decoded, "
                                     "pages_rowwise, rows_in, groups_out, tables_reused, "
                                     "chunks_built, link_bytes";
    const pg::Result r = w.session().exec(string("SELECT ") + names + " FROM gpuscan.stat");
    vector<string> out;
    for (int i = 0; i < r.columns(); ++i)
        out.push_back(r.get(0, i));
    return out;
}

string difference(const vector<string> &before, const vector<string> &after) {
    string out;
    for (size_t i = 0; i < before.size(); ++i)
        out += " " + std::to_string(std::stol(after[i]) - std::stol(before[i]));
    return out;
}

} // namespace

void prepare_hidden(World &w) {
    make_tables(w.session(), nullptr); // (with its functions)
    w.run(0, "DROP SCHEMA IF EXISTS hid CASCADE; CREATE SCHEMA hid");
    w.attempt(0, "CREATE ROLE fuzz_plain"); // may be there, of another database
    w.run(0, "CREATE TABLE hid.probes (x int, word text); INSERT INTO hid.probes SELECT i, 'w' || i FROM "
             "generate_series(1, 30) i; INSERT INTO hid.probes VALUES "
             "(123456789, 'the secret is 42'), (0, ''), (2147483647, 'ab'); ANALYZE hid.probes");
    w.run(0, "GRANT USAGE ON SCHEMA hid, fuzz TO fuzz_plain; SET max_parallel_workers_per_gather = 0");
}

void hidden_round(World &w) {
    if (w.round % 40 == 0)
        make_pair(w);
    const string sql = hidden_query(), other = other_table(sql);
    w.run(0, "BEGIN; SET LOCAL ROLE fuzz_plain");
    w.ask_in(0, query(sql));
    w.ask_in(0, query(other));
    if (w.falsified) {
        end_with(w.session(), "ROLLBACK");
        return;
    }
    // Both once, for what is cached first; then what is told of each.
    const string options = pick({"ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF",
                                 "ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF",
                                 "ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF, FORMAT JSON", "COSTS OFF"});
    string explained[2], counted[2], plain[2];
    for (int i = 0; i < 4; ++i) {
        const string &mine = i % 2 ? other : sql;
        for (const char *mode : {"off", "force"}) {
            w.run(0, "SAVEPOINT told; SET LOCAL gpuscan.offload = " + string(mode));
            const vector<string> before = counters(w);
            string &text = mode == string("off") ? plain[i % 2] : explained[i % 2];
            text = told(w, "EXPLAIN (" + options + ") " + mine);
            end_with(w.session(), "ROLLBACK TO told");
            if (mode == string("force"))
                counted[i % 2] = difference(before, counters(w));
        }
    }
    end_with(w.session(), "ROLLBACK");
    w.queries += 2;
    if (plain[0] != plain[1]) // PostgreSQL tells it itself
        return;
    if (explained[0] != explained[1]) {
        w.differ("EXPLAIN (" + options + ") " + sql, "");
        printf("  with:\n%s\n  without:\n%s\n", explained[0].c_str(), explained[1].c_str());
    } else if (w.alone && counted[0] != counted[1]) {
        w.differ(sql, "");
        printf("  counters with:%s\n  without:%s\n", counted[0].c_str(), counted[1].c_str());
    }
}

} // namespace fuzz
