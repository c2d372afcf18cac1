-- Days with much wind in a district, and its trips on such days
select d.name, count(distinct w.day) as days, count(t.id) as trips
from districts d join weather w on w.district_id = d.id and w.wind > 14
left join (stations s join trips t on t.from_station = s.id) on s.district_id = d.id and t.started::date = w.day
group by d.name order by d.name;
