ALTER TABLE "nodes" ADD COLUMN "tags" text[] DEFAULT '{}' NOT NULL;
--> statement-breakpoint
-- Also announces changes of the settings that the workspace makes: the tags and what the node may do.
CREATE OR REPLACE FUNCTION log_node_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  now_is text := CASE WHEN NEW.revoked_at IS NOT NULL THEN 'revoked' WHEN NEW.paired_at IS NULL OR NEW.last_seen_at IS NULL THEN 'pending' WHEN NEW.online THEN 'online' ELSE 'offline' END;
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) VALUES (NEW.tenant_id, 'node', jsonb_build_object(
    'id', NEW.id, 'name', NEW.name, 'status', now_is,
    'change', CASE WHEN TG_OP = 'INSERT' THEN 'created' WHEN OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL THEN 'revoked'
      WHEN OLD.paired_at IS NULL AND NEW.paired_at IS NOT NULL THEN 'paired' WHEN OLD.online <> NEW.online THEN now_is
      WHEN OLD.name <> NEW.name THEN 'renamed' ELSE 'changed' END));
  RETURN NULL;
END $$;
--> statement-breakpoint
DROP TRIGGER log_changed ON nodes;
--> statement-breakpoint
CREATE TRIGGER log_changed AFTER UPDATE OF name, tags, allow_system, allow_browser, online, paired_at, revoked_at ON nodes FOR EACH ROW
  WHEN (OLD.name <> NEW.name OR OLD.tags <> NEW.tags OR OLD.allow_system <> NEW.allow_system OR OLD.allow_browser <> NEW.allow_browser
    OR OLD.online <> NEW.online OR OLD.paired_at IS DISTINCT FROM NEW.paired_at OR OLD.revoked_at IS DISTINCT FROM NEW.revoked_at)
  EXECUTE FUNCTION log_node_event();
