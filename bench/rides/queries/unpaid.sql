-- Trips of a month that nobody paid, the dearest first
select id, rider_id, started, fare from trips
where paid is null and started >= '2023-06-01' and started < '2023-07-01' order by fare desc, id
limit 50;
