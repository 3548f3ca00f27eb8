CREATE TABLE "sip_farewells" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"username" text NOT NULL,
	"left_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"due_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sip_farewells" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
DROP INDEX "sip_reports_tenant";--> statement-breakpoint
ALTER TABLE "sip_reports" ADD COLUMN "tries" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "sip_reports" ADD COLUMN "due_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
CREATE INDEX "sip_farewells_username" ON "sip_farewells" USING btree ("username");--> statement-breakpoint
CREATE INDEX "sip_farewells_due" ON "sip_farewells" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "sip_reports_due" ON "sip_reports" USING btree ("tenant_id","due_at");--> statement-breakpoint
CREATE POLICY "workspace" ON "sip_farewells" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "sip_farewells" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);