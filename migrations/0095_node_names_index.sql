CREATE UNIQUE INDEX CONCURRENTLY "nodes_name" ON "nodes" USING btree ("tenant_id","name") WHERE revoked_at is null and paired_at is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY "idempotency_keys_tenant" ON "idempotency_keys" USING btree ("tenant_id");
