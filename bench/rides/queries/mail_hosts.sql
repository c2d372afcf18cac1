-- Riders by the host of their address
select split_part(email, '@', 2) as host, count(*), count(*) filter (where plan = 'yearly') as yearly, avg(length(email)) as mean_length
from riders group by host order by host;
