-- A report by month, with its label
select to_char(at, 'YYYY-MM') as month, count(*) as events, count(amount) as orders, sum(amount) as revenue
from events group by 1 order by 1;
