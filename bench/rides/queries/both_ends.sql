-- Stations that trips begin at or end at, not both, in one night
(select from_station from trips where started >= '2023-05-01 00:00+02' and started < '2023-05-01 04:00+02'
 except select to_station from trips where started >= '2023-05-01 00:00+02' and started < '2023-05-01 04:00+02') order by 1;
