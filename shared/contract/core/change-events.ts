import { z } from 'zod';
import { id, named, timestamp } from '../common.ts';
import type { Entitlement, Role } from '../define.ts';

/** Workspace events about changes by members, API keys and the operator. They name what changed, not its content. */

const common = {
  at: timestamp.describe('Time of the event'),
  by: z
    .string()
    .describe('Who changed it, as in the audit log: `user:<id>`, `token:<id>` or another actor, such as `platform`'),
};
const change = z.enum(['created', 'updated', 'deleted']).describe('Kind of the change');

/** Who receives an event: workspaces with the entitlement, and in them members with at least the role. */
export interface EventAudience {
  entitlement: Entitlement | null;
  role: Role;
}

/** The settings of a workspace, with the members who can read each of them. */
export const settingAudiences = {
  policy: { entitlement: 'automations', role: 'agent' },
  models: { entitlement: 'automations', role: 'agent' },
  tool_profiles: { entitlement: 'automations', role: 'agent' },
  chat: { entitlement: 'conversations_suite', role: 'agent' },
  chat_ai: { entitlement: null, role: 'admin' },
  knowledge: { entitlement: 'ai_agent', role: 'agent' },
  ai_budget: { entitlement: 'ai_agent', role: 'agent' },
  members: { entitlement: null, role: 'agent' },
  invitations: { entitlement: null, role: 'admin' },
  tokens: { entitlement: null, role: 'admin' },
  origins: { entitlement: null, role: 'admin' },
  entitlements: { entitlement: null, role: 'agent' },
  workspace: { entitlement: null, role: 'agent' },
  call_connections: { entitlement: 'business_calling', role: 'admin' },
  sip: { entitlement: 'business_calling', role: 'agent' },
} as const satisfies Record<string, EventAudience>;
export type SettingName = keyof typeof settingAudiences;

export const changeEvents = [
  named(
    'WorkflowEvent',
    z.object({
      type: z.literal('workflow').describe('A workflow changed'),
      ...common,
      id: id.describe('Id of the workflow'),
      change: z.enum(['created', 'updated', 'deleted', 'restored']).describe('Kind of the change'),
      version: z.int().nullable().describe('Version after the change; null after a deletion'),
    }),
  ),
  named(
    'AgentEvent',
    z.object({
      type: z.literal('agent').describe('An AI agent changed'),
      ...common,
      id: id.describe('Id of the agent'),
      change,
    }),
  ),
  named(
    'SequenceEvent',
    z.object({
      type: z.literal('sequence').describe('A sequence changed'),
      ...common,
      id: id.describe('Id of the sequence'),
      change,
    }),
  ),
  named(
    'ChannelEvent',
    z.object({
      type: z.literal('channel').describe('A channel changed'),
      ...common,
      id: id.describe('Id of the channel'),
      change,
    }),
  ),
  named(
    'WebhookEvent',
    z.object({
      type: z.literal('webhook').describe('A webhook changed. Only admins receive this event'),
      ...common,
      id: id.describe('Id of the webhook'),
      change,
    }),
  ),
  named(
    'SettingsEvent',
    z.object({
      type: z
        .literal('settings')
        .describe('A setting of the workspace changed. Members receive it if they can read the setting'),
      ...common,
      setting: z
        .enum(Object.keys(settingAudiences) as [SettingName, ...SettingName[]])
        .describe('The setting that changed; read it again'),
    }),
  ),
] as const;
