-- Revenue by day, its total so far and the mean of seven days
select at::date as day, sum(amount) as revenue, sum(sum(amount)) over (order by at::date) as so_far,
       round(avg(sum(amount)) over (order by at::date rows 6 preceding), 2) as week_mean
from events where name = 'purchase' group by at::date order by day;
