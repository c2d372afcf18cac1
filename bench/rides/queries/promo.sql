-- What did promotions cost?
select coalesce(promo, 'none') as promo, count(*) as trips, sum(fare - coalesce(paid, 0)) as given
from trips group by 1 order by given desc, 1;
