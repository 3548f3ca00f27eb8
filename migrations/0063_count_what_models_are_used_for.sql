CREATE TABLE "ai_budgets" (
	"tenant_id" uuid PRIMARY KEY NOT NULL,
	"daily_tokens" bigint,
	"daily_cost_micros" bigint,
	"currency" text,
	"told_day" date,
	"told_percent" integer,
	"mail_due_at" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "ai_budgets" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "ai_reservations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"tokens" bigint NOT NULL,
	"cost_micros" bigint NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "ai_reservations" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "ai_usage" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"hour" timestamp (3) with time zone NOT NULL,
	"model_id" text NOT NULL,
	"model" text NOT NULL,
	"currency" text NOT NULL,
	"calls" integer NOT NULL,
	"failed" integer NOT NULL,
	"estimated" integer NOT NULL,
	"input_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	"cost_micros" bigint NOT NULL,
	"outcomes" jsonb NOT NULL,
	"latency" jsonb NOT NULL,
	CONSTRAINT "ai_usage_hour" UNIQUE("tenant_id","hour","model_id","model","currency")
);
--> statement-breakpoint
ALTER TABLE "ai_usage" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "ai_usage_batches" (
	"id" uuid PRIMARY KEY NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "ai_usage_batches" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "ai_budgets" ADD CONSTRAINT "ai_budgets_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ai_reservations" ADD CONSTRAINT "ai_reservations_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ai_usage" ADD CONSTRAINT "ai_usage_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ai_budgets_mail" ON "ai_budgets" USING btree ("mail_due_at") WHERE "ai_budgets"."mail_due_at" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "ai_reservations_tenant" ON "ai_reservations" USING btree ("tenant_id","expires_at");--> statement-breakpoint
CREATE INDEX "ai_reservations_expiry" ON "ai_reservations" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "ai_usage_batches_expiry" ON "ai_usage_batches" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "model_breakers_age" ON "model_breakers" USING btree ("updated_at");--> statement-breakpoint
CREATE POLICY "workspace" ON "ai_budgets" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "ai_budgets" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "ai_reservations" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "ai_reservations" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "ai_usage" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "ai_usage" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "system" ON "ai_usage_batches" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);