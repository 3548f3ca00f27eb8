CREATE TABLE "chat_file_room" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"bytes" bigint NOT NULL,
	"folded" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
ALTER TABLE "chat_file_room" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
DROP INDEX "chat_files_room";--> statement-breakpoint
ALTER TABLE "chat_file_room" ADD CONSTRAINT "chat_file_room_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "chat_file_room_tenant" ON "chat_file_room" USING btree ("tenant_id");--> statement-breakpoint
CREATE UNIQUE INDEX "chat_file_room_total" ON "chat_file_room" USING btree ("tenant_id") WHERE folded;--> statement-breakpoint
CREATE INDEX "chat_file_room_changes" ON "chat_file_room" USING btree ("id") WHERE not folded;--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_file_room" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_file_room" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
-- Runs as who owns the tables: neither role of the hub may write what the room is counted by, but for the sweep that folds it.
CREATE FUNCTION count_chat_file_room() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO chat_file_room (tenant_id, bytes) SELECT tenant_id, sum(bytes) FROM added GROUP BY tenant_id;
  ELSIF TG_OP = 'DELETE' THEN
    -- A workspace that goes takes its rows with it.
    INSERT INTO chat_file_room (tenant_id, bytes) SELECT r.tenant_id, -sum(r.bytes) FROM removed r JOIN tenants t ON t.id = r.tenant_id GROUP BY r.tenant_id;
  ELSE
    INSERT INTO chat_file_room (tenant_id, bytes) VALUES (NEW.tenant_id, NEW.bytes - OLD.bytes);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
REVOKE INSERT, UPDATE, DELETE ON chat_file_room FROM outrigger_app;
--> statement-breakpoint
CREATE TRIGGER chat_file_room_added AFTER INSERT ON chat_files REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_chat_file_room();
--> statement-breakpoint
CREATE TRIGGER chat_file_room_removed AFTER DELETE ON chat_files REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_chat_file_room();
--> statement-breakpoint
CREATE TRIGGER chat_file_room_changed AFTER UPDATE OF bytes ON chat_files FOR EACH ROW EXECUTE FUNCTION count_chat_file_room();
--> statement-breakpoint
-- Nobody writes a file until this is committed: the triggers have locked their table.
INSERT INTO chat_file_room (tenant_id, bytes, folded) SELECT tenant_id, sum(bytes), true FROM chat_files GROUP BY tenant_id;
