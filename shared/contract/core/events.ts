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
        type: z.literal('run'),
        at,
        id,
        workflowId: id,
        status: z.enum(runStatuses),
        errorCode,
        startedAt: timestamp.nullable(),
        finishedAt: timestamp.nullable(),
      }),
    ),
    named(
      'StepEvent',
      z.object({
        type: z.literal('step'),
        at,
        runId: id,
        index: z.int(),
        status: z.enum(stepStatuses),
        attempts: z.int(),
        errorCode,
      }),
    ),
    named(
      'ApprovalEvent',
      z.object({
        type: z.literal('approval'),
        at,
        id,
        runId: id,
        stepIndex: z.int(),
        kind: z.enum(['step', 'system.run']),
        status: z.enum(['pending', 'approved', 'rejected', 'expired']),
      }),
    ),
    named(
      'NodeEvent',
      z.object({
        type: z.literal('node'),
        at,
        id,
        name: z.string(),
        status: z.enum(['online', 'offline', 'pending', 'revoked']),
        change: z
          .enum(['created', 'paired', 'online', 'offline', 'renamed', 'revoked'])
          .describe('What happened to it'),
      }),
    ),
    callEvent,
    named('ReadyEvent', z.object({ type: z.literal('ready'), at })),
    named('ResetEvent', z.object({ type: z.literal('reset'), at, message: z.string() })),
    named('EndEvent', z.object({ type: z.literal('end'), code: z.string(), message: z.string() })),
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
    holdSeconds: 600,
  },
});
