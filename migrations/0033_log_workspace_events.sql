-- Each runs as whoever changes the row, who sees no other workspace's log; none reads anything, so that it costs one insert.
CREATE FUNCTION log_run_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) VALUES (NEW.tenant_id, 'run', jsonb_build_object(
    'id', NEW.id, 'workflowId', NEW.workflow_id, 'status', NEW.status, 'errorCode', NEW.error->>'code',
    'startedAt', to_char(NEW.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'finishedAt', to_char(NEW.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_new AFTER INSERT ON runs FOR EACH ROW EXECUTE FUNCTION log_run_event();
--> statement-breakpoint
CREATE TRIGGER log_changed AFTER UPDATE OF status ON runs FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION log_run_event();
--> statement-breakpoint
CREATE FUNCTION log_step_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) VALUES (NEW.tenant_id, 'step', jsonb_build_object(
    'runId', NEW.run_id, 'index', NEW.index, 'status', NEW.status, 'attempts', NEW.attempts, 'errorCode', NEW.error->>'code'));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_new AFTER INSERT ON run_steps FOR EACH ROW EXECUTE FUNCTION log_step_event();
--> statement-breakpoint
CREATE TRIGGER log_changed AFTER UPDATE OF status ON run_steps FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION log_step_event();
--> statement-breakpoint
CREATE FUNCTION log_approval_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) VALUES (NEW.tenant_id, 'approval', jsonb_build_object(
    'id', NEW.id, 'runId', NEW.run_id, 'stepIndex', NEW.step_index, 'kind', NEW.kind, 'status', NEW.status));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_new AFTER INSERT ON approvals FOR EACH ROW EXECUTE FUNCTION log_approval_event();
--> statement-breakpoint
CREATE TRIGGER log_changed AFTER UPDATE OF status ON approvals FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION log_approval_event();
--> statement-breakpoint
CREATE FUNCTION log_node_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  now_is text := CASE WHEN NEW.revoked_at IS NOT NULL THEN 'revoked' WHEN NEW.paired_at IS NULL THEN 'pending' WHEN NEW.online THEN 'online' ELSE 'offline' END;
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) VALUES (NEW.tenant_id, 'node', jsonb_build_object(
    'id', NEW.id, 'name', NEW.name, 'status', now_is,
    'change', CASE WHEN TG_OP = 'INSERT' THEN 'created' WHEN OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL THEN 'revoked'
      WHEN OLD.paired_at IS NULL AND NEW.paired_at IS NOT NULL THEN 'paired' WHEN OLD.online <> NEW.online THEN now_is ELSE 'renamed' END));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_new AFTER INSERT ON nodes FOR EACH ROW EXECUTE FUNCTION log_node_event();
--> statement-breakpoint
CREATE TRIGGER log_changed AFTER UPDATE OF name, online, paired_at, revoked_at ON nodes FOR EACH ROW
  WHEN (OLD.name <> NEW.name OR OLD.online <> NEW.online OR OLD.paired_at IS DISTINCT FROM NEW.paired_at OR OLD.revoked_at IS DISTINCT FROM NEW.revoked_at)
  EXECUTE FUNCTION log_node_event();
