-- Of those who logged in on a day: how many did so again a week later?
select a.day, count(*) as users, count(b.user_id) as back
from (select distinct user_id, at::date as day from events where name = 'login') a
left join (select distinct user_id, at::date as day from events where name = 'login') b
       on b.user_id = a.user_id and b.day = a.day + 7
group by a.day order by a.day;
