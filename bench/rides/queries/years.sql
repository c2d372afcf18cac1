-- Years, zones and electric bikes, with all totals
select extract(year from t.started)::int as year, d.zone, b.electric, count(*) as trips, sum(t.fare) as fare
from trips t join stations s on s.id = t.from_station join districts d on d.id = s.district_id join bikes b on b.id = t.bike_id
group by cube (extract(year from t.started)::int, d.zone, b.electric) order by 1, 2, 3;
