import { awaySeconds } from './away-seconds.ts';

/** SQL: whether any agent of a workspace is online. @param tenant SQL of the workspace id. */
export const someAgentIsOnline = (tenant: string) =>
  `EXISTS (SELECT FROM chat_agents a WHERE a.tenant_id = ${tenant} AND a.presence = 'online' AND a.seen_at > now() - make_interval(secs => ${awaySeconds}))`;

/**
 * SQL: the owner of an unassigned conversation. `ai` if the AI settings of the workspace apply now, otherwise null.
 * @param tenant SQL of the workspace id.
 */
export const initialOwner = (tenant: string) =>
  `(SELECT 'ai' FROM chat_widgets w JOIN tenants t ON t.id = w.tenant_id
    WHERE w.tenant_id = ${tenant} AND (w.ai_settings->>'enabled')::boolean AND (t.entitlements->>'ai_agent')::boolean
      AND CASE coalesce(w.ai_settings->>'mode', 'when_no_agent_online') WHEN 'always' THEN true
        WHEN 'when_no_agent_online' THEN NOT ${someAgentIsOnline(tenant)} ELSE false END)`;
