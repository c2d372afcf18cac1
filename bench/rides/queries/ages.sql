-- Trips by decade of birth and electric bikes
select extract(decade from r.born)::int * 10 as decade, b.electric, count(*) as trips, round(avg(t.metres)::numeric, 2) as mean_metres
from trips t join riders r on r.id = t.rider_id join bikes b on b.id = t.bike_id
where r.born is not null group by 1, 2 order by 1, 2;
