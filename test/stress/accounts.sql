-- Accounts of which the number and the sum of amounts never change (transfer.sql); after setup.sql.
DROP TABLE IF EXISTS account;
CREATE TABLE account (id int PRIMARY KEY, branch int NOT NULL, amount int8 NOT NULL, note text) WITH (fillfactor = 85);
INSERT INTO account SELECT i, i % 50, 1000, repeat(md5(i::text), CASE WHEN i % 20 = 0 THEN 100 ELSE 2 END) FROM generate_series(1, 20000) i;

-- The device's total, and its answers to another query beside PostgreSQL's under one snapshot, that of the caller.
CREATE OR REPLACE FUNCTION total_check() RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
    query constant text := 'SELECT branch, count(*), sum(amount), min(id), count(note), sum(length(note)) FROM account GROUP BY branch';
    total text;
    plain text;
    device text;
BEGIN
    PERFORM set_config('gpuscan.offload', 'force', true);
    EXECUTE 'SELECT (count(*), sum(amount))::text FROM account' INTO total;
    EXECUTE format('SELECT string_agg(x::text, E''\n'' ORDER BY x::text) FROM (%s) x', query) INTO device;
    PERFORM set_config('gpuscan.offload', 'off', true);
    EXECUTE format('SELECT string_agg(x::text, E''\n'' ORDER BY x::text) FROM (%s) x', query) INTO plain;
    IF plain IS DISTINCT FROM device THEN
        RAISE EXCEPTION 'answers differ for %', query
            USING DETAIL = format(E'PostgreSQL:\n%s\ndevice:\n%s', left(plain, 2000), left(device, 2000)), ERRCODE = 'data_corrupted';
    END IF;
    IF total <> '(20000,20000000)' THEN
        RAISE EXCEPTION 'answers differ from the known total: %', total USING ERRCODE = 'data_corrupted';
    END IF;
END $$;
