ALTER TABLE "workflows" ADD COLUMN "webhook_token_since" timestamp (3) with time zone;--> statement-breakpoint
-- Of workflows that two first runs at once made of one origin, the oldest goes on; the others stay as workflows of their own.
UPDATE workflows w SET origin = NULL WHERE deleted_at IS NULL AND origin->>'kind' IN ('sequence', 'agent') AND EXISTS (
  SELECT 1 FROM workflows o WHERE o.tenant_id = w.tenant_id AND o.deleted_at IS NULL AND o.id < w.id AND o.origin->>'kind' = w.origin->>'kind' AND o.origin->>'id' = w.origin->>'id');
--> statement-breakpoint
CREATE UNIQUE INDEX "workflows_derived" ON "workflows" USING btree ("tenant_id",(origin->>'kind'),(origin->>'id')) WHERE deleted_at is null and origin->>'kind' in ('sequence', 'agent');