-- What did one user do last?
select at, name, path, amount from events where user_id = 4720 order by at desc
limit 50;
