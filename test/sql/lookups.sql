-- What expressions over a text column make of the dictionary's entries is kept between executions: the same expression again,
-- another one, another type of result, after the dictionary has grown, of another table, in a function's own plan.
CREATE SCHEMA lookups;
SET search_path = lookups, public;
CREATE TABLE t (id int, name text, other varchar(20) COLLATE "C", c char(8));
INSERT INTO t SELECT i, nullif('name ' || i % 300, 'name 7'), 'o' || i % 17, 'c' || i % 5 FROM generate_series(1, 3000) i;
VACUUM (FREEZE, ANALYZE) t;
CREATE TABLE u AS SELECT id + 5 AS id, upper(name) AS name, other, c FROM t WHERE id < 900;
VACUUM (FREEZE, ANALYZE) u;
CREATE FUNCTION lookups_check(tables text[] DEFAULT '{t,u}') RETURNS SETOF text LANGUAGE sql AS $$
    SELECT check_matrix('SELECT count(*), sum(id) FROM %1$s WHERE %2$s', tables, ARRAY[
        'name LIKE ''%1%''', 'name LIKE ''%2%''', 'name LIKE ''%1%''', 'name NOT LIKE ''%1%''', 'name ILIKE ''NAME 1%''', 'name LIKE ''NAME 1%''', 'name IS NOT NULL AND name LIKE ''%new%''',
        'other LIKE ''%1%''', 'other = ''o1'' OR other = ''o12''', 'length(name) > 6', 'length(name) = 6 OR length(other) = 2', 'c = ''c1''', 'c LIKE ''c1%''', 'coalesce(name, ''none'') = ''none'''])
    UNION ALL
    SELECT check_matrix('SELECT length(name), count(*), min(length(other)) FROM %s GROUP BY 1', tables)
    UNION ALL
    SELECT check_matrix('SELECT min(name), max(other) FROM %s WHERE name > ''name 2''', tables)
$$;
SELECT lookups_check();
SELECT lookups_check();
-- new texts: the dictionary of the device grows with rows that are only in the table, and with those that are cached
INSERT INTO t SELECT i, 'new ' || i, 'o' || i, 'new' || i % 3 FROM generate_series(4001, 4400) i;
SELECT lookups_check('{t}');
VACUUM t;
SELECT lookups_check('{t}');
DELETE FROM t WHERE name LIKE '%1%';
SELECT lookups_check('{t}');
VACUUM t;
SELECT lookups_check('{t}');
-- another table in the place of the old one
TRUNCATE u;
INSERT INTO u SELECT i, 'Name ' || i % 10, 'x' || i % 4, 'c' || i % 2 FROM generate_series(1, 500) i;
VACUUM (FREEZE, ANALYZE) u;
SELECT lookups_check('{u}');
-- patterns that are only known when the query runs
SELECT check_prepared('device', 'SELECT count(*), sum(id) FROM t WHERE name LIKE $1', '(text)', '(''%1%'')', '(''%2%'')', '(''%new%'')', '(''%1%'')', '(NULL)');
-- the cache has forgotten the column, and the session has not
SELECT gpuscan.evict('t') IS NOT NULL AS evicted;
SELECT lookups_check('{t}');
