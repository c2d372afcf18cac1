-- Riders who joined and never rode
select plan, count(*) from riders r
where not exists (select from trips t where t.rider_id = r.id) group by plan order by plan;
