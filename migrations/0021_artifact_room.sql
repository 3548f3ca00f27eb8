CREATE TABLE "artifact_room" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"bytes" bigint NOT NULL,
	"folded" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
ALTER TABLE "artifact_room" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
DROP INDEX "artifacts_room";--> statement-breakpoint
ALTER TABLE "artifact_room" ADD CONSTRAINT "artifact_room_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "artifact_room_tenant" ON "artifact_room" USING btree ("tenant_id");--> statement-breakpoint
CREATE UNIQUE INDEX "artifact_room_total" ON "artifact_room" USING btree ("tenant_id") WHERE folded;--> statement-breakpoint
CREATE INDEX "artifact_room_changes" ON "artifact_room" USING btree ("id") WHERE not folded;--> statement-breakpoint
CREATE POLICY "workspace" ON "artifact_room" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "artifact_room" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);