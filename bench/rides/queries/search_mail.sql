-- A rider whose address somebody remembers in part
select id, email, joined from riders where email like '%cafe%' order by joined desc, id
limit 10;
