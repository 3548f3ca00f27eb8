CREATE TABLE "ai_runs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"environment" text NOT NULL,
	"status" text NOT NULL,
	"input" text NOT NULL,
	"context" text,
	"metadata" jsonb NOT NULL,
	"locale" text,
	"output_text" text,
	"model" text,
	"attempts" jsonb NOT NULL,
	"input_tokens" integer NOT NULL,
	"output_tokens" integer NOT NULL,
	"latency_ms" integer NOT NULL,
	"truncation" text,
	"sources" text[] NOT NULL,
	"error" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "ai_runs" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "ai_runs" ADD CONSTRAINT "ai_runs_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ai_runs_tenant" ON "ai_runs" USING btree ("tenant_id","id");--> statement-breakpoint
CREATE POLICY "workspace" ON "ai_runs" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "ai_runs" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);