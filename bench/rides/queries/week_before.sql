-- Trips of each week beside the week before
with weeks as (select date_trunc('week', started) as week, count(*) as trips from trips group by 1)
select week, trips, trips - lag(trips) over (order by week) as more from weeks order by week;
