CREATE TABLE "worker_processes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"lease_expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "worker_processes" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "runs" ADD COLUMN "holder_id" uuid;--> statement-breakpoint
CREATE POLICY "system" ON "worker_processes" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
-- Runs that a process of an earlier version held are taken over, as from a process that ended.
INSERT INTO "worker_processes" ("id", "lease_expires_at") VALUES ('00000000-0000-4000-8000-000000000000', '-infinity');--> statement-breakpoint
UPDATE "runs" SET "holder_id" = '00000000-0000-4000-8000-000000000000' WHERE "lease_expires_at" IS NOT NULL;
