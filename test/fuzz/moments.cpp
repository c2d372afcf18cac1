#include "classes.hpp"

namespace fuzz {

namespace {

// A scalar subquery or a call that raises, has side effects, or is harmless; `o` is the row's table, or there is none.
string init(const string &o) {
    switch (roll(o.empty() ? 16 : 22)) {
    case 0:
        return "(SELECT 1 / (k - 1) FROM mom.s WHERE id = " + number(roll(6)) + ")";
    case 1:
        return "(SELECT sum(1 / (k - 1))::int FROM mom.s)";
    case 2:
    case 3:
        return "(SELECT nextval('mom.seq')::int)";
    case 4:
        return "(SELECT mom.boom(" + number(roll(3)) + "))";
    case 5:
        return "(SELECT mom.boom(k) FROM mom.s ORDER BY id LIMIT 1)";
    case 6:
        return "(SELECT mom.seen(" + number(roll(9)) + "))";
    case 7:
        return "(SELECT k FROM mom.s)"; // more than one row
    case 8:
        return "(SELECT t::int FROM mom.s WHERE id = " + number(roll(4)) + ")";
    case 9:
        return "(SELECT max(k) FROM mom.s)";
    case 10:
        return "(SELECT max(k) FROM mom.z)";
    case 11:
        return "(SELECT count(*)::int FROM mom.s WHERE 1 / (k - " + number(roll(5)) + ") > 0)";
    case 12:
        return "(SELECT sum(mom.seen(k))::int FROM mom.s)";
    case 13:
        return "(SELECT id FROM mom.s WHERE mom.boom(k) = 7)";
    case 14:
        return "(SELECT mom.told(" + number(roll(9)) + "))";
    case 15:
        return "(SELECT max(mom.told(k)) FROM mom.s)";
    case 16:
        return "(SELECT 1 / (s.k - 1) FROM mom.s s WHERE s.id = " + o + ".k)";
    case 17:
        return "(SELECT mom.boom(" + o + ".k))";
    case 18:
        return "(SELECT sum(s.k / (" + o + ".k - 3))::int FROM mom.s s WHERE s.k > " + o + ".k)";
    case 19:
        return "mom.seen(" + o + ".k)";
    case 20:
        return "(1 / (" + o + ".k - 4))";
    default:
        return "mom.boom(" + o + ".k)";
    }
}

string never(const string &o) {
    return pick(vector<string>{o + ".k < 0", o + ".k > 1000", o + ".id IS NULL", "false", o + ".v = 77777",
                               o + ".k <> " + o + ".k"});
}
string sometimes(const string &o) {
    return pick(vector<string>{o + ".k = 3", o + ".k > 15", o + ".v IS NULL", o + ".id = 500", o + ".k % 2 = 0",
                               o + ".s LIKE 'w1%'"});
}
string always(const string &o) {
    return pick(vector<string>{o + ".k >= 0", o + ".id IS NOT NULL", "true", o + ".k < 100"});
}
string condition(const string &o) { return chance(50) ? never(o) : chance(60) ? sometimes(o) : always(o); }

string guarded(const string &o) {
    switch (roll(8)) {
    case 0:
    case 1:
        return "CASE WHEN " + condition(o) + " THEN " + init(o) + " ELSE " + (chance(70) ? o + ".k" : init(o)) + " END";
    case 2:
        return "coalesce(" + o + pick({".k, ", ".v, "}) + init(o) + ")";
    case 3:
        return "CASE " + o + ".k WHEN " + number(roll(30)) + " THEN " + init(o) + " WHEN " + number(roll(30)) +
               " THEN " + init(o) + " ELSE 0 END";
    case 4:
        return "(CASE WHEN " + condition(o) + " AND " + init(o) + " > 0 THEN 1 ELSE 2 END)";
    case 5:
        return "(CASE WHEN " + condition(o) + " OR " + init(o) + " > 0 THEN 1 ELSE 2 END)";
    case 6:
        return "CASE WHEN " + condition(o) + " THEN CASE WHEN " + condition(o) + " THEN " + init(o) +
               " ELSE 5 END ELSE 0 END";
    default:
        return init(o);
    }
}

string moments_query() {
    const string table = chance(85) ? "mom.t" : chance(50) ? "mom.z" : "mom.s";
    const string from = " FROM " + table + " o", where = chance(50) ? "" : " WHERE " + condition("o");
    const string more = where.empty() ? " WHERE " : " AND ";
    switch (roll(18)) {
    case 0:
    case 1:
        return "SELECT sum(" + guarded("o") + "), count(*)" + from + where;
    case 2:
    case 3:
        return "SELECT o.id, " + guarded("o") + " AS x" + from + where;
    case 4:
        return "SELECT count(*)" + from + where + more + guarded("o") + " > 1";
    case 5:
        return "SELECT count(*)" + from + where + more + "o.k > " + init("");
    case 6:
        return "SELECT o.k, sum(o.v) FILTER (WHERE " + condition("o") + " AND o.v > " + init("") + ")" + from + where +
               " GROUP BY 1";
    case 7:
        return "SELECT o.k, count(*)" + from + where + " GROUP BY 1 HAVING count(*) > " + pick({"1000", "0", "5"}) +
               " AND CASE WHEN o.k " + pick({"< 0", "> 5"}) + " THEN " + init("") + " > 0 ELSE true END";
    case 8:
        return "SELECT o.k, count(*)" + from + where + " GROUP BY 1 ORDER BY 1 LIMIT " + (chance(50) ? init("") : "0");
    case 9:
        return "SELECT o.id" + from + where + " ORDER BY o.id LIMIT 5 OFFSET " + init("");
    case 10:
        return "SELECT count(*)" + from + pick({" LEFT JOIN ", " JOIN "}) + pick({"mom.z", "mom.s"}) +
               " p ON p.k = o.k AND " + pick({"p.k", "o.v"}) + " > " + init("") + where;
    case 11:
        return "SELECT x FROM (SELECT o.id, " + guarded("o") + " AS x, " + guarded("o") + " AS unused" + from + where +
               ") q";
    case 12:
        return "SELECT count(*) FROM (SELECT o.k, " + guarded("o") + " AS x" + from + where +
               (chance(50) ? " OFFSET 0" : "") + ") q WHERE q.k " + pick({"< 0", "> 3"});
    case 13:
        return "SELECT EXISTS (SELECT 1 / (o.k - 1)" + from + where + "), CASE WHEN EXISTS (SELECT" + from + more +
               never("o") + ") THEN " + init("") + " ELSE 0 END";
    case 14:
        return "WITH w AS (SELECT " + init("") + " AS x) SELECT count(*), max(CASE WHEN " + condition("o") +
               " THEN (SELECT x FROM w) END)" + from + where;
    case 15:
        return "SELECT o.k, sum(" + guarded("o") + ")" + from + where + " GROUP BY 1";
    case 16:
        return "SELECT max(o.k) + CASE WHEN count(*) " + pick({"= 0", "> 0"}) + " THEN " + init("") + " ELSE 1 END" +
               from + where;
    default:
        return "SELECT count(*)" + from + where + more + "(" + condition("o") + pick({" OR ", " AND "}) +
               "o.k = " + init("") + ")";
    }
}

} // namespace

void prepare_moments(World &w) {
    w.run(0, "DROP SCHEMA IF EXISTS mom CASCADE; CREATE SCHEMA mom");
    w.run(0, "CREATE TABLE mom.t AS SELECT i AS id, i % 20 AS k, nullif(i % 50, 7) AS v, 'w' || i % 30 AS s FROM "
             "generate_series(1, 1500) i");
    w.run(0, "CREATE TABLE mom.s AS SELECT i AS id, i AS k, CASE WHEN i = 2 THEN 'x' ELSE i::text END AS t, i AS v, "
             "'w' || i AS s FROM generate_series(1, 5) i");
    w.run(0, "CREATE TABLE mom.z (id int, k int, v int, s text)");
    w.run(0, "CREATE SEQUENCE mom.seq; CREATE SEQUENCE mom.calls");
    w.run(0, "CREATE FUNCTION mom.boom(int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN IF $1 = 1 THEN RAISE "
             "''boom'' USING ERRCODE = ''P0001''; END IF; RETURN $1; END'");
    w.run(0, "CREATE FUNCTION mom.seen(int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN PERFORM "
             "nextval(''mom.calls''); RETURN $1; END'");
    w.run(0,
          "CREATE FUNCTION mom.told(int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''told %'', $1; "
          "RETURN $1; EXCEPTION WHEN OTHERS THEN RETURN -1; END'");
    w.run(0, "VACUUM ANALYZE mom.t, mom.s, mom.z");
}

// The query, and how often something with effects has been called, which no error takes back.
void moments_round(World &w) {
    const string sql = moments_query();
    vector<Step> steps;
    if (chance(15))
        steps.push_back({0, "EXPLAIN (COSTS OFF) " + sql});
    if (chance(20)) {
        steps = {{0, "PREPARE p AS " + sql}, {0, "EXECUTE p"}, {0, "EXECUTE p"}};
    } else if (chance(20)) {
        steps = {{0, "BEGIN"},
                 {0, "DECLARE c CURSOR FOR " + sql},
                 {0, "FETCH 0 FROM c"},
                 {0, "SELECT last_value FROM mom.calls"},
                 {0, "FETCH ALL FROM c"},
                 {0, "COMMIT"}};
    } else {
        steps.push_back({0, sql});
    }
    const bool explained = steps[0].sql.rfind("EXPLAIN", 0) == 0; // (its plan is another one)
    if (explained)
        steps[0].sql = "SELECT 1 FROM (SELECT count(*) FROM (" + sql + " LIMIT 0) x) y WHERE false";
    steps.push_back({0, "SELECT last_value, is_called FROM mom.seq"});
    steps.push_back({0, "SELECT last_value, is_called FROM mom.calls"});
    w.play("SELECT setval('mom.seq', 1), setval('mom.calls', 1)", steps);
}

} // namespace fuzz
