import { maxOriginName } from '../../../../shared/commands/origin.ts';

const bounded = (text: string) => `left(${text}, ${maxOriginName})`;

/**
 * Returns SQL that builds the `CommandOrigin` of a command from its workspace, workflow, run and step. A retried or
 * replayed run was started by the one who ran it again, because a replay can have another input.
 * The SQL reads rows by primary key only, because it runs for every command. `OFFSET 0` keeps the planner from copying
 * the expression of the id into each lookup, which makes the primary key look more expensive than other indexes.
 * @param tenantId statement parameter of the workspace id.
 * @param runId statement parameter of the run id.
 * @param ofStep statement parameter of `CommandRequest.origin` as JSON.
 */
export const originOf = (tenantId: string, runId: string, ofStep: string): string => `(
  SELECT jsonb_strip_nulls(jsonb_build_object(
    'workspace', jsonb_build_object('id', t.id, 'name', ${bounded('t.name')}),
    'workflow', CASE WHEN w.id IS NOT NULL AND w.origin->>'kind' IS DISTINCT FROM 'skill' THEN jsonb_build_object('id', w.id, 'name', ${bounded('w.name')}) END,
    'run', jsonb_build_object('id', r.id, 'step', ${ofStep}::jsonb->'step'),
    'startedBy', CASE
      WHEN b.actor LIKE 'user:%' THEN jsonb_build_object('kind', 'user', 'id', b.id, 'name', ${bounded(`coalesce((SELECT u.email FROM users u WHERE u.id = b.id AND u.tenant_id = r.tenant_id), 'A former member')`)})
      WHEN b.actor LIKE 'token:%' THEN jsonb_build_object('kind', 'key', 'id', b.id, 'name', ${bounded(`coalesce((SELECT k.name FROM api_tokens k WHERE k.id = b.id AND k.tenant_id = r.tenant_id), 'A removed key')`)})
      WHEN r.trigger->>'type' = 'webhook' THEN jsonb_build_object('kind', 'hook', 'name', ${bounded(`concat_ws(': ', 'Webhook', r.trigger->>'event')`)})
      WHEN r.trigger->>'type' IN ('schedule', 'heartbeat') THEN jsonb_build_object('kind', 'schedule', 'name', 'Schedule')
      WHEN r.trigger->>'type' = 'event' THEN jsonb_build_object('kind', 'event', 'name', ${bounded(`concat_ws(': ', 'Event', r.trigger->>'event')`)})
      WHEN r.trigger->>'type' = 'channel' THEN jsonb_build_object('kind', 'channel', 'id', r.trigger->>'channelId', 'name', ${bounded(`concat_ws(': ', 'Channel', r.trigger->>'provider')`)})
      WHEN r.trigger->>'type' IN ('subagent', 'error') THEN jsonb_build_object('kind', 'run', 'id', coalesce(r.trigger->>'parentRunId', r.trigger->>'runId'), 'name', 'Another run')
      ELSE jsonb_build_object('kind', 'other', 'name', ${bounded(`coalesce(r.trigger->>'by', r.trigger->>'type')`)}) END,
    'approvedBy', ${ofStep}::jsonb->'approvedBy',
    'reason', ${ofStep}::jsonb->'reason'))
  FROM runs r JOIN tenants t ON t.id = r.tenant_id LEFT JOIN workflows w ON w.id = r.workflow_id
  CROSS JOIN LATERAL (SELECT coalesce(r.trigger->>'ranAgainBy', r.trigger->>'by') AS actor) a
  CROSS JOIN LATERAL (SELECT a.actor, CASE WHEN a.actor ~ '^(user|token):[0-9a-f-]{36}$' THEN split_part(a.actor, ':', 2)::uuid END AS id OFFSET 0) b
  WHERE r.id = ${runId} AND r.tenant_id = ${tenantId})`;
