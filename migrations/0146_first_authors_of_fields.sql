-- The last author of each resource counts for all its fields. Not in 0145, whose locks on the tables would last as long as these statements.
UPDATE workflow_versions v SET authors = jsonb_build_object('steps', v.defined_by, 'inputs', v.defined_by, 'trigger', v.defined_by)
FROM workflows w WHERE w.id = v.workflow_id AND w.version = v.version AND w.deleted_at IS NULL AND v.defined_by IS NOT NULL;
--> statement-breakpoint
UPDATE agents SET authors = jsonb_build_object('systemPrompt', changed_by, 'toolProfileId', changed_by, 'model', changed_by, 'routeKeys', changed_by) WHERE changed_by IS NOT NULL;
--> statement-breakpoint
UPDATE sequences SET authors = jsonb_build_object('steps', changed_by) WHERE changed_by IS NOT NULL;
--> statement-breakpoint
UPDATE tool_profiles p SET authors = coalesce((SELECT jsonb_build_object('allow', a.actor, 'deny', a.actor) FROM audit_log a
  WHERE a.tenant_id = p.tenant_id AND a.target_id = p.id::text AND a.target_type = 'tool-profile' ORDER BY a.id DESC LIMIT 1), '{}');
--> statement-breakpoint
UPDATE model_configs c SET authors = coalesce((SELECT jsonb_build_object('models', a.actor, 'order', a.actor) FROM audit_log a
  WHERE a.tenant_id = c.tenant_id AND a.target_id = c.tenant_id::text AND a.target_type = 'models' ORDER BY a.id DESC LIMIT 1), '{}');
--> statement-breakpoint
UPDATE automation_policies p SET authors = coalesce((SELECT jsonb_build_object('errorWorkflowId', a.actor, 'standingOrders', a.actor) FROM audit_log a
  WHERE a.tenant_id = p.tenant_id AND a.target_id = p.tenant_id::text AND a.target_type = 'policy' ORDER BY a.id DESC LIMIT 1), '{}');
--> statement-breakpoint
UPDATE chat_widgets c SET ai_settings_authors = coalesce((SELECT jsonb_build_object('tools', a.actor, 'businessProfile', a.actor, 'tone', a.actor) FROM audit_log a
  WHERE a.tenant_id = c.tenant_id AND a.target_id = c.tenant_id::text AND a.target_type = 'chat_ai_settings' ORDER BY a.id DESC LIMIT 1), '{}');
--> statement-breakpoint
UPDATE published_packs p SET published_by = (SELECT a.actor FROM audit_log a WHERE a.tenant_id = p.tenant_id AND a.target_id = p.pack_id
  AND a.action = 'pack.published' AND a.details->>'version' = p.version ORDER BY a.id DESC LIMIT 1);
