CREATE TABLE "removed_workspaces" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"removed_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "removed_workspaces" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "effects" DROP CONSTRAINT "effects_tenant_id_tenants_id_fk";
--> statement-breakpoint
ALTER TABLE "flows" DROP CONSTRAINT "flows_tenant_id_tenants_id_fk";
--> statement-breakpoint
ALTER TABLE "outbox" DROP CONSTRAINT "outbox_tenant_id_tenants_id_fk";
--> statement-breakpoint
ALTER TABLE "run_steps" DROP CONSTRAINT "run_steps_tenant_id_tenants_id_fk";
--> statement-breakpoint
ALTER TABLE "runs" DROP CONSTRAINT "runs_tenant_id_tenants_id_fk";
--> statement-breakpoint
ALTER TABLE "run_logs" DROP CONSTRAINT "run_logs_tenant_id_tenants_id_fk";
--> statement-breakpoint
ALTER TABLE "node_commands" DROP CONSTRAINT "node_commands_tenant_id_tenants_id_fk";
--> statement-breakpoint
CREATE POLICY "workspace" ON "removed_workspaces" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "removed_workspaces" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);
--> statement-breakpoint
-- Runs as who owns the tables: whoever removes a workspace need not be able to write of others.
CREATE FUNCTION note_removed_workspaces() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO removed_workspaces (tenant_id) SELECT id FROM removed ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER note_removed AFTER DELETE ON tenants REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION note_removed_workspaces();
--> statement-breakpoint
-- One insert for all that a statement adds: many runs are accepted, and their steps written, by one.
CREATE FUNCTION log_new_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) SELECT tenant_id, 'run', jsonb_build_object(
    'id', id, 'workflowId', workflow_id, 'status', status, 'errorCode', error->>'code',
    'startedAt', to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'finishedAt', to_char(finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) FROM added;
  RETURN NULL;
END $$;
--> statement-breakpoint
DROP TRIGGER log_new ON runs;
--> statement-breakpoint
CREATE TRIGGER log_new AFTER INSERT ON runs REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION log_new_runs();
--> statement-breakpoint
CREATE FUNCTION log_new_steps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) SELECT tenant_id, 'step', jsonb_build_object(
    'runId', run_id, 'index', index, 'status', status, 'attempts', attempts, 'errorCode', error->>'code') FROM added;
  RETURN NULL;
END $$;
--> statement-breakpoint
DROP TRIGGER log_new ON run_steps;
--> statement-breakpoint
CREATE TRIGGER log_new AFTER INSERT ON run_steps REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION log_new_steps();
