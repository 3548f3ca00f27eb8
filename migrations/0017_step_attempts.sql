ALTER TABLE "run_steps" ADD COLUMN "retried_attempts" jsonb;--> statement-breakpoint
ALTER TABLE "run_steps" ADD COLUMN "attempt_started_at" timestamp (3) with time zone;