-- A self-join of rows that an index finds, here and there in the table
select a.x, sum(a.y * b.y) as total
from points a
join points b on a.id = b.id
where a.x = 42
group by a.x
order by x;
