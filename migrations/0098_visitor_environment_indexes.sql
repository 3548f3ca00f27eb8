CREATE UNIQUE INDEX CONCURRENTLY "chat_visitors_identity" ON "chat_visitors" USING btree ("tenant_id","environment","external_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "chat_visitors_test" ON "chat_visitors" USING btree ("tenant_id","id") WHERE "chat_visitors"."environment" = 'test';--> statement-breakpoint
CREATE INDEX CONCURRENTLY "chat_conversations_test" ON "chat_conversations" USING btree ("tenant_id","moved_at","id") WHERE "chat_conversations"."environment" = 'test';--> statement-breakpoint
DROP INDEX "chat_visitors_external";
