CREATE TABLE "hub_packs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"pack_id" text NOT NULL,
	"version" text NOT NULL,
	"manifest" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"withdrawn_at" timestamp (3) with time zone,
	CONSTRAINT "hub_packs_version" UNIQUE("pack_id","version")
);
--> statement-breakpoint
ALTER TABLE "hub_packs" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
REVOKE INSERT, UPDATE, DELETE ON "hub_packs" FROM outrigger_app;--> statement-breakpoint
CREATE POLICY "workspace" ON "hub_packs" AS PERMISSIVE FOR SELECT TO "outrigger_app" USING (true);--> statement-breakpoint
CREATE POLICY "system" ON "hub_packs" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);
