#include "classes.hpp"

namespace fuzz {

namespace {

// What the newest catalogue says of the table; each query has some of these columns.
vector<Column> columns;
bool is_part;
// PostgreSQL makes IN a plain join where a key is unique now, and its executor stops at the first of the old snapshot's rows that are
// equal, if its plan has them on the inner side. Which side that is, its estimates say; so nothing can be expected.
bool is_unique;

void make_table(World &w) {
    w.run(0, "DROP TABLE IF EXISTS fuzz.old, fuzz.old_parent, fuzz.old_list CASCADE");
    w.run(0, "CREATE TABLE fuzz.old (id int NOT NULL, k int, x int, y int8, s text, n numeric(9,2), d date, gone int)");
    const string share = number(2 + roll(9));
    w.run(0, "INSERT INTO fuzz.old SELECT i, i % 40, CASE WHEN i % " + share + " > 0 THEN i % 13 END, CASE WHEN i % " +
                 share + " <> 1 THEN i END, CASE WHEN i % " + share +
                 " <> 1 THEN 't' || i % 30 END, CASE WHEN i % 7 > 1 THEN i "
                 "% 90 / 4.0 END, date '2024-01-01' + nullif(i % 50, 3), i FROM generate_series(1, " +
                 number(pick(vector<int>{30, 300, 3000, 12000})) + ") i");
    w.run(
        0,
        "CREATE TABLE fuzz.old_list AS SELECT i AS k, nullif(i, 3) AS x, 't' || i AS s FROM generate_series(1, 25) i");
    if (chance(70))
        w.run(0, "VACUUM (ANALYZE) fuzz.old");
    is_part = is_unique = false;
    columns = {{"id", Int4, "int4", 0, 0, 0}, {"k", Int4, "int4", 0, 0, 0},   {"x", Int4, "int4", 0, 0, 0},
               {"y", Int8, "int8", 0, 0, 0},  {"s", Text, "text", 0, 0, 0},   {"n", Numeric, "numeric", 0, 0, 0},
               {"d", Date, "date", 0, 0, 0},  {"gone", Int4, "int4", 0, 0, 0}};
}

bool has(const string &name) {
    for (const Column &column : columns)
        if (column.name == name)
            return true;
    return false;
}

// What the other session does. Changes the columns that queries may use if it succeeds.
void act(World &w, int session) {
    const string table = "fuzz.old";
    const string column = pick({"x", "y", "s", "n", "d"});
    const string filled = column == "s" ? "'new'" : column == "d" ? "date '2025-01-01'" : "5";
    const string name = "c" + number(roll(1000));
    switch (roll(24)) {
    case 0:
    case 1:
    case 2: // NULLs go, and that there are none is declared
        w.attempt(session, "UPDATE fuzz.old SET " + column + " = " + filled + " WHERE " + column + " IS NULL");
        w.attempt(session, "ALTER TABLE fuzz.old ALTER " + column + " SET NOT NULL");
        if (chance(50))
            w.attempt(session, "VACUUM fuzz.old");
        break;
    case 3:
        w.attempt(session, "DELETE FROM fuzz.old WHERE " + column + " IS NULL");
        w.attempt(session, "ALTER TABLE fuzz.old ALTER " + column + " SET NOT NULL");
        break;
    case 4:
        w.attempt(session, "ALTER TABLE fuzz.old ALTER " + column + " DROP NOT NULL");
        w.attempt(session, "UPDATE fuzz.old SET " + column + " = NULL WHERE k = " + number(roll(40)));
        break;
    case 5: // no rewriting
        if (w.attempt(session, "ALTER TABLE fuzz.old ADD COLUMN " + name + " int" + pick({"", " NOT NULL"}) +
                                   " DEFAULT " + number(roll(9))))
            columns.push_back({name, Int4, "int4", 0, 0, 0});
        break;
    case 6: // with one
        if (w.attempt(session, "ALTER TABLE fuzz.old ADD COLUMN " + name + " int8 DEFAULT (random() * 5)::int"))
            columns.push_back({name, Int8, "int8", 0, 0, 0});
        break;
    case 7:
        if (w.attempt(session,
                      "ALTER TABLE fuzz.old ADD COLUMN " + name + " text DEFAULT 'new " + number(roll(9)) + "'"))
            columns.push_back({name, Text, "text", 0, 0, 0});
        break;
    case 8:
        if (columns.size() > 6 && w.attempt(session, "ALTER TABLE fuzz.old DROP COLUMN " + columns.back().name))
            columns.pop_back();
        break;
    case 9: // a table written anew: old snapshots see its rows, or nothing
        w.attempt(session, pick({"VACUUM FULL fuzz.old", "ALTER TABLE fuzz.old ALTER n TYPE numeric(12,4)",
                                 "ALTER TABLE fuzz.old ALTER n TYPE numeric(14,4)",
                                 "ALTER TABLE fuzz.old ALTER k TYPE int8", "ALTER TABLE fuzz.old ALTER k TYPE int4",
                                 "ALTER TABLE fuzz.old SET UNLOGGED", "ALTER TABLE fuzz.old SET LOGGED"}));
        break;
    case 10:
        w.attempt(session, "BEGIN; DELETE FROM fuzz.old a USING fuzz.old b WHERE a.k = b.k AND a.id > b.id; COMMIT");
        w.attempt(session, pick({"CREATE UNIQUE INDEX ON fuzz.old (k)", "ALTER TABLE fuzz.old ADD UNIQUE (k)"}));
        is_unique = true;
        break;
    case 11:
        w.attempt(session, "ALTER TABLE fuzz.old ADD PRIMARY KEY (id)");
        is_unique = true;
        break;
    case 12: // a fact that holds for what is there now
        w.attempt(session, "DELETE FROM fuzz.old WHERE x > 6");
        w.attempt(session, "ALTER TABLE fuzz.old ADD CHECK (x <= 6)");
        break;
    case 13:
        w.attempt(session, "UPDATE fuzz.old SET " + column + " = coalesce(" + column + ", " + filled + ")");
        w.attempt(session,
                  "ALTER TABLE fuzz.old ADD CONSTRAINT " + name + " CHECK (" + column + " IS NOT NULL) NOT VALID");
        w.attempt(session, "ALTER TABLE fuzz.old VALIDATE CONSTRAINT " + name);
        w.attempt(session, "ALTER TABLE fuzz.old ALTER " + column + " SET NOT NULL");
        break;
    case 14:
        if (chance(20))
            w.attempt(session, "TRUNCATE fuzz.old");
        w.attempt(session, "INSERT INTO fuzz.old (id, k, x) SELECT i, i % 40, 3 FROM generate_series(20000, 20100) i");
        break;
    case 15: // a partition, whose bounds hold for new rows
        w.attempt(session, "BEGIN; DELETE FROM fuzz.old WHERE k >= 20 OR k IS NULL; CREATE TABLE fuzz.old_parent (LIKE "
                           "fuzz.old) PARTITION BY RANGE (k); ALTER TABLE "
                           "fuzz.old_parent ATTACH PARTITION fuzz.old FOR VALUES FROM (MINVALUE) TO (20); COMMIT");
        w.attempt(session, "ROLLBACK");
        is_part = w.session(session).value("SELECT to_regclass('fuzz.old_parent') IS NOT NULL") == "t";
        break;
    case 16:
        w.attempt(session, "UPDATE fuzz.old_list SET x = 4 WHERE x IS NULL");
        w.attempt(session, "ALTER TABLE fuzz.old_list ALTER x SET NOT NULL");
        break;
    case 17:
        w.attempt(session,
                  "UPDATE fuzz.old_list SET x = NULL WHERE k = 3; ALTER TABLE fuzz.old_list ALTER x DROP NOT NULL");
        break;
    case 18:
        if (!w.attempt(session, "ALTER TABLE fuzz.old RENAME x TO x2; ALTER TABLE fuzz.old RENAME y TO x; ALTER TABLE "
                                "fuzz.old RENAME x2 TO y"))
            break;
        for (Column &c : columns)
            if (c.name == "x" || c.name == "y")
                c.type = c.type == Int4 ? Int8 : Int4;
        break;
    case 19:
        w.attempt(session, "UPDATE fuzz.old SET s = s || 'x', x = x + 1 WHERE k % 3 = " + number(roll(3)));
        w.attempt(session, "VACUUM (FREEZE) fuzz.old");
        break;
    case 20:
        w.attempt(session, "UPDATE fuzz.old SET d = NULL, n = 'NaN' WHERE k = 4");
        break;
    case 21:
        w.attempt(session, "ALTER TABLE fuzz.old ALTER s TYPE varchar(40)");
        break;
    default:
        w.attempt(session, "UPDATE fuzz.old SET x = " + number(roll(9)) + " WHERE id % 5 = " + number(roll(5)));
        break;
    }
}

string snapshots_query() {
    Scope scope;
    scope.sources = {{"o", columns}};
    Generator g{scope};
    const string column = "o." + pick(columns).name;
    const string from = is_part && chance(30) ? " FROM fuzz.old_parent o" : " FROM fuzz.old o",
                 where = chance(40) ? "" : " WHERE " + g.condition(1 + roll(2));
    const string more = (where.empty() ? " WHERE " : " AND ");
    switch (roll(13)) {
    case 0:
        return "SELECT count(*), count(" + column + "), count(DISTINCT " + column + "), min(" + column + "), max(" +
               column + ")" + from + where;
    case 1:
        return "SELECT count(*)" + from + where + more + column + pick({" IS NULL", " IS NOT NULL"});
    case 2:
        return "SELECT " + column + ", count(*)" + from + where + " GROUP BY 1";
    case 3:
        return "SELECT o.id, " + column + ", " + g.expression(Int4, 2) + from + where;
    case 4:
        return "SELECT count(*)" + from + where + more + "o.k" + pick({" NOT IN", " IN"}) +
               " (SELECT l.x FROM fuzz.old_list l" + pick({"", " WHERE l.k > 2"}) + ")";
    case 5:
        return "SELECT count(*) FROM fuzz.old_list l WHERE l.k" + (is_unique ? " NOT IN" : pick({" NOT IN", " IN"})) +
               " (SELECT " + pick({"o.x", "o.k", "o.id", "o.y"}) + from + where + ")";
    case 6:
        return "SELECT count(*), sum(o.id), sum(l.k)" + from +
               pick({" JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN "}) + "fuzz.old_list l ON l.x = o.k" + where;
    case 7:
        return "SELECT l.k, count(o.k), sum(o.id) FROM fuzz.old_list l LEFT JOIN fuzz.old o ON o.k = l.k GROUP BY 1";
    case 8:
        return "SELECT l.k FROM fuzz.old_list l LEFT JOIN fuzz.old o ON o.k = l.k"; // removed if k is unique
    case 9:
        return "SELECT count(*)" + from + where + more + "o.x " + pick({"> 6", "<= 6", "= 8", "IS NULL OR o.x > 6"});
    case 10:
        return "SELECT count(*)" + from + where + more + "o.k " + pick({">= 20", "< 20", "= 25"});
    case 11:
        return "SELECT o.id, o.k, count(*)" + from + where + " GROUP BY o.id, o.k";
    default:
        return "SELECT DISTINCT " + column + ", o.k" + from + where;
    }
}

// PostgreSQL believes the newest catalogue, too: that a key is unique, or (from 17 on) a column without NULLs, of rows of which
// an old snapshot sees others. Behind OFFSET 0 it does not know, and has the answer that the snapshot's rows give.
string without_facts(string sql) {
    for (const string table : {"fuzz.old o", "fuzz.old_parent o", "fuzz.old_list l"})
        for (size_t at = 0; (at = sql.find(table, at)) != string::npos;) {
            const string alias = table.substr(table.size() - 2);
            const string instead = "(SELECT * FROM " + table + " OFFSET 0)" + alias;
            if (at + table.size() < sql.size() && sql[at + table.size()] != ' ' && sql[at + table.size()] != ')') {
                ++at;
                continue;
            }
            sql.replace(at, table.size(), instead);
            at += instead.size();
        }
    return sql;
}

void ask_old(World &w, int session, const string &told) {
    const string sql = snapshots_query();
    w.ask_in(session, query(sql), told, without_facts(sql));
}

} // namespace

void prepare_snapshots(World &w) {
    make_tables(w.session(), nullptr);
    w.run(0, "SET lock_timeout = '400ms'");
    for (int i = 1; i < 3; ++i) {
        w.session(i);
        w.run(i, "SET lock_timeout = '400ms'");
    }
}

void snapshots_round(World &w) {
    if (w.round % 15 == 0)
        make_table(w);
    if (!has("id"))
        return;
    // An old snapshot, sometimes two of different ages; the table itself is looked at by the first only after the DDL, which
    // would wait otherwise.
    w.run(0, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    w.run(0, "SELECT count(*) FROM fuzz.s");
    const bool second = chance(40);
    for (int i = 1 + roll(3); i > 0; --i)
        act(w, 1);
    if (second) {
        w.run(2, "BEGIN ISOLATION LEVEL REPEATABLE READ");
        w.run(2, "SELECT count(*) FROM fuzz.s");
        for (int i = roll(3); i > 0; --i)
            act(w, 1);
    }
    const bool open = chance(20); // a writer that has not ended
    if (open) {
        w.run(1, "BEGIN");
        w.attempt(1, pick({"UPDATE fuzz.old SET x = x + 1 WHERE id % 3 = 0", "DELETE FROM fuzz.old WHERE id % 4 = 1",
                           "INSERT INTO fuzz.old (id, k) VALUES (1, 2)"}));
    }
    for (int i = 2 + roll(5); i > 0; --i) {
        ask_old(w, 0, "an old snapshot");
        if (second)
            ask_old(w, 2, "a younger snapshot");
    }
    if (open)
        w.run(1, chance(50) ? "COMMIT" : "ROLLBACK");
    if (chance(50))
        ask_old(w, 0, "an old snapshot");
    end_with(w.session(0), "ROLLBACK");
    if (second)
        end_with(w.session(2), "ROLLBACK");
    w.ask(query(snapshots_query()));
}

} // namespace fuzz
