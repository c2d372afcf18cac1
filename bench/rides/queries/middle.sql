-- The middle trip of each plan
select r.plan, percentile_cont(0.5) within group (order by t.seconds) as middle, percentile_disc(0.9) within group (order by t.fare) as dear
from trips t join riders r on r.id = t.rider_id where t.started >= '2024-01-01' group by r.plan order by r.plan;
