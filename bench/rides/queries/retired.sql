-- Trips on bikes after they were retired
select b.id, b.retired, count(*) as trips from bikes b join trips t on t.bike_id = b.id and t.started::date > b.retired
group by b.id, b.retired order by trips desc, b.id
limit 10;
