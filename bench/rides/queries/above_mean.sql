-- Trips of the last three days that cost more than twice the mean of their station
select count(*), sum(t.fare) from trips t
where t.fare > (select 2 * avg(u.fare) from trips u where u.from_station = t.from_station) and t.started >= '2024-10-29';
