-- The same self-join of a range that is a good part of the table
select a.x, sum(a.y * b.y) as total
from points a
join points b on a.id = b.id
where a.id < :many
group by a.x
order by x;
