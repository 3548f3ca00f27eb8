-- Everything that schema.ts files cannot declare: partitions, storage parameters, an unlogged table, a view, functions and triggers.

-- Run steps and log entries are partitioned by month. The first partition ends with the first month that begins at least seven days from now;
-- the hub creates the partitions of later months. Rows of a month without a partition go to the default partition, so that a wrong
-- clock loses no rows. Roles reach partitions only through their table and its policies.
DO $$
DECLARE
  bound_at timestamp := date_trunc('month', (now() AT TIME ZONE 'UTC') + interval '7 days') + interval '1 month';
  -- The least UUIDv7 of that instant.
  bound uuid := lpad(to_hex((extract(epoch FROM bound_at) * 1000)::bigint), 12, '0') || '70008000000000000000';
  partitioned text;
  part text;
BEGIN
  FOREACH partitioned IN ARRAY ARRAY['run_steps', 'run_logs'] LOOP
    EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (MINVALUE) TO (%L)', partitioned || '_first', partitioned, bound);
    EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', partitioned || '_default', partitioned);
    FOREACH part IN ARRAY ARRAY['_first', '_default'] LOOP
      EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', partitioned || part);
    END LOOP;
  END LOOP;
END
$$;
--> statement-breakpoint
-- Counters of the current window. They may be lost in a crash, so they are kept out of the write-ahead log.
CREATE UNLOGGED TABLE rate_limits (
  key text PRIMARY KEY,
  window_start timestamptz NOT NULL,
  count integer NOT NULL,
  expires_at timestamptz NOT NULL DEFAULT now() + interval '1 hour'
) WITH (fillfactor = 50);
--> statement-breakpoint
CREATE INDEX rate_limits_expiry ON rate_limits (expires_at);
--> statement-breakpoint
-- Small tables with a high turnover.
ALTER TABLE outbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
--> statement-breakpoint
ALTER TABLE workspace_events SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
--> statement-breakpoint
ALTER TABLE runs SET (fillfactor = 80);
--> statement-breakpoint
-- Runs as the owner of the tables: the role that removes a workspace cannot write this table for other workspaces.
CREATE FUNCTION record_removed_workspaces() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO removed_workspaces (tenant_id) SELECT id FROM removed ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER record_removed AFTER DELETE ON tenants REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION record_removed_workspaces();
--> statement-breakpoint
-- The functions that log workspace events run as the role that changes the row, which sees only its own workspace. They read no other table.
-- A run that a worker starts when it is accepted is inserted as running. Its events still begin with queued, in the same statement.
CREATE FUNCTION log_new_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) SELECT tenant_id, 'run', jsonb_build_object(
    'id', id, 'workflowId', workflow_id, 'status', shown.status, 'errorCode', error->>'code',
    'startedAt', CASE WHEN shown.status <> 'queued' THEN to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END,
    'finishedAt', to_char(finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  FROM added CROSS JOIN LATERAL unnest(CASE added.status WHEN 'queued' THEN ARRAY['queued'] ELSE ARRAY['queued', added.status] END) WITH ORDINALITY AS shown (status, place)
  ORDER BY id, shown.place;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_new AFTER INSERT ON runs REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION log_new_runs();
--> statement-breakpoint
-- One insert for all runs that a statement changes: runs are claimed and finished in batches.
CREATE FUNCTION log_changed_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) SELECT n.tenant_id, 'run', jsonb_build_object(
    'id', n.id, 'workflowId', n.workflow_id, 'status', n.status, 'errorCode', n.error->>'code',
    'startedAt', to_char(n.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'finishedAt', to_char(n.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  FROM changed n JOIN before o ON o.id = n.id WHERE o.status IS DISTINCT FROM n.status;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_changed AFTER UPDATE ON runs REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_changed_runs();
--> statement-breakpoint
CREATE FUNCTION log_new_steps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) SELECT tenant_id, 'step', jsonb_build_object(
    'runId', run_id, 'index', index, 'status', status, 'attempts', attempts, 'errorCode', error->>'code') FROM added;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_new AFTER INSERT ON run_steps REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION log_new_steps();
--> statement-breakpoint
CREATE FUNCTION log_step_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) VALUES (NEW.tenant_id, 'step', jsonb_build_object(
    'runId', NEW.run_id, 'index', NEW.index, 'status', NEW.status, 'attempts', NEW.attempts, 'errorCode', NEW.error->>'code'));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_changed AFTER UPDATE OF status ON run_steps FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION log_step_event();
--> statement-breakpoint
CREATE FUNCTION log_approval_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) VALUES (NEW.tenant_id, 'approval', jsonb_build_object(
    'id', NEW.id, 'runId', NEW.run_id, 'stepIndex', NEW.step_index, 'kind', NEW.kind, 'status', NEW.status));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_new AFTER INSERT ON approvals FOR EACH ROW EXECUTE FUNCTION log_approval_event();
--> statement-breakpoint
CREATE TRIGGER log_changed AFTER UPDATE OF status ON approvals FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION log_approval_event();
--> statement-breakpoint
-- A node is pending until its companion connects for the first time, not only until it is paired.
CREATE FUNCTION log_node_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  now_is text := CASE WHEN NEW.revoked_at IS NOT NULL THEN 'revoked' WHEN NEW.paired_at IS NULL OR NEW.last_seen_at IS NULL THEN 'pending' WHEN NEW.online THEN 'online' ELSE 'offline' END;
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) VALUES (NEW.tenant_id, 'node', jsonb_build_object(
    'id', NEW.id, 'name', NEW.name, 'status', now_is,
    'change', CASE WHEN TG_OP = 'INSERT' THEN 'created' WHEN OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL THEN 'revoked'
      WHEN OLD.paired_at IS NULL AND NEW.paired_at IS NOT NULL THEN 'paired' WHEN OLD.online <> NEW.online THEN now_is ELSE 'renamed' END));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER log_new AFTER INSERT ON nodes FOR EACH ROW EXECUTE FUNCTION log_node_event();
--> statement-breakpoint
CREATE TRIGGER log_changed AFTER UPDATE OF name, online, paired_at, revoked_at ON nodes FOR EACH ROW
  WHEN (OLD.name <> NEW.name OR OLD.online <> NEW.online OR OLD.paired_at IS DISTINCT FROM NEW.paired_at OR OLD.revoked_at IS DISTINCT FROM NEW.revoked_at)
  EXECUTE FUNCTION log_node_event();
--> statement-breakpoint
-- Runs as the owner of the tables: the roles of the hub cannot write the counters, except the sweep that folds them.
CREATE FUNCTION count_artifact_usage() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO artifact_usage (tenant_id, bytes) SELECT tenant_id, sum(bytes) FROM added GROUP BY tenant_id;
  ELSIF TG_OP = 'DELETE' THEN
    -- Counters of a removed workspace are deleted with the workspace.
    INSERT INTO artifact_usage (tenant_id, bytes) SELECT r.tenant_id, -sum(r.bytes) FROM removed r JOIN tenants t ON t.id = r.tenant_id GROUP BY r.tenant_id;
  ELSE
    INSERT INTO artifact_usage (tenant_id, bytes) VALUES (NEW.tenant_id, NEW.bytes - OLD.bytes);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER artifact_usage_added AFTER INSERT ON artifacts REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_artifact_usage();
--> statement-breakpoint
CREATE TRIGGER artifact_usage_removed AFTER DELETE ON artifacts REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_artifact_usage();
--> statement-breakpoint
CREATE TRIGGER artifact_usage_changed AFTER UPDATE OF bytes ON artifacts FOR EACH ROW EXECUTE FUNCTION count_artifact_usage();
--> statement-breakpoint
CREATE TRIGGER artifact_usage_added AFTER INSERT ON artifact_uploads REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_artifact_usage();
--> statement-breakpoint
CREATE TRIGGER artifact_usage_removed AFTER DELETE ON artifact_uploads REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_artifact_usage();
--> statement-breakpoint
CREATE TRIGGER artifact_usage_changed AFTER UPDATE OF bytes ON artifact_uploads FOR EACH ROW EXECUTE FUNCTION count_artifact_usage();
--> statement-breakpoint
-- As count_artifact_usage.
CREATE FUNCTION count_chat_file_usage() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO chat_file_usage (tenant_id, bytes) SELECT tenant_id, sum(bytes) FROM added GROUP BY tenant_id;
  ELSIF TG_OP = 'DELETE' THEN
    -- Counters of a removed workspace are deleted with the workspace.
    INSERT INTO chat_file_usage (tenant_id, bytes) SELECT r.tenant_id, -sum(r.bytes) FROM removed r JOIN tenants t ON t.id = r.tenant_id GROUP BY r.tenant_id;
  ELSE
    INSERT INTO chat_file_usage (tenant_id, bytes) VALUES (NEW.tenant_id, NEW.bytes - OLD.bytes);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER chat_file_usage_added AFTER INSERT ON chat_files REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_chat_file_usage();
--> statement-breakpoint
CREATE TRIGGER chat_file_usage_removed AFTER DELETE ON chat_files REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_chat_file_usage();
--> statement-breakpoint
CREATE TRIGGER chat_file_usage_changed AFTER UPDATE OF bytes ON chat_files FOR EACH ROW EXECUTE FUNCTION count_chat_file_usage();
--> statement-breakpoint
-- Runs as the owner of the tables, as count_artifact_usage. A DELETE counts per statement, other changes per row.
CREATE FUNCTION count_done_chats() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    -- Counters of a removed workspace are deleted with the workspace.
    INSERT INTO chat_done_counts (tenant_id, kind, count)
      SELECT r.tenant_id, k.kind, -count(*) FROM removed r JOIN tenants t ON t.id = r.tenant_id
      CROSS JOIN LATERAL (VALUES (r.status), (CASE WHEN r.unread_count > 0 THEN 'unread' END)) AS k (kind)
      WHERE r.status IN ('resolved', 'closed') AND k.kind IS NOT NULL GROUP BY r.tenant_id, k.kind;
  ELSE
    -- A new row has no old values.
    INSERT INTO chat_done_counts (tenant_id, kind, count)
      SELECT NEW.tenant_id, k.kind, sum(c.change)
      FROM (VALUES (OLD.status, OLD.unread_count, -1), (NEW.status, NEW.unread_count, 1)) AS c (status, unread_count, change)
      CROSS JOIN LATERAL (VALUES (c.status), (CASE WHEN c.unread_count > 0 THEN 'unread' END)) AS k (kind)
      WHERE c.status IN ('resolved', 'closed') AND k.kind IS NOT NULL GROUP BY k.kind HAVING sum(c.change) <> 0;
  END IF;
  RETURN NULL;
END $$;
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
-- Runs as the owner of the tables: files are deleted with their conversation, visitor or workspace, by any role. The sweep then removes the bytes.
CREATE FUNCTION record_unused_chat_blobs() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO chat_unused_blobs (blob_key, tenant_id, remove_at) SELECT blob_key, tenant_id, now() FROM removed
    ON CONFLICT (blob_key) DO UPDATE SET remove_at = excluded.remove_at;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER record_unused AFTER DELETE ON chat_files REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION record_unused_chat_blobs();
--> statement-breakpoint
-- As record_unused_chat_blobs: a picture is deleted with its member or its workspace.
CREATE FUNCTION record_unused_member_picture() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO chat_unused_blobs (blob_key, tenant_id, remove_at) VALUES (OLD.blob_key, OLD.tenant_id, now())
    ON CONFLICT (blob_key) DO UPDATE SET remove_at = excluded.remove_at;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER record_unused AFTER DELETE ON member_pictures FOR EACH ROW EXECUTE FUNCTION record_unused_member_picture();
--> statement-breakpoint
-- The JSON of a call in workspace events, in the shape that hub/products/calls/records/present.ts returns.
-- It names members whose SIP users the call holds, as colleagueIn of the hub does.
CREATE FUNCTION call_json(c calls) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('id', c.id, 'provider', c.provider, 'callSid', c.call_sid, 'direction', c.direction, 'fromId', c.from_id, 'toId', c.to_id,
    'fromName', CASE WHEN c.from_id LIKE '%w________________-%' THEN (SELECT coalesce(u.display_name, u.email) FROM public.users u
    WHERE u.tenant_id = c.tenant_id AND u.id = (substring(c.from_id FROM '^(?:sips?:)?w[0-9a-f]{16}-([0-9a-f]{32})(?:@.*)?$'))::uuid
      AND substring(c.from_id FROM '^(?:sips?:)?w([0-9a-f]{16})-') = left(encode(sha256(c.tenant_id::text::bytea), 'hex'), 16)) END,
    'toName', CASE WHEN c.to_id LIKE '%w________________-%' THEN (SELECT coalesce(u.display_name, u.email) FROM public.users u
    WHERE u.tenant_id = c.tenant_id AND u.id = (substring(c.to_id FROM '^(?:sips?:)?w[0-9a-f]{16}-([0-9a-f]{32})(?:@.*)?$'))::uuid
      AND substring(c.to_id FROM '^(?:sips?:)?w([0-9a-f]{16})-') = left(encode(sha256(c.tenant_id::text::bytea), 'hex'), 16)) END,
    'state', (ARRAY['queued', 'ringing', 'in_progress', 'ended'])[c.rank + 1], 'result', c.result, 'reason', c.reason,
    'startedAt', to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'answeredAt', to_char(a.answered_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'endedAt', to_char(e.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'durationSecs', c.duration_secs,
    'ringSecs', CASE WHEN coalesce(a.answered_at, e.ended_at) IS NOT NULL THEN greatest(0, round(extract(epoch FROM coalesce(a.answered_at, e.ended_at) - c.started_at)))::integer END,
    'hangupBy', c.hangup_by, 'sipCode', c.sip_code, 'mosScore', c.mos_score)
  FROM (SELECT CASE WHEN c.rank = 3 THEN coalesce(c.ended_at, c.last_event_at) END AS ended_at) e CROSS JOIN LATERAL (
    SELECT coalesce(c.answered_at, CASE WHEN c.result = 'answered' THEN e.ended_at - c.duration_secs * interval '1 second' END) AS answered_at) a
$$;
--> statement-breakpoint
-- Runs once per statement, as the role that changes the calls: a hundred carrier events in one transaction cost one row per day.
CREATE FUNCTION publish_calls() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO public.call_day_sums (tenant_id, day, calls, inbound, answered_inbound, answered, seconds)
      SELECT n.tenant_id, (n.started_at AT TIME ZONE 'UTC')::date, count(*), count(*) FILTER (WHERE n.direction = 'inbound' AND n.rank = 3),
        count(*) FILTER (WHERE n.direction = 'inbound' AND n.result = 'answered'), count(*) FILTER (WHERE n.result = 'answered'), sum(n.duration_secs)
      FROM new_calls n GROUP BY 1, 2;
    INSERT INTO public.workspace_events (tenant_id, type, data)
      SELECT n.tenant_id, 'call', jsonb_build_object('call', call_json(n)) FROM new_calls n;
  ELSE
    INSERT INTO public.call_day_sums (tenant_id, day, calls, inbound, answered_inbound, answered, seconds)
      SELECT c.tenant_id, (c.started_at AT TIME ZONE 'UTC')::date, sum(c.change), coalesce(sum(c.change) FILTER (WHERE c.direction = 'inbound' AND c.rank = 3), 0),
        coalesce(sum(c.change) FILTER (WHERE c.direction = 'inbound' AND c.result = 'answered'), 0),
        coalesce(sum(c.change) FILTER (WHERE c.result = 'answered'), 0), sum(c.change * c.duration_secs)
      FROM (SELECT tenant_id, started_at, direction, rank, result, duration_secs, -1 AS change FROM old_calls
        UNION ALL SELECT tenant_id, started_at, direction, rank, result, duration_secs, 1 FROM new_calls) c
      GROUP BY 1, 2
      HAVING (sum(c.change), coalesce(sum(c.change) FILTER (WHERE c.direction = 'inbound' AND c.rank = 3), 0),
        coalesce(sum(c.change) FILTER (WHERE c.direction = 'inbound' AND c.result = 'answered'), 0),
        coalesce(sum(c.change) FILTER (WHERE c.result = 'answered'), 0), sum(c.change * c.duration_secs)) <> (0, 0, 0, 0, 0);
    INSERT INTO public.workspace_events (tenant_id, type, data)
      SELECT n.tenant_id, 'call', jsonb_build_object('call', call_json(n)) FROM new_calls n JOIN old_calls o ON o.id = n.id
      WHERE call_json(o) <> call_json(n);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER calls_added AFTER INSERT ON calls REFERENCING NEW TABLE AS new_calls FOR EACH STATEMENT EXECUTE FUNCTION publish_calls();
--> statement-breakpoint
CREATE TRIGGER calls_changed AFTER UPDATE ON calls REFERENCING OLD TABLE AS old_calls NEW TABLE AS new_calls FOR EACH STATEMENT EXECUTE FUNCTION publish_calls();
--> statement-breakpoint
-- Queues the end of all calls of a workspace in the transaction that ends its hosted SIP account or removes the workspace.
-- Runs as the owner of the tables.
CREATE FUNCTION queue_sip_teardown() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO sip_teardowns (tenant_id, username) VALUES (OLD.tenant_id, OLD.username)
  ON CONFLICT (tenant_id) DO UPDATE SET left_at = now(), due_at = now();
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER queue_teardown AFTER DELETE ON hosted_sip FOR EACH ROW EXECUTE FUNCTION queue_sip_teardown();
--> statement-breakpoint
-- The accounts that the operator's SIP server authenticates.
CREATE VIEW sip_subscriber WITH (security_barrier) AS
  SELECT h.username, h.domain, h.ha1 FROM hosted_sip h JOIN tenants t ON t.id = h.tenant_id
  WHERE h.ha1 IS NOT NULL AND t.entitlements ->> 'business_calling' = 'true';
--> statement-breakpoint
-- The operator's SIP server reports call events through this function and has no other write access. Arguments are hexadecimal, so that no text from a
-- phone becomes part of a statement. Callers of unknown workspaces are ignored. At most 20,000 reports wait per workspace.
CREATE FUNCTION report_sip_call(event text, call_id text, caller text, callee text, sip_code text, hangup_by text, mos text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO sip_reports (tenant_id, report)
  SELECT w.tenant_id, jsonb_strip_nulls(jsonb_build_object(
    'event', event,
    'at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'callId', convert_from(decode(call_id, 'hex'), 'UTF8'),
    'direction', 'outbound',
    'from', convert_from(decode(caller, 'hex'), 'UTF8'),
    'to', convert_from(decode(callee, 'hex'), 'UTF8'),
    'sipCode', nullif(convert_from(decode(sip_code, 'hex'), 'UTF8'), '')::integer,
    'hangupBy', nullif(convert_from(decode(hangup_by, 'hex'), 'UTF8'), ''),
    'mosScore', nullif(convert_from(decode(mos, 'hex'), 'UTF8'), '')::numeric))::text
  FROM (
    SELECT h.tenant_id FROM hosted_sip h WHERE h.username = left(convert_from(decode(caller, 'hex'), 'UTF8'), 17)
    UNION
    SELECT f.tenant_id FROM sip_teardowns f JOIN tenants t ON t.id = f.tenant_id WHERE f.username = left(convert_from(decode(caller, 'hex'), 'UTF8'), 17)
  ) w
  WHERE (SELECT count(*) FROM (SELECT FROM sip_reports r WHERE r.tenant_id = w.tenant_id LIMIT 20000) waiting) < 20000
$$;
