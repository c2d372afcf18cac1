-- Trips on bikes after they were retired
select b.id, b.retired, count(*) from bikes b join trips t on t.bike_id = b.id and t.started::date > b.retired
group by b.id, b.retired order by count(*) desc, b.id limit 10;
