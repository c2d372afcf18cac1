-- Who does most?
select user_id, count(*) as events, sum(amount) as spent, max(at) as last_seen
from events where user_id is not null
group by user_id having count(*) > 50 order by events desc, user_id
limit 20;
