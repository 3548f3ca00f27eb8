import { z } from 'zod';
import { runStatuses, stepStatuses } from '../automations/run-status.ts';
import { callEvent } from '../calls/records.ts';
import { id, named, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import type { Entitlement } from '../define.ts';

const at = timestamp.describe('When it happened');
const errorCode = z.string().nullable().describe('The `code` of its `error`');

/** Beside what products tell, what the stream says of itself: `ready` at its beginning, `reset` where events are missing, `end` when its reader may not follow any more. */
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
        attempts: z.int().describe('Tries so far, the first included'),
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
          .enum(['created', 'paired', 'online', 'offline', 'renamed', 'revoked'])
          .describe('What happened to it'),
      }),
    ),
    callEvent,
    named(
      'ReadyEvent',
      z.object({ type: z.literal('ready').describe('The stream is open; events from now on are sent'), at }),
    ),
    named(
      'ResetEvent',
      z.object({
        type: z.literal('reset').describe('Events are missing; read the lists again'),
        at,
        message: z.string().describe('Why events are missing, for people'),
      }),
    ),
    named(
      'EndEvent',
      z.object({
        type: z.literal('end').describe('The stream ends; the caller may not follow it any more'),
        code: z.string().describe('Stable reason, such as `token_revoked`'),
        message: z.string().describe('Reason, for people'),
      }),
    ),
  ]),
);
export type WorkspaceEvent = z.output<typeof workspaceEvent>;

/** What a workspace must be entitled to for its members to hear of a kind of event. */
export const eventEntitlements: Readonly<Record<string, Entitlement>> = {
  run: 'automations',
  step: 'automations',
  approval: 'automations',
  node: 'automations',
  call: 'business_calling',
} satisfies Partial<Record<WorkspaceEvent['type'], Entitlement>>;

export const events = defineResource({
  streamWorkspaceEvents: {
    tag: 'Live events',
    callers: ['session'],
    role: 'agent',
    method: 'GET',
    path: '/tenants/{tenantId}/events',
    summary: 'Follow live what changes in the workspace',
    description: [
      'Server-sent events, one stream for all that a page shows. Each is named for what changed (`run`, `step`, `approval`, `node`, `call`) and says how that stands now: patch what you show, or fetch it. Open the stream first and load what you show on `ready`, its first event: what changes from then on is told, in the order in which it happened to each run, step, approval, node and call.',
      'A stream closes after 10 minutes, when its reader takes nothing for 30 seconds, with the session, and when the hub restarts; come back with the id of the last event in `Last-Event-ID`, as an `EventSource` does by itself, to whichever process: what was missed follows, nothing twice. Events are kept for 24 hours, the newest 10,000 of a workspace; where some are missing comes `reset`: load everything again, and go on from there. Without an id, or with one that is none, a stream begins anew with `ready`.',
      'Whatever the workspace is entitled to, it may be followed: of automations it tells while there is the entitlement `automations`, of calls while there is `business_calling`. A node is told to be offline a few seconds after its third heartbeat failed to come; what retention removes is not told. When the session ends, the last event is `end`, with the `code` of the refusal. Take no notice of events whose names you do not know.',
    ].join('\n\n'),
    params: z.strictObject({ tenantId: id }),
    response: z.unknown(),
    binaryResponse: 'text/event-stream',
    streamedEvent: workspaceEvent,
    resumable: true,
    maxOpenSeconds: 600,
  },
});
