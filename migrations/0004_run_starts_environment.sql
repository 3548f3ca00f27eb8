-- The starts are counted again from the runs, by environment.
LOCK TABLE "run_starts" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
DELETE FROM "run_starts";--> statement-breakpoint
ALTER TABLE "run_starts" ADD COLUMN "environment" text NOT NULL;--> statement-breakpoint
ALTER TABLE "run_starts" DROP CONSTRAINT "run_starts_scope_id_slice_at_pk";--> statement-breakpoint
ALTER TABLE "run_starts" ADD CONSTRAINT "run_starts_scope_id_environment_slice_at_pk" PRIMARY KEY("scope_id","environment","slice_at");
