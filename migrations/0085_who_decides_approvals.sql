ALTER TABLE "workflow_versions" ADD COLUMN "changed_by" text, ADD COLUMN "defined_by" text, ADD COLUMN "activated_by" text;
--> statement-breakpoint
ALTER TABLE "approvals" ADD COLUMN "decider" jsonb;
--> statement-breakpoint
ALTER TABLE "approval_votes" ADD COLUMN "decider" jsonb;
--> statement-breakpoint
ALTER TABLE "automation_policies" ADD COLUMN "default_approvers" text[] DEFAULT '{}' NOT NULL, ADD COLUMN "step_approvals_need_person" boolean DEFAULT false NOT NULL,
  ADD COLUMN "sole_member_may_decide_own_runs" boolean DEFAULT true NOT NULL;
--> statement-breakpoint
ALTER TABLE "sequences" ADD COLUMN "changed_by" text;
--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "changed_by" text;
--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "changed_by" text;
--> statement-breakpoint
-- The audit log knows the authors of what exists. Of workflows the current versions suffice: the runs to come have them.
UPDATE workflow_versions v SET
  changed_by = (SELECT a.actor FROM audit_log a WHERE a.tenant_id = w.tenant_id AND a.target_id = w.id::text AND a.target_type = 'workflow'
    AND a.action IN ('workflow.created', 'workflow.updated') ORDER BY a.id DESC LIMIT 1),
  defined_by = (SELECT a.actor FROM audit_log a WHERE a.tenant_id = w.tenant_id AND a.target_id = w.id::text AND a.target_type = 'workflow'
    AND (a.action = 'workflow.created' OR a.action = 'workflow.updated' AND a.details->'changed' ?| ARRAY['triggerJson', 'stepsJson', 'limits', 'inputs']) ORDER BY a.id DESC LIMIT 1),
  activated_by = (SELECT a.actor FROM audit_log a WHERE a.tenant_id = w.tenant_id AND a.target_id = w.id::text AND a.target_type = 'workflow'
    AND (a.action = 'workflow.created' OR a.action = 'workflow.updated' AND a.details->'changed' ? 'active') ORDER BY a.id DESC LIMIT 1)
FROM workflows w WHERE w.id = v.workflow_id AND w.version = v.version AND w.deleted_at IS NULL;
--> statement-breakpoint
UPDATE sequences s SET changed_by = (SELECT a.actor FROM audit_log a WHERE a.tenant_id = s.tenant_id AND a.target_id = s.id::text AND a.target_type = 'sequence' ORDER BY a.id DESC LIMIT 1);
--> statement-breakpoint
UPDATE agents g SET changed_by = (SELECT a.actor FROM audit_log a WHERE a.tenant_id = g.tenant_id AND a.target_id = g.id::text AND a.target_type = 'agent' ORDER BY a.id DESC LIMIT 1);
--> statement-breakpoint
UPDATE channels c SET changed_by = (SELECT a.actor FROM audit_log a WHERE a.tenant_id = c.tenant_id AND a.target_id = c.id::text AND a.target_type = 'channel' ORDER BY a.id DESC LIMIT 1);
