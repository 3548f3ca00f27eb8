-- What readers are told of a call; as hub/products/calls/records/present.ts shows it.
CREATE FUNCTION shown_call(c calls) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('id', c.id, 'provider', c.provider, 'callSid', c.call_sid, 'direction', c.direction, 'fromId', c.from_id, 'toId', c.to_id,
    'state', (ARRAY['queued', 'ringing', 'in_progress', 'ended'])[c.rank + 1], 'result', c.result, 'reason', c.reason,
    'startedAt', to_char(c.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'answeredAt', to_char(a.answered_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'endedAt', to_char(e.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'durationSecs', c.duration_secs,
    'ringSecs', CASE WHEN coalesce(a.answered_at, e.ended_at) IS NOT NULL THEN greatest(0, round(extract(epoch FROM coalesce(a.answered_at, e.ended_at) - c.started_at)))::integer END,
    'hangupBy', c.hangup_by, 'sipCode', c.sip_code, 'mosScore', c.mos_score)
  FROM (SELECT CASE WHEN c.rank = 3 THEN coalesce(c.ended_at, c.heard_at) END AS ended_at) e CROSS JOIN LATERAL (
    SELECT coalesce(c.answered_at, CASE WHEN c.result = 'answered' THEN e.ended_at - c.duration_secs * interval '1 second' END) AS answered_at) a
$$;
--> statement-breakpoint
-- Written by statement, so that a hundred events of carriers in one transaction cost one row for each day. Runs as whoever changes the calls.
CREATE FUNCTION tell_calls() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO public.call_day_sums (tenant_id, day, calls, inbound, answered_inbound, answered, seconds)
      SELECT n.tenant_id, (n.started_at AT TIME ZONE 'UTC')::date, count(*), count(*) FILTER (WHERE n.direction = 'inbound' AND n.rank = 3),
        count(*) FILTER (WHERE n.direction = 'inbound' AND n.result = 'answered'), count(*) FILTER (WHERE n.result = 'answered'), sum(n.duration_secs)
      FROM new_calls n GROUP BY 1, 2;
    INSERT INTO public.workspace_events (tenant_id, type, data)
      SELECT n.tenant_id, 'call', jsonb_build_object('call', shown_call(n)) FROM new_calls n;
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
      SELECT n.tenant_id, 'call', jsonb_build_object('call', shown_call(n)) FROM new_calls n JOIN old_calls o ON o.id = n.id
      WHERE shown_call(o) <> shown_call(n);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER calls_added AFTER INSERT ON calls REFERENCING NEW TABLE AS new_calls FOR EACH STATEMENT EXECUTE FUNCTION tell_calls();
--> statement-breakpoint
CREATE TRIGGER calls_changed AFTER UPDATE ON calls REFERENCING OLD TABLE AS old_calls NEW TABLE AS new_calls FOR EACH STATEMENT EXECUTE FUNCTION tell_calls();
