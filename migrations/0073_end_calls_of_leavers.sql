-- With the commit by which a workspace leaves hosted SIP, or is removed, it stands here that its calls are to be ended. Runs as who owns the tables: whoever removes a workspace need not be able to write of others.
CREATE FUNCTION note_sip_farewell() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO sip_farewells (tenant_id, username) VALUES (OLD.tenant_id, OLD.username)
  ON CONFLICT (tenant_id) DO UPDATE SET left_at = now(), due_at = now();
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER note_farewell AFTER DELETE ON hosted_sip FOR EACH ROW EXECUTE FUNCTION note_sip_farewell();
--> statement-breakpoint
-- As before; and of calls that end since their workspace left, too, and of no workspace more than can wait.
CREATE OR REPLACE FUNCTION report_sip_call(event text, call_id text, caller text, callee text, sip_code text, hangup_by text, mos text) RETURNS void
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
    SELECT f.tenant_id FROM sip_farewells f JOIN tenants t ON t.id = f.tenant_id WHERE f.username = left(convert_from(decode(caller, 'hex'), 'UTF8'), 17)
  ) w
  WHERE (SELECT count(*) FROM (SELECT FROM sip_reports r WHERE r.tenant_id = w.tenant_id LIMIT 20000) waiting) < 20000
$$;
