CREATE TABLE "erased_subjects" (
	"subject_id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"erased_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "erased_subjects" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "flows" ADD COLUMN "subject_id" uuid;--> statement-breakpoint
ALTER TABLE "erased_subjects" ADD CONSTRAINT "erased_subjects_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE POLICY "workspace" ON "erased_subjects" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "erased_subjects" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);