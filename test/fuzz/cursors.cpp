#include "classes.hpp"

namespace fuzz {

namespace {

// Queries in a total order, or of one row: what a cursor shows is the same, row by row.
string cursor_query() {
    const string where = pick({"", " WHERE k < 20", " WHERE v > 3 AND s <> 'w5'", " WHERE ts < '2024-01-20'",
                               " WHERE ts::date >= date '2024-01-05'", " WHERE owner = current_user"});
    switch (roll(16)) {
    case 0:
        return "SELECT id, ts::date, v FROM cur.t" + where + " ORDER BY id";
    case 1:
        return "SELECT id, date_trunc('day', ts), extract(hour FROM ts) FROM cur.t" + where + " ORDER BY id";
    case 2:
        return "SELECT k, count(*), sum(v), min(s) FROM cur.t" + where + " GROUP BY k ORDER BY k";
    case 3:
        return "SELECT id, ts::text, d::text FROM cur.t" + where + " ORDER BY id";
    case 4:
        return "SELECT id, (f * 1.1)::text FROM cur.t" + where + " ORDER BY id";
    case 5:
        return "SELECT count(*), sum(v) FROM cur.p" + where;
    case 6:
        return "SELECT id, v FROM cur.p" + where + " ORDER BY id";
    case 7:
        return "SELECT id, cur.f(k) FROM cur.t" + where + " ORDER BY id";
    case 8:
        return "SELECT a.id, b.s, b.v FROM cur.t a JOIN cur.u b ON a.k = b.k ORDER BY a.id, b.id";
    case 9:
        return "SELECT id, (SELECT max(k) FROM cur.u WHERE u.v > 2) FROM cur.t" + where + " ORDER BY id";
    case 10:
        return "SELECT id, current_user, current_setting('cur.x', true) FROM cur.t" + where + " ORDER BY id";
    case 11:
        return "SELECT ts::date AS day, count(*) FROM cur.t" + where + " GROUP BY 1 ORDER BY 1";
    case 12:
        return "SELECT count(*), max(cur.g(k)) FROM cur.t" + where;
    case 13:
        return "SELECT * FROM cur.t" + where + " ORDER BY id";
    case 14:
        return "SELECT k, count(*) FROM unqualified" + where + " GROUP BY k ORDER BY k";
    default:
        return "SELECT count(*) FROM cur.t WHERE ts::date = date '2024-01-0" + number(1 + roll(9)) +
               "' AND k IN (SELECT k FROM cur.u)";
    }
}

string setting() {
    return pick({"SET TimeZone = 'Asia/Tokyo'", "SET TimeZone = 'America/Los_Angeles'",
                 "SET LOCAL TimeZone = 'Europe/Berlin'", "SET DateStyle = 'German, DMY'", "SET extra_float_digits = -5",
                 "SET cur.x = 'one'", "SET cur.x = 'two'", "SET search_path = cur, public", "SET search_path = other",
                 "SET work_mem = '64kB'", "SET row_security = off", "SET row_security = on",
                 "SET IntervalStyle = 'iso_8601'"});
}

string role() {
    return pick({"SET ROLE fuzz_reader", "SET ROLE fuzz_other", "RESET ROLE", "SET LOCAL ROLE fuzz_reader",
                 "SET SESSION AUTHORIZATION fuzz_other", "RESET SESSION AUTHORIZATION"});
}

string change() {
    return pick({"REVOKE SELECT ON cur.t FROM fuzz_reader",
                 "GRANT SELECT ON cur.t TO fuzz_reader",
                 "REVOKE EXECUTE ON FUNCTION cur.f(int) FROM public, fuzz_reader",
                 "GRANT EXECUTE ON FUNCTION cur.f(int) TO public",
                 "REVOKE USAGE ON SCHEMA cur FROM fuzz_reader",
                 "REVOKE SELECT ON cur.p FROM fuzz_reader",
                 "CREATE OR REPLACE FUNCTION cur.f(int) RETURNS int STABLE LANGUAGE sql AS 'SELECT $1 * 100'",
                 "CREATE OR REPLACE FUNCTION cur.g(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 + "
                 "1000; END'",
                 "DROP FUNCTION cur.f(int)",
                 "ALTER TABLE cur.t ADD COLUMN more int DEFAULT 7",
                 "ALTER TABLE cur.t DROP COLUMN v",
                 "ALTER TABLE cur.t ALTER v TYPE int8",
                 "DROP TABLE cur.u",
                 "TRUNCATE cur.t",
                 "TRUNCATE cur.u",
                 "CREATE INDEX ON cur.t (k)",
                 "ALTER TABLE cur.t RENAME TO t2",
                 "ALTER TABLE cur.p DISABLE ROW LEVEL SECURITY",
                 "ALTER TABLE cur.p FORCE ROW LEVEL SECURITY",
                 "CREATE POLICY all_rows ON cur.p USING (true)",
                 "DROP POLICY own ON cur.p",
                 "ALTER ROLE fuzz_reader SET work_mem = '1MB'",
                 "CREATE TABLE cur.unqualified AS SELECT 5 AS k, 1 AS v, 'a' AS s, now() AS ts, 'x' AS owner",
                 "INSERT INTO cur.t (id, k, v) SELECT i, 3, 9 FROM generate_series(5000, 5020) i",
                 "DELETE FROM cur.t WHERE k = 3",
                 "UPDATE cur.t SET v = v + 1 WHERE k < 9",
                 "UPDATE cur.u SET v = 0, k = 1",
                 "INSERT INTO cur.p VALUES (9000, 1, 1, 'w1', now(), 'fuzz_reader')",
                 "ALTER FUNCTION cur.f(int) SECURITY DEFINER",
                 "ALTER FUNCTION cur.g(int) SET search_path = cur",
                 "COMMENT ON TABLE cur.t IS 'x'",
                 "ANALYZE cur.t",
                 "ALTER TABLE cur.t ALTER k SET NOT NULL",
                 "LOCK TABLE cur.t IN ACCESS EXCLUSIVE MODE"});
}

string reset() {
    return R"(DROP SCHEMA IF EXISTS cur, other CASCADE; CREATE SCHEMA cur; CREATE SCHEMA other;
CREATE TABLE cur.t (id int, k int, v int, s text, ts timestamptz, d date, f float8, owner text);
INSERT INTO cur.t SELECT i, i % 30, nullif(i % 13, 5), 'w' || i % 9, timestamptz '2024-01-01 00:00+00' + i * interval '97 minutes', date '2024-01-01' + i % 40, i / 7.0,
    CASE i % 3 WHEN 0 THEN 'postgres' WHEN 1 THEN 'fuzz_reader' ELSE 'fuzz_other' END FROM generate_series(1, 400) i;
CREATE TABLE cur.u AS SELECT i AS id, i AS k, i % 5 AS v, 'u' || i AS s FROM generate_series(1, 25) i;
CREATE TABLE cur.p AS SELECT id, k, v, s, ts, owner FROM cur.t;
CREATE TABLE cur.unqualified AS SELECT k, v, s, ts, owner FROM cur.t;
CREATE TABLE other.unqualified AS SELECT k + 1 AS k, v, s, ts, owner FROM cur.t WHERE k < 10;
ALTER TABLE cur.p ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON cur.p USING (owner = current_user);
CREATE FUNCTION cur.f(int) RETURNS int STABLE LANGUAGE sql AS 'SELECT $1 + 1';
CREATE FUNCTION cur.g(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 + 1; END';
GRANT USAGE ON SCHEMA cur, other TO fuzz_reader; GRANT SELECT ON cur.t, cur.u, cur.p TO fuzz_reader; GRANT SELECT ON cur.unqualified TO fuzz_reader; ANALYZE cur.t, cur.u, cur.p, cur.unqualified)";
}

} // namespace

void prepare_cursors(World &w) {
    w.attempt(0, "CREATE ROLE fuzz_reader"); // may be there, of another database
    w.attempt(0, "CREATE ROLE fuzz_other");
}

void cursors_round(World &w) {
    vector<Step> steps;
    const bool prepared = chance(30), hold = chance(15), two = chance(15);
    steps.push_back({0, "SET search_path = cur"});
    steps.push_back({0, "SET cur.x = ''"}); // (a session that has once set it no longer has NULL)
    if (chance(40))
        steps.push_back({0, chance(50) ? role() : setting()});
    if (prepared && chance(50))
        steps.push_back({0, "SET plan_cache_mode = force_generic_plan"});
    if (!prepared || chance(30))
        steps.push_back({0, "BEGIN" + pick({"", "", " ISOLATION LEVEL REPEATABLE READ"})});
    const string sql = cursor_query();
    // (Without either the plan decides whether it may go backward.)
    steps.push_back({0, prepared ? "PREPARE c AS " + sql
                                 : "DECLARE c " + pick({"SCROLL ", "NO SCROLL "}) + "CURSOR " +
                                       (hold ? "WITH HOLD " : "") + "FOR " + sql});
    bool committed = false;
    for (int i = 3 + roll(6); i > 0; --i) {
        const string save = "s" + number(i);
        const int kind = roll(10);
        if (kind < 4)
            steps.push_back(
                {0, prepared ? "EXECUTE c" : "FETCH " + pick({"1", "3", "10", "ALL", "0"}) + " FROM c", true});
        else if (kind < 6)
            steps.push_back({0, setting()});
        else if (kind < 7)
            steps.push_back({0, role()});
        else if (!prepared && !committed && hold && chance(30)) {
            steps.push_back({0, "COMMIT"});
            committed = true;
        } else if (two && chance(40))
            steps.push_back({1, change()});
        else { // may fail, which must not end the transaction
            if (!prepared && !committed)
                steps.push_back({0, "SAVEPOINT " + save});
            steps.push_back({0, change()});
            if (!prepared && !committed)
                steps.push_back({0, (chance(60) ? "RELEASE " : "ROLLBACK TO ") + save});
        }
    }
    steps.push_back({0, prepared ? "EXECUTE c" : "FETCH ALL FROM c", true});
    steps.push_back({0, "SELECT count(*) FROM cur.t"});
    w.play(reset(), steps);
}

} // namespace fuzz
