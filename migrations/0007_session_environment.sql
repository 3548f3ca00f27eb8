ALTER TABLE "automation_sessions" DROP CONSTRAINT "automation_sessions_key";--> statement-breakpoint
ALTER TABLE "automation_sessions" ADD COLUMN "environment" text DEFAULT 'live' NOT NULL;--> statement-breakpoint
ALTER TABLE "automation_sessions" ADD CONSTRAINT "automation_sessions_identity" UNIQUE("tenant_id","scope","key","environment");