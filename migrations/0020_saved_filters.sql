CREATE TABLE "saved_filters" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"path" text NOT NULL,
	"name" text NOT NULL,
	"query" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "saved_filters_name" UNIQUE("user_id","path","name")
);
--> statement-breakpoint
ALTER TABLE "saved_filters" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "saved_filters" ADD CONSTRAINT "saved_filters_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "saved_filters" ADD CONSTRAINT "saved_filters_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "saved_filters_tenant" ON "saved_filters" USING btree ("tenant_id");--> statement-breakpoint
CREATE POLICY "workspace" ON "saved_filters" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "saved_filters" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);