-- Bikes whose repairs cost more than a fifth of their price
select b.id, b.model, b.price, sum(r.cost) as cost
from bikes b join repairs r on r.bike_id = b.id
group by b.id, b.model, b.price having sum(r.cost) > b.price / 5 order by cost desc, b.id
limit 40;
