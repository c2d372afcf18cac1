-- A self-join of a narrow range of an indexed column
select a.x, sum(a.y * b.y) as total
from points a
join points b on a.id = b.id
where a.id < :few
group by a.x
order by x;
