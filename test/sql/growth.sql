-- Long and deep expressions: the answers are PostgreSQL's, and they come. (Walks that double at each step would not end, and
-- threads' stacks would not hold what is too deep; what is too large for a device is PostgreSQL's.)
CREATE SCHEMA growth;
SET search_path = growth, public;
SET client_min_messages = warning;
SELECT shape, n, verdict FROM shapes() shape, unnest('{1,2,10,20,40,80}'::int[]) n, check_query(shape_query(shape, n), 'any') verdict
WHERE verdict NOT LIKE 'ok (%rows)' AND NOT (shape = 'quotients' AND verdict LIKE 'ok%');
SELECT shape, n, verdict FROM unnest('{greatest,or,and,case when,case x when,sum,coalesce,aggregates,keys,union,intersect,except}'::text[]) shape, unnest('{500,1500}'::int[]) n, check_query(shape_query(shape, n), 'any') verdict
WHERE verdict NOT LIKE 'ok%';
SELECT shape, n, verdict FROM unnest('{abs,nullif,not,case in then,coalesces}'::text[]) shape, unnest('{130,600,1200}'::int[]) n, check_query(shape_query(shape, n), 'any') verdict
WHERE verdict NOT LIKE 'ok%';
-- Those of up to 80 parts are the device's.
SELECT shape, plan_of(shape_query(shape, 80)) FROM shapes() shape;
