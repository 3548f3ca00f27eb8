CREATE INDEX CONCURRENTLY "runs_due" ON "runs" USING btree ("tenant_id","wake_at") WHERE wake_at is not null and lease_expires_at is null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "runs_lease" ON "runs" USING btree ("lease_expires_at") WHERE lease_expires_at is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "runs_under_way" ON "runs" USING btree ("workflow_id") WHERE started_at is not null and finished_at is null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "runs_held" ON "runs" USING btree ("tenant_id","workflow_id","id") WHERE waits_for is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "runs_held_hour" ON "runs" USING btree ("tenant_id","id") WHERE waits_for = 'max_runs_per_hour';--> statement-breakpoint
DROP INDEX "runs_wake";
