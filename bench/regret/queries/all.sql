-- The same self-join of the whole table
select a.x, sum(a.y * b.y) as total
from points a
join points b on a.id = b.id
group by a.x
order by x;
