-- How long after they joined do riders ride?
with firsts as (select rider_id, min(started) as first from trips group by rider_id)
select r.plan, count(*), avg(extract(epoch from f.first - r.joined) / 86400)::numeric(12,2) as days
from firsts f join riders r on r.id = f.rider_id where f.first > r.joined group by r.plan order by r.plan;
