-- A plain index would block writes while it is built.
CREATE INDEX CONCURRENTLY "usage_events_newest" ON "usage_events" USING btree ("tenant_id","id");
