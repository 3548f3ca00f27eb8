CREATE TABLE "campaign_test_runs" (
	"run_id" uuid NOT NULL,
	"campaign_id" uuid NOT NULL,
	"tenant_id" uuid NOT NULL,
	"mails" integer NOT NULL,
	CONSTRAINT "campaign_test_runs_run_id_campaign_id_pk" PRIMARY KEY("run_id","campaign_id")
);
--> statement-breakpoint
ALTER TABLE "campaign_test_runs" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "campaign_test_runs" ADD CONSTRAINT "campaign_test_runs_run_id_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "campaign_test_runs" ADD CONSTRAINT "campaign_test_runs_campaign_id_campaigns_id_fk" FOREIGN KEY ("campaign_id") REFERENCES "public"."campaigns"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "campaign_test_runs" ADD CONSTRAINT "campaign_test_runs_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "campaign_test_runs_campaign" ON "campaign_test_runs" USING btree ("campaign_id");--> statement-breakpoint
CREATE POLICY "workspace" ON "campaign_test_runs" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "campaign_test_runs" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);