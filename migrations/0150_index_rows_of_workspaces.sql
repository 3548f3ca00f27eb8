CREATE INDEX CONCURRENTLY "erased_subjects_of_tenant" ON "erased_subjects" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "run_starts_of_tenant" ON "run_starts" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "workflow_versions_of_tenant" ON "workflow_versions" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "workflows_of_tenant" ON "workflows" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "approval_links_of_tenant" ON "approval_links" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "approval_votes_of_tenant" ON "approval_votes" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "channel_receipts_of_tenant" ON "channel_receipts" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "schedule_fires_of_tenant" ON "schedule_fires" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "session_messages_of_tenant" ON "session_messages" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "chat_ai_suggestions_of_tenant" ON "chat_ai_suggestions" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "chat_links_of_tenant" ON "chat_links" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "chat_sessions_of_tenant" ON "chat_sessions" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "password_resets_of_tenant" ON "password_resets" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "sessions_of_tenant" ON "sessions" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "sign_in_addresses_of_tenant" ON "sign_in_addresses" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "sign_in_codes_of_tenant" ON "sign_in_codes" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "campaign_mails_of_tenant" ON "campaign_mails" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "node_facts_of_tenant" ON "node_facts" USING btree ("tenant_id");