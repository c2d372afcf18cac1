-- What each mechanic earns us, and the rank
select details->>'by' as mechanic, sum(cost) as cost, rank() over (order by sum(cost) desc nulls last) as place
from repairs group by 1 order by place, mechanic;
