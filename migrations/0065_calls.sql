CREATE TABLE "call_connections" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"name" text NOT NULL,
	"sealed_secret" text NOT NULL,
	"sealed_previous_secret" text,
	"previous_until" timestamp (3) with time zone,
	"account_sid" text,
	"api_base_url" text,
	"last_event_at" timestamp (3) with time zone,
	"reconciled_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "call_connections" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "call_day_sums" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"day" date NOT NULL,
	"calls" bigint NOT NULL,
	"inbound" bigint NOT NULL,
	"answered_inbound" bigint NOT NULL,
	"answered" bigint NOT NULL,
	"seconds" bigint NOT NULL,
	"folded" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
ALTER TABLE "call_day_sums" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "calls" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"call_sid" text NOT NULL,
	"direction" text,
	"from_id" text,
	"to_id" text,
	"rank" integer NOT NULL,
	"sequence" integer NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"tie" text NOT NULL,
	"outcome" text,
	"reason" text,
	"sip_code" integer,
	"hangup_by" text,
	"reported_secs" integer,
	"started_at" timestamp (3) with time zone NOT NULL,
	"answered_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"machine" boolean DEFAULT false NOT NULL,
	"mos_score" double precision,
	"heard_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"result" text GENERATED ALWAYS AS (CASE WHEN "rank" < 3 THEN NULL WHEN NOT "machine" AND ("outcome" = 'answered' OR ("outcome" = 'completed' AND ("answered_at" IS NOT NULL OR coalesce("reported_secs", 0) > 0))) THEN 'answered' WHEN "outcome" IN ('busy', 'failed') THEN "outcome" WHEN "machine" THEN 'voicemail' WHEN "direction" = 'outbound' THEN 'cancelled' ELSE 'missed' END) STORED,
	"duration_secs" integer GENERATED ALWAYS AS (CASE WHEN "rank" = 3 AND NOT "machine" AND ("outcome" = 'answered' OR ("outcome" = 'completed' AND ("answered_at" IS NOT NULL OR coalesce("reported_secs", 0) > 0))) THEN coalesce("reported_secs", greatest(0, round(extract(epoch FROM "ended_at" - "answered_at")))::integer, 0) ELSE 0 END) STORED NOT NULL
);
--> statement-breakpoint
ALTER TABLE "calls" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "call_connections" ADD CONSTRAINT "call_connections_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "call_connections_tenant" ON "call_connections" USING btree ("tenant_id","id");--> statement-breakpoint
CREATE INDEX "call_connections_listed" ON "call_connections" USING btree ("reconciled_at") WHERE "call_connections"."account_sid" IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "call_day_sums_total" ON "call_day_sums" USING btree ("tenant_id","day") WHERE folded;--> statement-breakpoint
CREATE INDEX "call_day_sums_tenant" ON "call_day_sums" USING btree ("tenant_id","day");--> statement-breakpoint
CREATE INDEX "call_day_sums_changes" ON "call_day_sums" USING btree ("id") WHERE not folded;--> statement-breakpoint
CREATE INDEX "call_day_sums_day" ON "call_day_sums" USING btree ("day");--> statement-breakpoint
CREATE UNIQUE INDEX "calls_sid" ON "calls" USING btree ("tenant_id","provider","call_sid");--> statement-breakpoint
CREATE INDEX "calls_started" ON "calls" USING btree ("tenant_id","started_at","id");--> statement-breakpoint
CREATE INDEX "calls_direction" ON "calls" USING btree ("tenant_id","direction","started_at","id");--> statement-breakpoint
CREATE INDEX "calls_result" ON "calls" USING btree ("tenant_id","result","started_at","id") WHERE "calls"."result" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "calls_direction_result" ON "calls" USING btree ("tenant_id","direction","result","started_at","id") WHERE "calls"."result" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "calls_open" ON "calls" USING btree ("heard_at") WHERE "calls"."rank" < 3;--> statement-breakpoint
CREATE POLICY "workspace" ON "call_connections" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "call_connections" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "call_day_sums" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "call_day_sums" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "calls" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "calls" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);