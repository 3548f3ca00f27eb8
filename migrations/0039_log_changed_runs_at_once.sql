-- One insert for all that a statement changes: many runs are claimed, and end, by one.
CREATE FUNCTION log_changed_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) SELECT n.tenant_id, 'run', jsonb_build_object(
    'id', n.id, 'workflowId', n.workflow_id, 'status', n.status, 'errorCode', n.error->>'code',
    'startedAt', to_char(n.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'finishedAt', to_char(n.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  FROM changed n JOIN before o ON o.id = n.id WHERE o.status IS DISTINCT FROM n.status;
  RETURN NULL;
END $$;
--> statement-breakpoint
DROP TRIGGER log_changed ON runs;
--> statement-breakpoint
CREATE TRIGGER log_changed AFTER UPDATE ON runs REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_changed_runs();
--> statement-breakpoint
DROP FUNCTION log_run_event();
