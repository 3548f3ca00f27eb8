import { z } from 'zod';
import { runStatuses, stepStatuses } from '../automations/run-status.ts';
import { callEvent } from '../calls/records.ts';
import { id, named, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { changeEvents, settingAudiences } from './change-events.ts';
import type { EventAudience } from './change-events.ts';

const at = timestamp.describe('Time of the event');
const errorCode = z.string().nullable().describe('`code` of the error; null without one');

/**
 * Events of the products, and events about the stream itself: `ready` when it opens, `reset` when events are missing,
 * `end` when the client loses access.
 */
export const workspaceEvent = named(
  'WorkspaceEvent',
  z.discriminatedUnion('type', [
    named(
      'RunEvent',
      z.object({
        type: z.literal('run').describe('A run changed'),
        at,
        id: id.describe('Id of the run'),
        workflowId: id.describe('Workflow of the run'),
        status: z.enum(runStatuses).describe('Status of the run after the change'),
        errorCode,
        startedAt: timestamp.nullable(),
        finishedAt: timestamp.nullable(),
      }),
    ),
    named(
      'StepEvent',
      z.object({
        type: z.literal('step').describe('A step of a run changed'),
        at,
        runId: id.describe('Run of the step'),
        index: z.int().describe('Position of the step, from 0'),
        status: z.enum(stepStatuses).describe('Status of the step after the change'),
        attempts: z.int().describe('Attempts so far, including the first'),
        errorCode,
      }),
    ),
    named(
      'ApprovalEvent',
      z.object({
        type: z.literal('approval').describe('An approval was requested or decided'),
        at,
        id: id.describe('Id of the approval'),
        runId: id.describe('Run that waits for the decision'),
        stepIndex: z.int().describe('Index of the step that waits, from 0'),
        kind: z
          .enum(['step', 'system.run'])
          .describe('`system.run` for a command on a node, `step` for everything else'),
        status: z
          .enum(['pending', 'approved', 'rejected', 'expired'])
          .describe('Status of the approval after the change'),
      }),
    ),
    named(
      'NodeEvent',
      z.object({
        type: z.literal('node').describe('A companion node changed'),
        at,
        id: id.describe('Id of the node'),
        name: z.string().describe('Name of the node'),
        status: z.enum(['online', 'offline', 'pending', 'revoked']).describe('Status of the node after the change'),
        change: z
          .enum(['created', 'paired', 'online', 'offline', 'renamed', 'changed', 'revoked'])
          .describe('Kind of the change; `changed`: its tags or what the workspace allows on it'),
      }),
    ),
    callEvent,
    ...changeEvents,
    named(
      'ReadyEvent',
      z.object({ type: z.literal('ready').describe('The stream is open; later events are sent'), at }),
    ),
    named(
      'ResetEvent',
      z.object({
        type: z.literal('reset').describe('Events are missing; read the lists again'),
        at,
        message: z.string().describe('Human-readable explanation of why events are missing'),
      }),
    ),
    named(
      'EndEvent',
      z.object({
        type: z.literal('end').describe('The stream ends because the caller lost access'),
        code: z.string().describe('Stable reason, such as `token_revoked`'),
        message: z.string().describe('Human-readable reason'),
      }),
    ),
  ]),
);
export type WorkspaceEvent = z.output<typeof workspaceEvent>;

/** Who receives each type of event. Each setting has an audience of its own. */
export const eventAudiences = {
  run: { entitlement: 'automations', role: 'agent' },
  step: { entitlement: 'automations', role: 'agent' },
  approval: { entitlement: 'automations', role: 'agent' },
  node: { entitlement: 'automations', role: 'agent' },
  call: { entitlement: 'business_calling', role: 'agent' },
  workflow: { entitlement: 'automations', role: 'agent' },
  agent: { entitlement: 'automations', role: 'agent' },
  sequence: { entitlement: 'automations', role: 'agent' },
  channel: { entitlement: 'automations', role: 'agent' },
  webhook: { entitlement: 'conversations_suite', role: 'admin' },
} as const satisfies Partial<Record<WorkspaceEvent['type'], EventAudience>>;

/** Who receives an event; null for an event that this version of the hub does not know. */
export function audienceOf(type: string, data: { setting?: unknown }): EventAudience | null {
  const audiences: Readonly<Record<string, EventAudience>> = type === 'settings' ? settingAudiences : eventAudiences;
  const name = type === 'settings' ? String(data.setting) : type;
  return Object.hasOwn(audiences, name) ? (audiences[name] ?? null) : null;
}

export const events = defineResource({
  streamWorkspaceEvents: {
    tag: 'Live events',
    callers: ['session'],
    role: 'agent',
    method: 'GET',
    path: '/tenants/{tenantId}/events',
    summary: 'Stream workspace events',
    description: [
      'Server-sent events about runs, steps, approvals, nodes and calls, and about changes of workflows, agents, sequences, channels, webhooks and settings. The name of an event is the type of the changed object (`run`, `workflow`, `settings`); its data is the state after the change, or for an object that members edit, what changed and by whom. Open the stream first, wait for its first event, `ready`, then load the lists. The stream sends every later change, in order for each object.',
      'The stream closes after 10 minutes, when the client reads nothing for 30 seconds, when the session ends and when the hub restarts. Reconnect with the id of the last event in `Last-Event-ID`, as an `EventSource` does; any process continues without gaps and duplicates. Events are kept for 24 hours, at most the newest 10,000 of a workspace. If events are missing, the stream sends `reset`: load the lists again. Without a valid id, the stream starts with `ready`.',
      'The stream needs no entitlement itself. It contains automation events while the workspace has `automations`, and calls while it has `business_calling`. A member receives events about settings that the member can read: those about webhooks, API keys, invitations, allowed origins, carrier connections and the settings of the AI agent in chats are for admins. A node is reported offline a few seconds after its third missed heartbeat. Deletions by retention are not reported. When the session ends, the last event is `end` with the error `code`. Ignore events with unknown names.',
    ].join('\n\n'),
    params: z.strictObject({ tenantId: id }),
    response: z.unknown(),
    binaryResponse: 'text/event-stream',
    streamedEvent: workspaceEvent,
    resumable: true,
    maxOpenSeconds: 600,
  },
});
