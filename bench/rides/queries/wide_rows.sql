-- An export: a day's trips with all that belongs to them
select t.id, t.started, r.email, r.plan, f.name as from_name, g.name as to_name, b.model, t.seconds, t.fare
from trips t join riders r on r.id = t.rider_id join stations f on f.id = t.from_station left join stations g on g.id = t.to_station join bikes b on b.id = t.bike_id
where t.started >= '2023-08-15' and t.started < '2023-08-16' order by t.id;
