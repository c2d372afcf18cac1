-- Who brings others?
select a.id, a.country, count(*) as brought, count(*) filter (where b.plan >= 'monthly') as good
from riders a join riders b on b.referrer = a.id group by a.id, a.country order by brought desc, good desc, a.id
limit 20;
