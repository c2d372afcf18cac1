-- The last week by hour
select date_trunc('hour', started) as hour, count(*), sum(seconds) as seconds
from trips where started >= '2024-10-25' group by hour order by hour;
