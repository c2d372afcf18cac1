-- Income of each month and kind of plan
select date_trunc('month', t.started) as month, r.plan, count(*) as trips, sum(t.paid) as paid, round(avg(t.fare), 4) as mean_fare
from trips t join riders r on r.id = t.rider_id
group by month, r.plan order by month, r.plan;
