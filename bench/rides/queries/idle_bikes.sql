-- Bikes that nobody has taken for a month before a day
select count(*), avg(price)::numeric(10,2) from bikes b
where b.retired is null and b.id not in (select bike_id from trips where started >= '2024-09-01' and started < '2024-10-01');
