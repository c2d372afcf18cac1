-- The three busiest stations of each district
select district, place, name, trips from (
    select d.name as district, s.name, count(*) as trips, row_number() over (partition by d.id order by count(*) desc, s.id) as place
    from trips t join stations s on s.id = t.from_station join districts d on d.id = s.district_id group by d.id, d.name, s.id, s.name) x
where place <= 3 order by district, place;
