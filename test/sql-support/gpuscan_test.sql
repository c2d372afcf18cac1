-- Faults of the device process on demand, for the tests: 'segv', 'stall' (until cancelled), 'write' (into
-- shared_buffers). Not part of the extension. Returns the request's status: 'lost' if the process died of it.
CREATE FUNCTION gpuscan_test_device(what text) RETURNS text
LANGUAGE C STRICT VOLATILE AS '$libdir/gpuscan', 'gpuscan_test_device';

-- Waits until a device can be used; false after 30 s.
CREATE FUNCTION gpuscan_test_wait_ready() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..3000 LOOP
        IF EXISTS (SELECT FROM gpuscan.devices WHERE state = 'ready') THEN
            RETURN true;
        END IF;
        PERFORM pg_sleep(0.01);
    END LOOP;
    RETURN false;
END $$;
