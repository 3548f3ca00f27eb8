-- Runs as who owns the tables: neither role of the hub may write what the room is counted by, but for the sweep that folds it.
CREATE FUNCTION count_artifact_room() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO artifact_room (tenant_id, bytes) SELECT tenant_id, sum(bytes) FROM added GROUP BY tenant_id;
  ELSIF TG_OP = 'DELETE' THEN
    -- A workspace that goes takes its rows with it.
    INSERT INTO artifact_room (tenant_id, bytes) SELECT r.tenant_id, -sum(r.bytes) FROM removed r JOIN tenants t ON t.id = r.tenant_id GROUP BY r.tenant_id;
  ELSE
    INSERT INTO artifact_room (tenant_id, bytes) VALUES (NEW.tenant_id, NEW.bytes - OLD.bytes);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
REVOKE INSERT, UPDATE, DELETE ON artifact_room FROM outrigger_app;
--> statement-breakpoint
CREATE TRIGGER artifact_room_added AFTER INSERT ON artifacts REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_artifact_room();
--> statement-breakpoint
CREATE TRIGGER artifact_room_removed AFTER DELETE ON artifacts REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_artifact_room();
--> statement-breakpoint
CREATE TRIGGER artifact_room_changed AFTER UPDATE OF bytes ON artifacts FOR EACH ROW EXECUTE FUNCTION count_artifact_room();
--> statement-breakpoint
CREATE TRIGGER artifact_room_added AFTER INSERT ON artifact_uploads REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_artifact_room();
--> statement-breakpoint
CREATE TRIGGER artifact_room_removed AFTER DELETE ON artifact_uploads REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_artifact_room();
--> statement-breakpoint
CREATE TRIGGER artifact_room_changed AFTER UPDATE OF bytes ON artifact_uploads FOR EACH ROW EXECUTE FUNCTION count_artifact_room();
--> statement-breakpoint
-- Nobody writes either table until this is committed: the triggers have locked both.
INSERT INTO artifact_room (tenant_id, bytes, folded)
  SELECT tenant_id, sum(bytes), true FROM (SELECT tenant_id, bytes FROM artifacts UNION ALL SELECT tenant_id, bytes FROM artifact_uploads) a GROUP BY tenant_id;
