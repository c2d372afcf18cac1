-- Who pays most, with their share of all
select r.id, r.country, sum(t.fare) as total, round(100 * sum(t.fare) / (select sum(fare) from trips), 5) as per_cent
from trips t join riders r on r.id = t.rider_id
group by r.id, r.country order by total desc, r.id
limit 25;
