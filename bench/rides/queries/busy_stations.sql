-- The twenty stations where most trips begin, and what comes back to them
select s.id, s.name, d.name as district, count(*) as trips, count(*) filter (where t.to_station = t.from_station) as returned
from trips t join stations s on s.id = t.from_station join districts d on d.id = s.district_id
group by s.id, s.name, d.name order by trips desc, s.id
limit 20;
