CREATE TABLE "usage_day_sums" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"day" date NOT NULL,
	"kind" text NOT NULL,
	"environment" text NOT NULL,
	"count" bigint NOT NULL,
	"folded" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
ALTER TABLE "usage_day_sums" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "usage_day_sums" ADD CONSTRAINT "usage_day_sums_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "usage_day_sums_total" ON "usage_day_sums" USING btree ("tenant_id","day","kind","environment") WHERE folded;--> statement-breakpoint
CREATE INDEX "usage_day_sums_tenant" ON "usage_day_sums" USING btree ("tenant_id","day");--> statement-breakpoint
CREATE INDEX "usage_day_sums_changes" ON "usage_day_sums" USING btree ("id") WHERE not folded;--> statement-breakpoint
CREATE INDEX "usage_day_sums_day" ON "usage_day_sums" USING btree ("day");--> statement-breakpoint
CREATE POLICY "workspace" ON "usage_day_sums" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "usage_day_sums" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);
--> statement-breakpoint
-- Written by the trigger and by the system role only, as artifact_usage.
REVOKE INSERT, UPDATE, DELETE ON usage_day_sums FROM outrigger_app;
--> statement-breakpoint
-- Runs as the owner of the tables: the workspace cannot write the sums.
CREATE FUNCTION count_usage() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO usage_day_sums (tenant_id, day, kind, environment, count)
    SELECT tenant_id, (created_at AT TIME ZONE 'UTC')::date, kind, environment, count(*) FROM added GROUP BY 1, 2, 3, 4;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- From here to the end of the migration, inserts of usage events wait, so that the next statement misses none and counts none twice.
CREATE TRIGGER usage_added AFTER INSERT ON usage_events REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_usage();
--> statement-breakpoint
INSERT INTO usage_day_sums (tenant_id, day, kind, environment, count, folded)
  SELECT tenant_id, (created_at AT TIME ZONE 'UTC')::date, kind, environment, count(*), true FROM usage_events GROUP BY 1, 2, 3, 4;
