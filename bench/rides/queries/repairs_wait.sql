-- How long do bikes wait for their repair?
select date_trunc('quarter', reported)::date as quarter, count(*), avg(fixed - reported) as mean_wait, max(fixed - reported) as longest
from repairs where fixed is not null group by quarter order by quarter;
