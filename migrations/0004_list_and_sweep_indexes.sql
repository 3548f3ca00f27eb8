CREATE INDEX CONCURRENTLY "audit_log_actor" ON "audit_log" USING btree ("tenant_id","actor","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "audit_log_type" ON "audit_log" USING btree ("tenant_id","target_type","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "audit_log_target" ON "audit_log" USING btree ("tenant_id","target_id","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "audit_log_actor_type" ON "audit_log" USING btree ("tenant_id","actor","target_type","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "audit_log_actor_target" ON "audit_log" USING btree ("tenant_id","actor","target_id","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "flows_workflow" ON "flows" USING btree ("tenant_id","workflow_id","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "memory_entries_session" ON "memory_entries" USING btree ("tenant_id","session_id","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "messages_status" ON "messages" USING btree ("tenant_id","status","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "messages_channel_status" ON "messages" USING btree ("tenant_id","channel","status","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "messages_workflow_status" ON "messages" USING btree ("tenant_id","workflow_id","status","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "messages_workflow_channel" ON "messages" USING btree ("tenant_id","workflow_id","channel","status","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "node_commands_node" ON "node_commands" USING btree ("node_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "node_commands_late" ON "node_commands" USING btree (least("lease_expires_at", "expires_at")) WHERE status in ('pending', 'leased');--> statement-breakpoint
CREATE INDEX CONCURRENTLY "nodes_live" ON "nodes" USING btree ("tenant_id","id") WHERE revoked_at is null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "nodes_revoked" ON "nodes" USING btree ("tenant_id","id") WHERE revoked_at is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "nodes_unclaimed" ON "nodes" USING btree ("pairing_expires_at") WHERE paired_at is null and revoked_at is null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "run_logs_workflow_level" ON "run_logs" USING btree ("tenant_id","workflow_id","level","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "runs_workflow_status" ON "runs" USING btree ("tenant_id","workflow_id","status","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "sessions_user" ON "sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "sign_in_codes_expiry" ON "sign_in_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "sign_in_codes_user" ON "sign_in_codes" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "workflows_active" ON "workflows" USING btree ("tenant_id","active","id") WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "workflows_webhook" ON "workflows" USING btree ("tenant_id","id") WHERE deleted_at is null and active and webhook_token_hash is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "workflows_channel" ON "workflows" USING btree ("tenant_id","id") WHERE deleted_at is null and active and trigger->>'type' = 'channel';--> statement-breakpoint
CREATE INDEX CONCURRENTLY "workflows_deleted" ON "workflows" USING btree ("deleted_at") WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "agents_tool_profile" ON "agents" USING btree ("tool_profile_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "automation_sessions_scope" ON "automation_sessions" USING btree ("tenant_id","scope","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "automation_sessions_by_key" ON "automation_sessions" USING btree ("tenant_id","key","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "campaign_mails_contact" ON "campaign_mails" USING btree ("contact_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "campaigns_list" ON "campaigns" USING btree ("list_id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "contacts_address" ON "contacts" USING btree ("tenant_id","email");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "run_rollups_age" ON "run_rollups" USING btree ("slice_at");--> statement-breakpoint
DROP INDEX "node_commands_due";