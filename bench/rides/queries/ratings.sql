-- Ratings of models: how many, mean, and how they scatter
select b.model, b.electric, count(t.rating) as rated, round(avg(t.rating), 3) as mean, round(stddev_samp(t.rating), 3) as scatter
from bikes b left join trips t on t.bike_id = b.id and t.rating is not null
group by b.model, b.electric order by mean desc nulls last, b.model;
