-- Paired nodes of a workspace have unique names, so that a workflow can select a node by its name. Of nodes with the same name the oldest keeps it.
UPDATE nodes SET name = left(nodes.name, 180) || ' ' || right(nodes.id::text, 12)
FROM (
  SELECT id, row_number() OVER (PARTITION BY tenant_id, name ORDER BY id) AS position
  FROM nodes WHERE revoked_at IS NULL AND paired_at IS NOT NULL
) named
WHERE named.id = nodes.id AND named.position > 1;
--> statement-breakpoint
-- A node is pending until its companion connects for the first time, not only until it is paired.
CREATE OR REPLACE FUNCTION log_node_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  now_is text := CASE WHEN NEW.revoked_at IS NOT NULL THEN 'revoked' WHEN NEW.paired_at IS NULL OR NEW.last_seen_at IS NULL THEN 'pending' WHEN NEW.online THEN 'online' ELSE 'offline' END;
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) VALUES (NEW.tenant_id, 'node', jsonb_build_object(
    'id', NEW.id, 'name', NEW.name, 'status', now_is,
    'change', CASE WHEN TG_OP = 'INSERT' THEN 'created' WHEN OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL THEN 'revoked'
      WHEN OLD.paired_at IS NULL AND NEW.paired_at IS NOT NULL THEN 'paired' WHEN OLD.online <> NEW.online THEN now_is ELSE 'renamed' END));
  RETURN NULL;
END $$;
