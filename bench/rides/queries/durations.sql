-- Short, usual and long trips
select case when seconds < 300 then 'short' when seconds < 1800 then 'usual' when seconds is null then 'open' else 'long' end as kind,
       count(*), sum(fare) as fare, min(started) as first
from trips group by 1 order by 1;
