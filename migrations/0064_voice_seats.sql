CREATE TABLE "voice_seats" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"place" integer NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "voice_seats_place" UNIQUE("user_id","place")
);
--> statement-breakpoint
ALTER TABLE "voice_seats" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "voice_seats" ADD CONSTRAINT "voice_seats_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "voice_seats" ADD CONSTRAINT "voice_seats_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "voice_seats_tenant" ON "voice_seats" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX "voice_seats_expiry" ON "voice_seats" USING btree ("expires_at");--> statement-breakpoint
CREATE POLICY "workspace" ON "voice_seats" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "voice_seats" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);