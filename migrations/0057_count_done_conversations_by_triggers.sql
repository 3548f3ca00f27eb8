-- Runs as who owns the tables: neither role of the hub may write what is counted, but for the sweep that folds it.
CREATE FUNCTION count_done_chats() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    -- A workspace that goes takes its rows with it.
    INSERT INTO chat_done_counts (tenant_id, kind, count)
      SELECT r.tenant_id, k.kind, -count(*) FROM removed r JOIN tenants t ON t.id = r.tenant_id
      CROSS JOIN LATERAL (VALUES (r.status), (CASE WHEN r.unread_count > 0 THEN 'unread' END)) AS k (kind)
      WHERE r.status IN ('resolved', 'closed') AND k.kind IS NOT NULL GROUP BY r.tenant_id, k.kind;
  ELSE
    -- Of a row that is new there is nothing before.
    INSERT INTO chat_done_counts (tenant_id, kind, count)
      SELECT NEW.tenant_id, k.kind, sum(c.change)
      FROM (VALUES (OLD.status, OLD.unread_count, -1), (NEW.status, NEW.unread_count, 1)) AS c (status, unread_count, change)
      CROSS JOIN LATERAL (VALUES (c.status), (CASE WHEN c.unread_count > 0 THEN 'unread' END)) AS k (kind)
      WHERE c.status IN ('resolved', 'closed') AND k.kind IS NOT NULL GROUP BY k.kind HAVING sum(c.change) <> 0;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
REVOKE INSERT, UPDATE, DELETE ON chat_done_counts FROM outrigger_app;
--> statement-breakpoint
CREATE TRIGGER chat_done_added AFTER INSERT ON chat_conversations FOR EACH ROW
  WHEN (NEW.status IN ('resolved', 'closed')) EXECUTE FUNCTION count_done_chats();
--> statement-breakpoint
CREATE TRIGGER chat_done_changed AFTER UPDATE OF status, unread_count ON chat_conversations FOR EACH ROW
  WHEN ((OLD.status IN ('resolved', 'closed') OR NEW.status IN ('resolved', 'closed'))
    AND (OLD.status <> NEW.status OR (OLD.unread_count > 0) <> (NEW.unread_count > 0))) EXECUTE FUNCTION count_done_chats();
--> statement-breakpoint
CREATE TRIGGER chat_done_removed AFTER DELETE ON chat_conversations REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_done_chats();
--> statement-breakpoint
-- Nobody changes a conversation until this is committed: the triggers have locked their table.
INSERT INTO chat_done_counts (tenant_id, kind, count, folded)
  SELECT c.tenant_id, k.kind, count(*), true FROM chat_conversations c
  CROSS JOIN LATERAL (VALUES (c.status), (CASE WHEN c.unread_count > 0 THEN 'unread' END)) AS k (kind)
  WHERE c.status IN ('resolved', 'closed') AND k.kind IS NOT NULL GROUP BY c.tenant_id, k.kind;
