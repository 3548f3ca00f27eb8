CREATE TABLE "workspace_event_floors" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"transaction" "xid8" NOT NULL
);
--> statement-breakpoint
ALTER TABLE "workspace_event_floors" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "workspace_events" (
	"tenant_id" uuid NOT NULL,
	"transaction" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"seq" bigserial NOT NULL,
	"at" timestamp (3) with time zone DEFAULT clock_timestamp() NOT NULL,
	"type" text NOT NULL,
	"data" jsonb NOT NULL,
	CONSTRAINT "workspace_events_tenant_id_transaction_seq_pk" PRIMARY KEY("tenant_id","transaction","seq")
);
--> statement-breakpoint
ALTER TABLE "workspace_events" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "online" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "workspace_event_floors" ADD CONSTRAINT "workspace_event_floors_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE POLICY "workspace" ON "workspace_event_floors" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "workspace_event_floors" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "workspace_events" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "workspace_events" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
-- A log with a great turnover.
ALTER TABLE "workspace_events" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
