-- Countries and plans, with totals
select country, plan, count(*) as riders, min(joined)::date as first, max(born) as youngest
from riders group by rollup (country, plan) order by country nulls last, plan nulls last;
