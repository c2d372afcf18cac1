-- Trips, riders and income of each day of a quarter
select started::date as day, count(*), count(distinct rider_id) as riders, sum(fare) as income
from trips where started >= '2024-01-01' and started < '2024-04-01'
group by day order by day;
