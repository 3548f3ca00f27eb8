CREATE TABLE "artifact_uploads" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"node_id" uuid NOT NULL,
	"command_id" uuid NOT NULL,
	"name" text NOT NULL,
	"content_type" text NOT NULL,
	"bytes" bigint NOT NULL,
	"sha256" text NOT NULL,
	"verified_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "artifact_uploads_name" UNIQUE("command_id","name")
);
--> statement-breakpoint
ALTER TABLE "artifact_uploads" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "artifact_uploads" ADD CONSTRAINT "artifact_uploads_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifact_uploads" ADD CONSTRAINT "artifact_uploads_command_id_node_commands_id_fk" FOREIGN KEY ("command_id") REFERENCES "public"."node_commands"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "artifact_uploads_tenant" ON "artifact_uploads" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX "artifact_uploads_age" ON "artifact_uploads" USING btree ("updated_at");--> statement-breakpoint
CREATE POLICY "workspace" ON "artifact_uploads" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "artifact_uploads" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);