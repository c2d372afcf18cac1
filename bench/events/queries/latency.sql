-- How long do pages take? The middle and the slowest twentieth
select country, percentile_cont(0.5) within group (order by duration_ms) as middle,
       percentile_cont(0.95) within group (order by duration_ms) as slow
from events where name = 'page_view' group by country order by slow desc, country;
