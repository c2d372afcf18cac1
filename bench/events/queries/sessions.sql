-- Sessions by browser
select case when user_agent like '%Firefox%' then 'Firefox' when user_agent like '%Chrome%' then 'Chrome'
            when user_agent like '%Safari/%' then 'Safari' else 'other' end as browser,
       count(distinct session_id) as sessions, count(*) as events
from events group by 1 order by sessions desc, browser;
