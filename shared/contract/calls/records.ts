import { z } from 'zod';
import { id, idParams, instant, listQuery, named, page, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

/** Records of the calls of a workspace, as reported by its carriers. The hub does not place calls. */

export const carriers = ['twilio', 'telnyx', 'kamailio'] as const;
export type Carrier = (typeof carriers)[number];

/** Sources of records: carriers that report calls, and the own SIP trunk of the workspace. */
export const callProviders = [...carriers, 'sip_trunk'] as const;
export type CallProvider = (typeof callProviders)[number];

export const callDirections = ['inbound', 'outbound'] as const;
export type CallDirection = (typeof callDirections)[number];

/** In the order of a call's progress. */
export const callStates = ['queued', 'ringing', 'in_progress', 'ended'] as const;

export const callResults = ['answered', 'missed', 'busy', 'failed', 'voicemail', 'cancelled'] as const;
export type CallResult = (typeof callResults)[number];

/** A call without events for this time is closed as failed, in hours. */
export const staleCallHours = 4;
/** Maximum number of exports per minute of one user over all sessions. */
export const exportsPerMinute = 5;

const direction = named('CallDirection', z.enum(callDirections, `must be one of ${callDirections.join(', ')}`));
// Named, because code generators would derive the same type name for an inline schema as for the response.
const result = named('CallResult', z.enum(callResults, `must be one of ${callResults.join(', ')}`));

export const callRecord = named(
  'CallRecord',
  z
    .object({
      id: id.describe('Id of the record'),
      provider: z
        .enum(callProviders)
        .describe('Carrier that reported the call, or `sip_trunk` for the trunk of the workspace'),
      callSid: z.string().describe('Id of the call at the carrier; unique for a workspace and carrier'),
      direction: direction.nullable().describe('Direction of the call; null until the carrier reports it'),
      fromId: z.string().nullable().describe('Caller: a number or a SIP address, as the carrier reported it'),
      toId: z.string().nullable().describe('Callee: a number or a SIP address, as the carrier reported it'),
      fromName: z
        .string()
        .nullable()
        .describe('Display name or email address of the member who called from a softphone; null for others'),
      toName: z
        .string()
        .nullable()
        .describe('Display name or email address of the member who was called; null for others'),
      state: z.enum(callStates).describe('Progress of the call; `ended` is final'),
      result: result
        .nullable()
        .describe(
          '`answered`; `missed`: inbound and not answered; `busy`; `failed`; `voicemail`: a machine answered; `cancelled`: outbound and cancelled by the caller. Null until the call ended',
        ),
      reason: z
        .string()
        .nullable()
        .describe('Reason as the carrier reported it, or `no_final_event` if the carrier never reported the end'),
      startedAt: timestamp,
      answeredAt: timestamp.nullable(),
      endedAt: timestamp.nullable(),
      durationSecs: z.int().describe('Talk time in seconds; 0 unless answered'),
      ringSecs: z
        .int()
        .nullable()
        .describe('Seconds from the start until the call was answered or ended; null while it rings'),
      hangupBy: z.enum(['caller', 'callee']).nullable().describe('Side that ended the call; null if not reported'),
      sipCode: z.int().nullable().describe('Final SIP status; null if not reported'),
      mosScore: z
        .number()
        .nullable()
        .describe('Audio quality (MOS), 1 to 5, the worst of several measurements; null if not measured'),
    })
    .describe('A call, as its carrier reported it'),
  {
    id: '01980000-0000-7000-8000-000000000021',
    provider: 'twilio',
    callSid: 'CA0123456789abcdef0123456789abcdef',
    direction: 'inbound',
    fromId: '+15005550006',
    toId: '+15005550001',
    fromName: null,
    toName: null,
    state: 'ended',
    result: 'answered',
    reason: null,
    startedAt: '2026-01-31T09:00:00.000Z',
    answeredAt: '2026-01-31T09:00:05.000Z',
    endedAt: '2026-01-31T09:02:05.000Z',
    durationSecs: 120,
    ringSecs: 5,
    hangupBy: 'caller',
    sipCode: 200,
    mosScore: 4.3,
  },
);
export type CallRecord = z.output<typeof callRecord>;

export const callSummary = named(
  'CallSummary',
  z.object({
    minutesToday: z.int().describe('Minutes of answered calls that started today (UTC), rounded'),
    answeredRate7d: z
      .number()
      .nullable()
      .describe(
        'Share of answered calls among ended inbound calls of the last 7 days including today (UTC), 0 to 1; null without any',
      ),
    callsToday: z.int().describe('Calls that started today, including calls in progress'),
    inbound7d: z.int().describe('Ended inbound calls of these 7 days'),
    answered7d: z.int().describe('Answered inbound calls of these 7 days'),
  }),
  { minutesToday: 42, answeredRate7d: 0.9, callsToday: 17, inbound7d: 100, answered7d: 90 },
);
export type CallSummary = z.output<typeof callSummary>;

const filters = {
  direction: direction.optional(),
  result: result.optional(),
  from: instant.optional().describe('Only calls that started at or after this time'),
  to: instant.optional().describe('Only calls that started before this time'),
};

const token = { tag: 'Business Calling', callers: ['token'], permission: 'voice:read', method: 'GET' } as const;
const member = {
  tag: 'Business Calling',
  callers: ['token', 'session'],
  permission: 'voice:read',
  role: 'agent',
  entitlement: 'business_calling',
  method: 'GET',
} as const;

/** A change of a call, with the whole record after the change. */
export const callEvent = named(
  'CallEvent',
  z.object({ type: z.literal('call').describe('A call changed'), at: timestamp, call: callRecord }),
);

const callStreamEvent = z.discriminatedUnion('type', [
  callEvent,
  named(
    'CallsReadyEvent',
    z.object({ type: z.literal('ready').describe('The stream is open; later events are sent'), at: timestamp }),
  ),
  named(
    'CallsResetEvent',
    z.object({
      type: z.literal('reset').describe('Events are missing; read the list of calls again'),
      at: timestamp,
      message: z.string().describe('Human-readable explanation of why events are missing'),
    }),
  ),
  named(
    'CallsEndEvent',
    z.object({
      type: z.literal('end').describe('The stream ends because the caller lost access'),
      code: z.string().describe('Stable reason, such as `token_revoked`'),
      message: z.string().describe('Human-readable reason'),
    }),
  ),
]);

export const callRecords = defineResource({
  listVoiceCalls: {
    ...token,
    path: '/v1/voice/calls',
    summary: 'List calls',
    description: 'Sorted by start, newest first.',
    query: listQuery.extend(filters),
    response: page(callRecord),
  },
  getVoiceCall: {
    ...token,
    path: '/v1/voice/calls/{id}',
    summary: 'Get a call',
    description:
      'A call in progress contains what its carrier has reported so far. Ended calls are deleted after `CALL_RETENTION_DAYS` (365 by default).',
    params: idParams,
    response: callRecord,
  },
  getVoiceUsage: {
    ...token,
    path: '/v1/voice/usage',
    summary: 'Get a summary of calls',
    description: 'The same as `GET /calls/summary`.',
    response: callSummary,
  },
  listVoiceNumbers: {
    ...token,
    path: '/v1/voice/numbers',
    summary: 'List phone numbers (planned)',
    description: 'Planned; not available yet.',
    response: z.unknown(),
    errors: ['not_available'],
  },
  listCalls: {
    ...member,
    path: '/calls',
    summary: 'List calls in the dashboard',
    description: 'Sorted by start, newest first.',
    query: z.strictObject({
      limit: listQuery.shape.limit,
      cursor: id.optional().describe('`nextCursor` of the previous page: the id of its last call'),
      ...filters,
    }),
    response: named(
      'CallList',
      z.object({
        items: z.array(callRecord).describe('Calls, newest first'),
        nextCursor: id.nullable().describe('Send it as `cursor` to read the next page; null on the last page'),
      }),
    ),
    errors: ['invalid_cursor'],
  },
  getCallSummary: {
    ...member,
    path: '/calls/summary',
    summary: 'Get a summary of calls in the dashboard',
    description:
      'Calls of all carriers and of the SIP trunk count on the UTC day on which they started. Minutes are rounded once, after the calls are added.',
    response: callSummary,
  },
  exportCalls: {
    ...member,
    permission: 'voice:export',
    path: '/calls/export',
    summary: 'Export calls as JSON or CSV',
    description: `Streams a JSON array of calls, or CSV (RFC 4180) with their fields as columns, sorted by start, newest first. In CSV, text that a spreadsheet could interpret as a formula (at the start of a cell, or after \`;\`, a tab or a line break) is prefixed with an apostrophe. Numbers, including \`+15005550006\`, are unchanged. Limit: ${exportsPerMinute} exports per minute for each user or API key. If an export fails while streaming, the array stays open and the connection is closed.`,
    query: z.strictObject({
      format: z.enum(['json', 'csv'], 'must be json or csv').default('json'),
      ...filters,
    }),
    binaryResponse: ['application/json', 'text/csv'],
    binaryJson: z.array(callRecord),
    response: z.unknown(),
  },
  streamCalls: {
    ...member,
    path: '/calls/live',
    summary: 'Stream calls',
    description:
      'Server-sent events: first `ready`, then `call` with the whole record for each visible change of a call. Open the stream first and list calls after `ready`. The stream closes after 10 minutes. Reconnect with `Last-Event-ID`, as an `EventSource` does: the missed events follow, or `reset` if they are no longer stored.',
    binaryResponse: 'text/event-stream',
    streamedEvent: callStreamEvent,
    resumable: true,
    response: z.unknown(),
    maxOpenSeconds: 600,
  },
});
