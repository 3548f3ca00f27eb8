DROP INDEX "approvals_pending";--> statement-breakpoint
DROP INDEX "approvals_escalation";--> statement-breakpoint
DROP INDEX "approval_links_mailing";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "approvals_mail_due" ON "approvals" USING btree ("mail_due_at") WHERE status = 'pending' and mail_due_at is not null;