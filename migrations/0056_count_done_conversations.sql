CREATE TABLE "chat_done_counts" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"count" bigint NOT NULL,
	"folded" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
ALTER TABLE "chat_done_counts" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "chat_done_counts" ADD CONSTRAINT "chat_done_counts_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "chat_done_counts_tenant" ON "chat_done_counts" USING btree ("tenant_id");--> statement-breakpoint
CREATE UNIQUE INDEX "chat_done_counts_total" ON "chat_done_counts" USING btree ("tenant_id","kind") WHERE folded;--> statement-breakpoint
CREATE INDEX "chat_done_counts_changes" ON "chat_done_counts" USING btree ("id") WHERE not folded;--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_done_counts" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_done_counts" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);