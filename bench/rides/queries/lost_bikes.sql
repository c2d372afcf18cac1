-- Trips that never ended, by model
select b.model, count(*) as trips, max(t.started) as last
from trips t join bikes b on b.id = t.bike_id where t.to_station is null
group by b.model order by trips desc, b.model;
