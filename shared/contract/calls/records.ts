import { z } from 'zod';
import { id, idParams, instant, listQuery, named, page, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

/** Records of the calls of a workspace, from its carriers; nothing here dials. */

export const carriers = ['twilio', 'telnyx', 'kamailio'] as const;
export type Carrier = (typeof carriers)[number];

/** Where records come from: carriers that tell of calls, and the workspace's own SIP trunk, which calls came to. */
export const callProviders = [...carriers, 'sip_trunk'] as const;
export type CallProvider = (typeof callProviders)[number];

export const callDirections = ['inbound', 'outbound'] as const;
export type CallDirection = (typeof callDirections)[number];

/** In the order in which a call goes through them. */
export const callStates = ['queued', 'ringing', 'in_progress', 'ended'] as const;

export const callResults = ['answered', 'missed', 'busy', 'failed', 'voicemail', 'cancelled'] as const;
export type CallResult = (typeof callResults)[number];

/** After so many hours without a word, a call that did not end is closed as failed. */
export const silentCallHours = 4;
/** Exports that one person may begin a minute, however often they are signed in. */
export const exportsPerMinute = 5;

const direction = named('CallDirection', z.enum(callDirections, `must be one of ${callDirections.join(', ')}`));
// Named: code generators call an inline one after its operation and field, which is what they call the answer, too.
const result = named('CallResult', z.enum(callResults, `must be one of ${callResults.join(', ')}`));

export const callRecord = named(
  'CallRecord',
  z
    .object({
      id: id.describe('Id of the record'),
      provider: z
        .enum(callProviders)
        .describe('Carrier that reported the call, or `sip_trunk` for the trunk of the workspace'),
      callSid: z.string().describe('What the carrier calls it; unique for a workspace and carrier'),
      direction: direction.nullable().describe('Null until the carrier has said it'),
      fromId: z.string().nullable().describe('Who called: a number or a SIP address, as the carrier wrote it'),
      toId: z.string().nullable().describe('Who was called'),
      fromName: z
        .string()
        .nullable()
        .describe('Display name, or email address, of the member who called from their softphone; null for others'),
      toName: z.string().nullable().describe('The same of the member who was called'),
      state: z.enum(callStates).describe('Progress of the call; `ended` is final'),
      result: result
        .nullable()
        .describe(
          '`answered`; `missed`: inbound, and not taken or given up by the caller; `busy`; `failed`; `voicemail`: a machine answered; `cancelled`: outbound, and given up. Null until it ended',
        ),
      reason: z
        .string()
        .nullable()
        .describe('In the words of the carrier, or `no_final_event` where it never said that the call ended'),
      startedAt: timestamp,
      answeredAt: timestamp.nullable(),
      endedAt: timestamp.nullable(),
      durationSecs: z.int().describe('Talk time; 0 unless answered'),
      ringSecs: z.int().nullable().describe('From its start until it was answered or ended; null while it rings'),
      hangupBy: z.enum(['caller', 'callee']).nullable().describe('Who ended it, where the carrier says so'),
      sipCode: z.int().nullable().describe('The final SIP status, where the carrier says so'),
      mosScore: z
        .number()
        .nullable()
        .describe('How well it sounded, 1 to 5; of several measurements the worst; null unless measured'),
    })
    .describe('One call, as its carrier reported it'),
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
    minutesToday: z.int().describe('Whole, half up, of the answered calls that began today in UTC'),
    answeredRate7d: z
      .number()
      .nullable()
      .describe(
        'Of the inbound calls that ended, of today and the 6 days before in UTC: how many were answered, 0 to 1; null without any',
      ),
    callsToday: z.int().describe('Calls that began today, ended or not'),
    inbound7d: z.int().describe('Inbound calls of these 7 days that ended'),
    answered7d: z.int().describe('Those of them that were answered'),
  }),
  { minutesToday: 42, answeredRate7d: 0.9, callsToday: 17, inbound7d: 100, answered7d: 90 },
);
export type CallSummary = z.output<typeof callSummary>;

const filters = {
  direction: direction.optional(),
  result: result.optional(),
  from: instant.optional().describe('Calls that began then or later'),
  to: instant.optional().describe('Calls that began before'),
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

/** Of a call that changed, with the whole record as it was then. */
export const callEvent = named(
  'CallEvent',
  z.object({ type: z.literal('call').describe('A call changed'), at: timestamp, call: callRecord }),
);

const callStreamEvent = z.discriminatedUnion('type', [
  callEvent,
  named(
    'CallsReadyEvent',
    z.object({ type: z.literal('ready').describe('The stream is open; events from now on are sent'), at: timestamp }),
  ),
  named(
    'CallsResetEvent',
    z.object({
      type: z.literal('reset').describe('Events are missing; read the list of calls again'),
      at: timestamp,
      message: z.string().describe('Why events are missing, for people'),
    }),
  ),
  named(
    'CallsEndEvent',
    z.object({
      type: z.literal('end').describe('The stream ends; the caller may not follow it any more'),
      code: z.string().describe('Stable reason, such as `token_revoked`'),
      message: z.string().describe('Reason, for people'),
    }),
  ),
]);

export const callRecords = defineResource({
  listVoiceCalls: {
    ...token,
    path: '/v1/voice/calls',
    summary: 'List calls',
    description: 'Those that began last come first.',
    query: listQuery.extend(filters),
    response: page(callRecord),
  },
  getVoiceCall: {
    ...token,
    path: '/v1/voice/calls/{id}',
    summary: 'Read a call',
    params: idParams,
    response: callRecord,
  },
  getVoiceUsage: {
    ...token,
    path: '/v1/voice/usage',
    summary: 'Read how much was called',
    description: 'The same as `GET /calls/summary`.',
    response: callSummary,
  },
  listVoiceNumbers: {
    ...token,
    path: '/v1/voice/numbers',
    summary: 'List phone numbers (planned)',
    description: 'Planned, and not available yet.',
    response: z.unknown(),
    errors: ['not_available'],
  },
  listCalls: {
    ...member,
    path: '/calls',
    summary: 'List calls in the dashboard',
    description: 'Those that began last come first.',
    query: z.strictObject({
      limit: listQuery.shape.limit,
      cursor: id.optional().describe('`nextCursor` of the page before: the id of its last call'),
      ...filters,
    }),
    response: named(
      'CallList',
      z.object({
        items: z.array(callRecord).describe('Calls, the newest first'),
        nextCursor: id.nullable().describe('Send it as `cursor` to read the next page; null on the last page'),
      }),
    ),
    errors: ['invalid_cursor'],
  },
  getCallSummary: {
    ...member,
    path: '/calls/summary',
    summary: 'Read how much was called, in the dashboard',
    response: callSummary,
  },
  exportCalls: {
    ...member,
    permission: 'voice:export',
    path: '/calls/export',
    summary: 'Export calls as JSON or CSV',
    description: `An array of calls, or CSV by RFC 4180 with their fields as columns, streamed; those that began last come first. In CSV what a spreadsheet might take for a formula, a cell or what follows \`;\`, a tab or a line break in one, begins with an apostrophe, which the import takes away again; numbers stay as they are, \`+15005550006\` too. ${exportsPerMinute} a minute for each user or API key. An export that fails on its way ends without its end: the array stays open, the connection breaks.`,
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
    summary: 'Follow calls live',
    description:
      'Server-sent events: `ready` first, then `call` for each change of a call that shows, with the whole record as it was then. Open the stream first and list on `ready`. A stream closes after 10 minutes; come back with `Last-Event-ID`, as an `EventSource` does by itself: what was missed follows, or `reset` where it is not kept any more.',
    binaryResponse: 'text/event-stream',
    streamedEvent: callStreamEvent,
    resumable: true,
    response: z.unknown(),
    maxOpenSeconds: 600,
  },
});
