-- Revenue of each week
select date_trunc('week', at) as week, count(*) as orders, sum(amount) as revenue, round(avg(amount), 2) as mean
from events where name = 'purchase' group by week order by week;
