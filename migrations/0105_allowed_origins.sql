CREATE TABLE "allowed_origins" (
	"tenant_id" uuid NOT NULL,
	"origin" text NOT NULL,
	CONSTRAINT "allowed_origins_tenant_id_origin_pk" PRIMARY KEY("tenant_id","origin")
);
--> statement-breakpoint
ALTER TABLE "allowed_origins" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "allowed_origins" ADD CONSTRAINT "allowed_origins_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "allowed_origins_origin" ON "allowed_origins" USING btree ("origin");--> statement-breakpoint
CREATE POLICY "workspace" ON "allowed_origins" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "allowed_origins" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);
