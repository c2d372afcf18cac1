-- money, time, oid, enum, uuid; what is equal if its bytes are (bytea, inet, macaddr, timetz); what is only handed through
-- (jsonb, arrays, intervals, numeric without a scale, ...); domains. NULLs, duplicates, ends of ranges.
CREATE SCHEMA types_other;
SET search_path = types_other, public;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE mood ADD VALUE 'bored' BEFORE 'ok';
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN named AS mood;
CREATE TABLE t (id int, g int, m money, ti time, tz timetz, u uuid, o oid, e mood, b bytea, ip inet, net cidr, mac macaddr, mac8 macaddr8, iv interval, a int[], j jsonb, js json, p point, r int4range, nf numeric, na name, x text, d positive, dn named);
INSERT INTO t
    SELECT i, i % 5, nullif(i % 40, 3) * 1.5::numeric::money, nullif(i % 24, 5) * interval '1 hour 1 second' + time '00:00', ((i % 24) * interval '1 hour' + time '00:00')::text::time AT TIME ZONE (ARRAY['UTC', '-03', '+05:30'])[1 + i % 3],
           nullif(md5((i % 300)::text), md5('7'))::uuid, (nullif(i % 60, 9)::int8 * 70000000)::oid, (ARRAY['sad', 'ok', NULL, 'happy', 'bored'])[1 + i % 5]::mood, nullif(decode(md5((i % 70)::text), 'hex'), decode(md5('4'), 'hex')),
           nullif('10.0.' || i % 7 || '.' || i % 11 || CASE WHEN i % 3 = 0 THEN '/16' ELSE '' END, '10.0.1.1')::inet, ('10.' || i % 9 || '.0.0/16')::cidr, ('08:00:2b:01:02:' || lpad(to_hex(i % 17), 2, '0'))::macaddr, ('08:00:2b:01:02:03:04:' || lpad(to_hex(i % 13), 2, '0'))::macaddr8,
           CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN interval '1 month' WHEN 2 THEN interval '30 days' ELSE i % 20 * interval '1 hour' END, CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN '{}' ELSE ARRAY[i % 9, NULL, i % 3] END, CASE i % 6 WHEN 0 THEN NULL ELSE jsonb_build_object('a', i % 8, 'b', 'x' || i % 4) END,
           json_build_object('k', i % 5), point(i % 6, i % 4), int4range(i % 5, i % 5 + 3), CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN 1.50 ELSE i % 20 / 8.0 END, 'n' || i % 5, 'x' || i % 4, 1 + i % 6, (ARRAY['sad', 'ok'])[1 + i % 2]::named
    FROM generate_series(1, 1100) i;
CREATE TABLE edge (id int, m money, ti time, u uuid, o oid, e mood, b bytea, ip inet, tz timetz);
INSERT INTO edge VALUES (1, '-92233720368547758.08', '00:00', '00000000-0000-0000-0000-000000000000', 0, 'sad', '', '0.0.0.0/0', '00:00+15:59'), (2, '92233720368547758.07', '24:00', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 4294967295, 'happy', '\x00', '255.255.255.255', '24:00-15:59'),
    (3, '0', '12:00', '80000000-0000-0000-0000-000000000000', 2147483648, 'ok', '\x0000', '::1', '12:00+00'), (4, '0', '12:00:00.000001', '7fffffff-ffff-ffff-ffff-ffffffffffff', 2147483647, 'ok', '\xff', '::ffff:10.0.0.1', '13:00+01'), (5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (6, '-0.01', '23:59:59.999999', '00000000-0000-0000-0000-000000000001', 1, 'bored', '\xffff', '10.0.0.1/8', '12:00+00');
VACUUM (FREEZE, ANALYZE) t;
VACUUM (FREEZE, ANALYZE) edge;

-- delivered as they are
SELECT check_matrix('SELECT %1$s FROM %2$s', '{"id, m, ti","id, tz","u, id","o, e, id","b, id","ip, net, mac, mac8","iv, id","a","j, js","p::text, r","nf, id","na, x, d","dn, e, u, nf","d, dn"}', '{t,"t WHERE g = 2","t WHERE id < 0"}');
SELECT check_matrix('SELECT id, %1$s FROM edge', '{m,ti,u,o,e,b,ip,tz,"u, tz, b"}');
SELECT check_matrix('SELECT count(%1$s), count(*) FILTER (WHERE %1$s IS NULL) FROM t', '{m,ti,tz,u,o,e,b,ip,net,mac,mac8,iv,a,j,js,p,r,nf,na,d,dn}');
-- groups and order
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM t GROUP BY 1', '{m,ti,tz,u,o,e,b,ip,net,mac,mac8,d,dn}');
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM edge GROUP BY 1', '{m,ti,u,o,e,b,ip,tz}');
SELECT check_matrix('SELECT %1$s, count(*) FROM t GROUP BY 1', '{iv,a,j,r,nf,na,p::text,"j ->> ''a''","nf * 2"}', expect => 'any');
SELECT check_matrix('SELECT min(%1$s), max(%1$s), count(%1$s) FROM %2$s', '{m,ti}', '{t,edge,"t WHERE id < 0"}');
SELECT check_matrix('SELECT min(%1$s), max(%1$s) FROM t', '{tz,o,e,ip,iv,a,nf,d,b::text,u::text}', expect => 'any');
SELECT check_matrix('SELECT %2$s min(%1$s), max(%1$s), max(%1$s) FILTER (WHERE id %% 3 = 1), max(DISTINCT %1$s) FROM t WHERE id <> 5 GROUP BY %2$s id > 0', '{tz,ip,net,network(ip),CASE WHEN id > 9 THEN ip END,"COALESCE(ip, net)"}', '{"","g,"}');
SELECT check_matrix('SELECT min(%1$s), max(%1$s) FROM %2$s', '{tz,ip}', '{edge,"edge WHERE id < 0","edge WHERE id > 2","edge GROUP BY id"}');
SELECT check_query('SELECT g, max(ip) FROM t GROUP BY g HAVING max(ip) > ''10.0.1.0'' AND min(tz) < ''12:00+00'' ORDER BY 1 LIMIT 2', 'any');
SET gpuscan.offload = force;
SELECT refusals('SELECT g, min(tz), max(ip), min(net) FROM t GROUP BY g');
RESET gpuscan.offload;
SELECT check_matrix('SELECT sum(%1$s) FROM t', '{m,iv,nf,d}', expect => 'any');
-- conditions
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['m > ''5''', 'm = ''6''', 'm BETWEEN ''3'' AND ''9''', 'ti < ''12:00''', 'ti >= ''22:00:22''', 'tz = ''05:00:00+00''', 'tz <> ''05:00:00+00''', 'u = md5(''12'')::uuid', 'u > ''80000000-0000-0000-0000-000000000000''', 'u <= ''7fffffff-ffff-ffff-ffff-ffffffffffff''', 'u IN (md5(''1'')::uuid, md5(''2'')::uuid)', 'o = 700000000', 'o <> 4200000000',
    'e = ''ok''', 'e <> ''sad''', 'e IN (''sad'', ''happy'')', 'e IS DISTINCT FROM ''ok''', 'b = decode(md5(''3''), ''hex'')', 'b <> ''''', 'ip = ''10.0.2.2''', 'ip <> ''10.0.3.3/16''', 'net = ''10.3.0.0/16''', 'mac = ''08:00:2b:01:02:05''', 'mac8 <> ''08:00:2b:01:02:03:04:05''', 'd = 3', 'NULLIF(e, ''ok'') IS NULL', 'COALESCE(u, md5(''7'')::uuid) = md5(''7'')::uuid']);
SELECT check_matrix('SELECT count(*), sum(id) FROM edge WHERE %s', ARRAY['m < ''0''', 'm <= ''92233720368547758.07''', 'ti > ''12:00''', 'ti = ''24:00''', 'u < ''80000000-0000-0000-0000-000000000000''', 'u >= ''00000000-0000-0000-0000-000000000001''', 'o = 4294967295', 'o <> 2147483648', 'b = ''\x00''', 'ip = ''::1''', 'tz = ''12:00+00''']);
SELECT check_matrix('SELECT count(*), sum(id) FROM t WHERE %s', ARRAY['o > 5', 'e > ''sad''', 'b > ''\x80''', 'ip << ''10.0.0.0/16''', 'iv = interval ''30 days''', 'a = ARRAY[1]', 'j @> ''{"a": 1}''', 'j ->> ''b'' = ''x1''', 'nf = 1.5', 'nf > 1', 'COALESCE(nf, 0) = 0', 'na = ''n1''', 'r @> 2', 'e::text = ''ok''', 'm * 2 > ''5''', 'ti + interval ''1 hour'' > ''12:00'''], expect => 'any');
-- joins
SELECT check_matrix('SELECT count(*), sum(a.id), sum(b.id) FROM t a JOIN t b ON a.%1$s = b.%1$s WHERE b.id < 60', '{m,ti,tz,u,o,e,b,ip,net,mac,mac8,d}');
SELECT check_matrix('SELECT a.%1$s, b.j, count(*) FROM t a JOIN t b ON a.id = b.id AND a.%1$s = b.%1$s GROUP BY 1, b.j, b.id', '{e,u}', expect => 'any');
SELECT check_query('SELECT b.u, b.e, b.tz, count(*), sum(a.id) FROM t a JOIN edge b ON a.g = b.id GROUP BY 1, 2, 3');
SELECT check_query('SELECT a.id, b.u, b.e, b.b, b.tz, a.j, a.iv FROM t a JOIN edge b ON a.g = b.id');
SELECT check_matrix('SELECT count(*), sum(a.id) FROM t a JOIN t b ON a.%1$s = b.%1$s WHERE b.id < 60', '{iv,a,j,nf,na,r}', expect => 'any');
SELECT check_query('SELECT s.u, count(*) FROM t JOIN (SELECT u, e, tz FROM edge OFFSET 0) s ON t.e = s.e GROUP BY s.u');

-- a column added later has the missing value of its type
ALTER TABLE t ADD COLUMN u2 uuid DEFAULT '12345678-1234-1234-1234-123456789abc', ADD COLUMN tz2 timetz DEFAULT '11:22+03', ADD COLUMN b2 bytea DEFAULT '\x0102', ADD COLUMN m2 money DEFAULT '7.25', ADD COLUMN e2 mood DEFAULT 'bored', ADD COLUMN j2 jsonb DEFAULT '[1, 2]';
INSERT INTO t (id, g, u2, tz2, b2, m2, e2) VALUES (2000, 1, md5('x')::uuid, '01:00+00', '\x00', '1', 'ok'), (2001, 1, NULL, NULL, NULL, NULL, NULL);
SELECT check_matrix('SELECT %1$s, count(*), sum(id) FROM t GROUP BY 1', '{u2,tz2,b2,m2,e2}');
SELECT check_query('SELECT id, u2, tz2, b2, m2, e2, j2 FROM t WHERE id > 1090');
-- the number of different uuids, whose sum would overflow, of all rows and by groups
SELECT check_matrix('SELECT count(DISTINCT u), count(u), count(DISTINCT u) FILTER (WHERE id > %s) FROM t', '{5,900}'), check_query('SELECT g, count(DISTINCT u) FROM t GROUP BY g'), check_query('SELECT g, count(DISTINCT u) FROM t GROUP BY ROLLUP (g)');
