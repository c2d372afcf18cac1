-- Riders by the quarter in which they joined, and how many of them rode in each year
select date_trunc('quarter', r.joined)::date as cohort, extract(year from t.started)::int as year, count(distinct t.rider_id) as riders
from riders r join trips t on t.rider_id = r.id group by 1, 2 order by 1, 2;
