DROP POLICY "workspace" ON "sip_dials" CASCADE;--> statement-breakpoint
DROP POLICY "system" ON "sip_dials" CASCADE;--> statement-breakpoint
DROP TABLE "sip_dials" CASCADE;--> statement-breakpoint
CREATE TABLE "sip_calls" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"is_counted" boolean NOT NULL,
	"call_id" text NOT NULL,
	"from_tag" text NOT NULL,
	"to_tag" text,
	"answered_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sip_calls" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "sip_calls" ADD CONSTRAINT "sip_calls_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "sip_calls_tenant" ON "sip_calls" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX "sip_calls_expiry" ON "sip_calls" USING btree ("expires_at");--> statement-breakpoint
CREATE POLICY "workspace" ON "sip_calls" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "sip_calls" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);
--> statement-breakpoint
CREATE TABLE "sip_reports" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"report" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sip_reports" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "sip_reports" ADD CONSTRAINT "sip_reports_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "sip_reports_tenant" ON "sip_reports" USING btree ("tenant_id");--> statement-breakpoint
CREATE POLICY "workspace" ON "sip_reports" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "sip_reports" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);