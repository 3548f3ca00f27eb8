-- What a workspace had transcribed and spoken on a day, UTC: written before a provider is called, so that a daily limit bounds the calls.
CREATE TABLE "ai_speech_usage" (
	"tenant_id" uuid NOT NULL,
	"day" date NOT NULL,
	"heard_ms" bigint NOT NULL,
	"spoken_characters" bigint NOT NULL,
	CONSTRAINT "ai_speech_usage_tenant_id_day_pk" PRIMARY KEY("tenant_id","day")
);
--> statement-breakpoint
ALTER TABLE "ai_speech_usage" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "ai_speech_usage" ADD CONSTRAINT "ai_speech_usage_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ai_speech_usage_day" ON "ai_speech_usage" USING btree ("day");--> statement-breakpoint
CREATE POLICY "workspace" ON "ai_speech_usage" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "ai_speech_usage" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
ALTER TABLE "ai_budgets" ADD COLUMN "daily_speech_seconds" bigint;--> statement-breakpoint
ALTER TABLE "ai_budgets" ADD COLUMN "daily_speech_characters" bigint;
