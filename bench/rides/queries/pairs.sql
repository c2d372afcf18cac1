-- The most common ways between districts
select a.name as from_district, b.name as to_district, count(*) as trips, sum(t.metres::float8 / 1000)::int as km
from trips t join stations f on f.id = t.from_station join stations g on g.id = t.to_station
join districts a on a.id = f.district_id join districts b on b.id = g.district_id
where a.id <> b.id
group by a.name, b.name having count(*) > 50 order by trips desc, 1, 2
limit 30;
