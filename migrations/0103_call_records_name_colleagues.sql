-- Call records name the members whose SIP users they hold, as `colleagueIn` of the hub does.
CREATE OR REPLACE FUNCTION shown_call(c calls) RETURNS jsonb LANGUAGE sql STABLE AS $$
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
  FROM (SELECT CASE WHEN c.rank = 3 THEN coalesce(c.ended_at, c.heard_at) END AS ended_at) e CROSS JOIN LATERAL (
    SELECT coalesce(c.answered_at, CASE WHEN c.result = 'answered' THEN e.ended_at - c.duration_secs * interval '1 second' END) AS answered_at) a
$$;
