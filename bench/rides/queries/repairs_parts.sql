-- Repairs by part: how many, cost, time
select details->>'part' as part, count(*), sum(cost) as cost, avg((details->>'minutes')::int) as minutes
from repairs group by part order by part;
