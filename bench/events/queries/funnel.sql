-- How far do users come, by the country they are in?
select country,
       count(distinct user_id) filter (where name = 'page_view') as saw,
       count(distinct user_id) filter (where name = 'add_to_cart') as added,
       count(distinct user_id) filter (where name = 'checkout') as checked_out,
       count(distinct user_id) filter (where name = 'purchase') as bought
from events where at >= '2026-10-01' group by country order by bought desc, country;
