-- Who last changed each field that can carry a command: an object of field names and actors.
ALTER TABLE "workflow_versions" ADD COLUMN "authors" jsonb DEFAULT '{}' NOT NULL;
--> statement-breakpoint
ALTER TABLE "sequences" ADD COLUMN "authors" jsonb DEFAULT '{}' NOT NULL;
--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "authors" jsonb DEFAULT '{}' NOT NULL;
--> statement-breakpoint
ALTER TABLE "tool_profiles" ADD COLUMN "authors" jsonb DEFAULT '{}' NOT NULL;
--> statement-breakpoint
ALTER TABLE "model_configs" ADD COLUMN "authors" jsonb DEFAULT '{}' NOT NULL;
--> statement-breakpoint
ALTER TABLE "automation_policies" ADD COLUMN "authors" jsonb DEFAULT '{}' NOT NULL;
--> statement-breakpoint
ALTER TABLE "chat_widgets" ADD COLUMN "ai_settings_authors" jsonb DEFAULT '{}' NOT NULL;
--> statement-breakpoint
ALTER TABLE "published_packs" ADD COLUMN "published_by" text;
--> statement-breakpoint
ALTER TABLE "approvals" ADD COLUMN "uses_default_approvers" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
ALTER TABLE "runs" ADD COLUMN "authored_by" text[] DEFAULT '{}' NOT NULL;
