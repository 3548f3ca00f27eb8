ALTER TABLE "run_steps" ADD COLUMN "input" jsonb;--> statement-breakpoint
ALTER TABLE "run_steps" ADD COLUMN "input_omitted" boolean;--> statement-breakpoint
ALTER TABLE "workflow_versions" ADD COLUMN "inputs" jsonb;--> statement-breakpoint
ALTER TABLE "workflows" ADD COLUMN "inputs" jsonb;