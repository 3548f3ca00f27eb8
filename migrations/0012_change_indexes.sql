DROP INDEX "workflows_deleted";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "workflows_restorable" ON "workflows" USING btree ("tenant_id","deleted_at","id") WHERE deleted_at is not null and coalesce(origin->>'kind', 'pack') = 'pack';--> statement-breakpoint
CREATE INDEX CONCURRENTLY "audit_log_action" ON "audit_log" USING btree ("tenant_id","action","id");