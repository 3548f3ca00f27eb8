CREATE TABLE "chat_unused_blobs" (
	"blob_key" text PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"remove_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "chat_unused_blobs" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE INDEX "chat_unused_blobs_due" ON "chat_unused_blobs" USING btree ("remove_at");--> statement-breakpoint
CREATE INDEX "chat_files_room" ON "chat_files" USING btree ("tenant_id","bytes");--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_unused_blobs" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_unused_blobs" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
-- Runs as who owns the tables: files go with conversations, visitors and workspaces, whoever removes those.
CREATE FUNCTION note_unused_chat_blobs() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO chat_unused_blobs (blob_key, tenant_id, remove_at) SELECT blob_key, tenant_id, now() FROM removed
    ON CONFLICT (blob_key) DO UPDATE SET remove_at = excluded.remove_at;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER note_unused AFTER DELETE ON chat_files REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION note_unused_chat_blobs();
