ALTER TABLE "nodes" ADD COLUMN "audit_count" bigint;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "audit_hash" text;--> statement-breakpoint
ALTER TABLE "nodes" ADD COLUMN "audit_broken_at" timestamp (3) with time zone;
