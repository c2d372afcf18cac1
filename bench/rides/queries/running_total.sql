-- Income of a year, day by day and so far
select day, income, sum(income) over (order by day) as so_far
from (select started::date as day, sum(fare) as income from trips where started >= '2022-01-01' and started < '2023-01-01' group by 1) d order by day;
