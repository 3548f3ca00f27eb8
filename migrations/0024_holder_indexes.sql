DROP INDEX "runs_lease";--> statement-breakpoint
DROP INDEX "runs_due";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "runs_holder" ON "runs" USING btree ("holder_id") WHERE holder_id is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "runs_due" ON "runs" USING btree ("tenant_id","wake_at") WHERE wake_at is not null and holder_id is null;