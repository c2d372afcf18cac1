-- One rider's history
select id, started, from_station, to_station, seconds, fare from trips where rider_id = 17 order by started, id
limit 100;
