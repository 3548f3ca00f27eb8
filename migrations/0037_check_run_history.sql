ALTER TABLE "run_steps" VALIDATE CONSTRAINT "run_steps_bound";--> statement-breakpoint
ALTER TABLE "run_logs" VALIDATE CONSTRAINT "run_logs_bound";
