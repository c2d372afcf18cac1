-- Events of each day and country
select at::date as day, country, count(*) as events
from events group by 1, 2 order by 1, 2;
