-- What do users of each plan buy?
with bought as (
    select user_id, product_id, amount from events where name = 'purchase' and at >= '2026-08-01'
)
select p.category, u.plan, count(*) as orders, sum(b.amount) as revenue
from bought b join products p on p.id = b.product_id join users u on u.id = b.user_id
group by p.category, u.plan order by p.category, u.plan;
