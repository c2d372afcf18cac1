-- A report as texts
select to_char(started, 'YYYY-MM') as month, to_char(sum(fare), 'FM999,999,990.00') as income, string_agg(distinct promo, ', ' order by promo) as promos
from trips where started >= '2024-01-01' group by 1 order by 1;
