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
CREATE TABLE "sip_dial_sums" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"day" date NOT NULL,
	"seconds" integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sip_dial_sums" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "sip_dials" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"answered_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sip_dials" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "hosted_sip" ADD CONSTRAINT "hosted_sip_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sip_dial_sums" ADD CONSTRAINT "sip_dial_sums_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sip_dials" ADD CONSTRAINT "sip_dials_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "sip_dials_tenant" ON "sip_dials" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX "sip_dials_expiry" ON "sip_dials" USING btree ("expires_at");--> statement-breakpoint
CREATE POLICY "workspace" ON "hosted_sip" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "hosted_sip" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "sip_dial_sums" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "sip_dial_sums" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "sip_dials" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "sip_dials" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);