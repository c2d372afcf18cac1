-- Trips by degrees, in steps of five
select floor(w.temperature / 5) * 5 as degrees, count(*) as trips, count(distinct t.bike_id) as bikes
from trips t join stations s on s.id = t.from_station
join weather w on w.district_id = s.district_id and w.day = t.started::date
group by 1 order by 1;
