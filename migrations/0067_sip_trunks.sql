CREATE TABLE "sip_modes" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"mode" text NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sip_modes" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "sip_trunks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"host" text NOT NULL,
	"port" integer,
	"username" text NOT NULL,
	"sealed_password" text NOT NULL,
	"transport" text NOT NULL,
	"state" text DEFAULT 'registering' NOT NULL,
	"contact" text,
	"local_port" integer,
	"sequence" bigint DEFAULT 0 NOT NULL,
	"last_code" integer,
	"last_reason" text,
	"failures" integer DEFAULT 0 NOT NULL,
	"refused_credentials" integer DEFAULT 0 NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"next_attempt_at" timestamp (3) with time zone,
	"checked_at" timestamp (3) with time zone,
	"lease_epoch" bigint DEFAULT 0 NOT NULL,
	"lease_expires_at" timestamp (3) with time zone DEFAULT '-infinity' NOT NULL,
	"removed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sip_trunks" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "sip_modes" ADD CONSTRAINT "sip_modes_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sip_trunks" ADD CONSTRAINT "sip_trunks_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "sip_trunks_tenant" ON "sip_trunks" USING btree ("tenant_id") WHERE "sip_trunks"."removed_at" IS NULL;--> statement-breakpoint
CREATE INDEX "sip_trunks_of_tenant" ON "sip_trunks" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX "sip_trunks_lease" ON "sip_trunks" USING btree ("lease_expires_at");--> statement-breakpoint
CREATE POLICY "workspace" ON "sip_modes" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "sip_modes" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "sip_trunks" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "sip_trunks" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);