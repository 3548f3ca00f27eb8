CREATE TABLE "run_starts" (
	"scope_id" uuid NOT NULL,
	"slice_at" timestamp (3) with time zone NOT NULL,
	"tenant_id" uuid NOT NULL,
	"count" integer NOT NULL,
	"last_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "run_starts_scope_id_slice_at_pk" PRIMARY KEY("scope_id","slice_at")
);
--> statement-breakpoint
ALTER TABLE "run_starts" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "run_steps" ADD COLUMN "output_bytes" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "runs" ADD COLUMN "waits_for" text;--> statement-breakpoint
ALTER TABLE "run_starts" ADD CONSTRAINT "run_starts_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "run_starts_age" ON "run_starts" USING btree ("slice_at");--> statement-breakpoint
CREATE POLICY "workspace" ON "run_starts" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "run_starts" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);