CREATE INDEX CONCURRENTLY "runs_held_lines" ON "runs" USING btree ("tenant_id","workflow_id","environment","id") WHERE waits_for is not null;--> statement-breakpoint
DROP INDEX "runs_held";
