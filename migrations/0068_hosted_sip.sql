CREATE TABLE "hosted_sip" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"username" text NOT NULL,
	"domain" text,
	"ha1" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "hosted_sip_username" UNIQUE("username")
);
--> statement-breakpoint
ALTER TABLE "hosted_sip" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "hosted_sip" ADD CONSTRAINT "hosted_sip_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE POLICY "workspace" ON "hosted_sip" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "hosted_sip" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);