-- The experiment's variant B, by kind of device
select properties->>'device' as device, count(*) as events, sum((properties->>'items')::int) as items
from events where properties->>'variant' = 'B' group by 1 order by events desc, device;
