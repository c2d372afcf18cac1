-- Users who were active on a day
select date_trunc('day', at) as day, count(distinct user_id) as users
from events group by 1 order by 1;
