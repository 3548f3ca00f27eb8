-- Steps and log lines lie in a part of their table for each month from here on. What there is becomes the first part as it lies: here it gets a bound, to
-- which new rows are held at once, and in the next migration old ones, which keeps nobody from writing. The month after it is at least seven days away.
DO $$
DECLARE
  bound_at timestamp := date_trunc('month', (now() AT TIME ZONE 'UTC') + interval '7 days') + interval '1 month';
  -- The least UUIDv7 of that instant.
  bound uuid := lpad(to_hex((extract(epoch FROM bound_at) * 1000)::bigint), 12, '0') || '70008000000000000000';
  kept record;
BEGIN
  FOR kept IN SELECT * FROM (VALUES ('run_steps', 'run_id'), ('run_logs', 'id')) AS t (name, key) LOOP
    -- For ids of a month that nobody made a part for: nobody's clock may cost a run its rows. It is there already where this was
    -- done before and taken back.
    IF to_regclass(format('public.%I', kept.name || '_default')) IS NULL THEN
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', kept.name || '_default', kept.name);
      EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', kept.name || '_default');
      EXECUTE format('REVOKE ALL ON %I FROM outrigger_app, outrigger_system', kept.name || '_default');
      EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I FOREIGN KEY (run_id) REFERENCES runs(id) ON DELETE CASCADE', kept.name || '_default', kept.name || '_run_id_runs_id_fk');
    END IF;
    EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (%I < %L) NOT VALID', kept.name, kept.name || '_bound', kept.key, bound);
    EXECUTE format('WITH later AS (DELETE FROM %I WHERE %I >= %L RETURNING *) INSERT INTO %I SELECT * FROM later', kept.name, kept.key, bound, kept.name || '_default');
  END LOOP;
END $$;
