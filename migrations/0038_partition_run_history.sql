-- Whoever changes a run locks it first, then what hangs on it.
LOCK TABLE runs, run_steps, run_logs, run_steps_default, run_logs_default IN ACCESS EXCLUSIVE MODE;
--> statement-breakpoint
DROP TRIGGER log_new ON run_steps;
--> statement-breakpoint
DROP TRIGGER log_changed ON run_steps;
--> statement-breakpoint
DROP POLICY "workspace" ON "run_steps";
--> statement-breakpoint
DROP POLICY "system" ON "run_steps";
--> statement-breakpoint
REVOKE ALL ON "run_steps" FROM outrigger_app, outrigger_system;
--> statement-breakpoint
ALTER TABLE "run_steps" RENAME CONSTRAINT "run_steps_run_id_index_pk" TO "run_steps_first_pkey";
--> statement-breakpoint
ALTER TABLE "run_steps" RENAME TO "run_steps_first";
--> statement-breakpoint
CREATE TABLE "run_steps" (
	LIKE "run_steps_first" INCLUDING DEFAULTS INCLUDING STORAGE,
	CONSTRAINT "run_steps_run_id_index_pk" PRIMARY KEY("run_id","index")
) PARTITION BY RANGE ("run_id");
--> statement-breakpoint
ALTER TABLE "run_steps" ADD CONSTRAINT "run_steps_run_id_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."runs"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "run_steps" ENABLE ROW LEVEL SECURITY;
--> statement-breakpoint
CREATE POLICY "workspace" ON "run_steps" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));
--> statement-breakpoint
CREATE POLICY "system" ON "run_steps" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);
--> statement-breakpoint
DROP POLICY "workspace" ON "run_logs";
--> statement-breakpoint
DROP POLICY "system" ON "run_logs";
--> statement-breakpoint
REVOKE ALL ON "run_logs" FROM outrigger_app, outrigger_system;
--> statement-breakpoint
ALTER TABLE "run_logs" RENAME CONSTRAINT "run_logs_pkey" TO "run_logs_first_pkey";
--> statement-breakpoint
ALTER INDEX "run_logs_tenant" RENAME TO "run_logs_first_tenant";
--> statement-breakpoint
ALTER INDEX "run_logs_run" RENAME TO "run_logs_first_run";
--> statement-breakpoint
ALTER INDEX "run_logs_workflow" RENAME TO "run_logs_first_workflow";
--> statement-breakpoint
ALTER INDEX "run_logs_level" RENAME TO "run_logs_first_level";
--> statement-breakpoint
ALTER INDEX "run_logs_workflow_level" RENAME TO "run_logs_first_workflow_level";
--> statement-breakpoint
ALTER TABLE "run_logs" RENAME TO "run_logs_first";
--> statement-breakpoint
CREATE TABLE "run_logs" (
	LIKE "run_logs_first" INCLUDING DEFAULTS INCLUDING STORAGE,
	CONSTRAINT "run_logs_pkey" PRIMARY KEY("id")
) PARTITION BY RANGE ("id");
--> statement-breakpoint
ALTER TABLE "run_logs" ADD CONSTRAINT "run_logs_run_id_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."runs"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "run_logs_tenant" ON "run_logs" USING btree ("tenant_id","id");
--> statement-breakpoint
CREATE INDEX "run_logs_run" ON "run_logs" USING btree ("run_id","id");
--> statement-breakpoint
CREATE INDEX "run_logs_workflow" ON "run_logs" USING btree ("tenant_id","workflow_id","id");
--> statement-breakpoint
CREATE INDEX "run_logs_level" ON "run_logs" USING btree ("tenant_id","level","id");
--> statement-breakpoint
CREATE INDEX "run_logs_workflow_level" ON "run_logs" USING btree ("tenant_id","workflow_id","level","id");
--> statement-breakpoint
ALTER TABLE "run_logs" ENABLE ROW LEVEL SECURITY;
--> statement-breakpoint
CREATE POLICY "workspace" ON "run_logs" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));
--> statement-breakpoint
CREATE POLICY "system" ON "run_logs" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);
--> statement-breakpoint
-- Whoever may use a table may use its parts through it, under its policies, and by no other way.
DO $$
DECLARE
  kept text;
  bound text;
BEGIN
  FOREACH kept IN ARRAY ARRAY['run_steps', 'run_logs'] LOOP
    SELECT substring(pg_get_constraintdef(oid) FROM '[0-9a-f]{8}-[0-9a-f-]{27}') INTO STRICT bound
      FROM pg_constraint WHERE conrelid = (kept || '_first')::regclass AND conname = kept || '_bound';
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', kept, kept || '_first', bound);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', kept || '_first', kept || '_bound');
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I DEFAULT', kept, kept || '_default');
  END LOOP;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_new AFTER INSERT ON run_steps REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION log_new_steps();
--> statement-breakpoint
CREATE TRIGGER log_changed AFTER UPDATE OF status ON run_steps FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION log_step_event();
