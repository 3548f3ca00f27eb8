CREATE TABLE "model_breakers" (
	"scope" uuid NOT NULL,
	"model_id" text NOT NULL,
	"tenant_id" uuid,
	"fingerprint" text NOT NULL,
	"recent" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"openings" integer DEFAULT 0 NOT NULL,
	"open_until" timestamp (3) with time zone,
	"probe_until" timestamp (3) with time zone,
	"troubled_until" timestamp (3) with time zone,
	"told_at" timestamp (3) with time zone,
	"told_status" integer,
	"mail_due_at" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "model_breakers_scope_model_id_pk" PRIMARY KEY("scope","model_id")
);
--> statement-breakpoint
ALTER TABLE "model_breakers" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "model_breakers" ADD CONSTRAINT "model_breakers_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "model_breakers_tenant" ON "model_breakers" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX "model_breakers_mail" ON "model_breakers" USING btree ("mail_due_at") WHERE "model_breakers"."mail_due_at" IS NOT NULL;--> statement-breakpoint
CREATE POLICY "workspace" ON "model_breakers" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "model_breakers" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "hub" ON "model_breakers" AS PERMISSIVE FOR SELECT TO "outrigger_app" USING (tenant_id is null);