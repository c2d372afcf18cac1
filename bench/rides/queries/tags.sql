-- Stations near trains and buses
select tag, count(distinct s.id) as stations, count(*) as trips
from stations s cross join unnest(s.tags) tag join trips t on t.from_station = s.id group by tag order by tag;
