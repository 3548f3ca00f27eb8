import { awaySeconds } from './away-seconds.ts';

/** Whether an agent of a workspace is there. @param tenant as SQL. */
export const someAgentIsOnline = (tenant: string) =>
  `EXISTS (SELECT FROM chat_agents a WHERE a.tenant_id = ${tenant} AND a.presence = 'online' AND a.seen_at > now() - make_interval(secs => ${awaySeconds}))`;

/** Who takes care of a conversation of a workspace that nobody has: the AI where its settings say so at this moment, else nobody yet. @param tenant as SQL. */
export const ownerNow = (tenant: string) =>
  `(SELECT 'ai' FROM chat_widgets w JOIN tenants t ON t.id = w.tenant_id
    WHERE w.tenant_id = ${tenant} AND (w.ai_settings->>'enabled')::boolean AND (t.entitlements->>'ai_agent')::boolean
      AND CASE coalesce(w.ai_settings->>'mode', 'when_no_agent_online') WHEN 'always' THEN true
        WHEN 'when_no_agent_online' THEN NOT ${someAgentIsOnline(tenant)} ELSE false END)`;
