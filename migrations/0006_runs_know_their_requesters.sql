ALTER TABLE "runs" ADD COLUMN "requested_by" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "workflows" ADD COLUMN "environment" text DEFAULT 'live' NOT NULL;--> statement-breakpoint
ALTER TABLE "approvals" DROP COLUMN "requested_by";