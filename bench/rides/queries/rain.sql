-- Do people ride when it rains?
select w.sky, d.hilly, count(*) as trips, avg(t.seconds) as mean_seconds, sum(w.rain_mm) as rain
from trips t join stations s on s.id = t.from_station join districts d on d.id = s.district_id
join weather w on w.day = t.started::date and w.district_id = s.district_id
group by w.sky, d.hilly order by w.sky, d.hilly;
