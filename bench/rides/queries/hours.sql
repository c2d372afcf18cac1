-- When do people ride? Hour by day of the week
select extract(isodow from started)::int as weekday, extract(hour from started)::int as hour, count(*), avg(seconds) as mean_seconds
from trips where seconds is not null
group by 1, 2 order by 1, 2;
