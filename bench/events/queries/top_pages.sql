-- The ten blog posts that were read most
select path, count(*) as views, count(distinct session_id) as sessions
from events where name = 'page_view' and path like '/blog/%'
group by path order by views desc, path
limit 10;
