import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { id, idParams, instant, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { logLevels } from './steps.ts';

const manage = {
  tag: 'Messages and logs',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

const runFilter = { runId: id.optional(), workflowId: id.optional() };
const period = {
  from: instant.optional().describe('Only entries at or after this time'),
  to: instant.optional().describe('Only entries before this time'),
};

const message = named(
  'OutgoingMessage',
  z.object({
    id: id.describe('Id of the entry'),
    runId: id.nullable().describe('Run that sent it; null when no run did'),
    workflowId: id.nullable().describe('Workflow of the run; null when no run sent it'),
    stepIndex: z.int().nullable().describe('Index of the step that sent it, from 0; null when no run sent it'),
    channel: z.string().describe('`webhook`, `email`, `campaign` or the provider of a channel'),
    recipient: z.string().describe('URL, email address or id at the provider'),
    status: z
      .enum(['delivered', 'simulated', 'failed'])
      .describe('`simulated`: not sent, because the run is a test run'),
    summary: jsonObject.describe('Details of the message, such as its subject; the fields depend on `channel`'),
    createdAt: timestamp,
  }),
);

export const logLine = named(
  'LogLine',
  z.object({
    id: id.describe('Id of the line'),
    runId: id.describe('Run that wrote it'),
    workflowId: id.nullable().describe('Workflow of the run; null when it was deleted'),
    stepIndex: z.int().describe('Index of the step that wrote the line, from 0'),
    level: z.enum(logLevels).describe('Severity'),
    message: z.string().describe('Text of the line'),
    createdAt: timestamp,
  }),
);

const logFilter = { ...runFilter, level: z.enum(logLevels).optional() };

const stepIndex = z.coerce
  .number()
  .int()
  .min(0, 'must be from 0 to 199')
  .max(199, 'must be from 0 to 199')
  .optional()
  .describe('Only lines of the step with this index, from 0');

const messageFilter = {
  ...runFilter,
  channel: text(1, 50).optional(),
  status: z.enum(['delivered', 'simulated', 'failed']).optional(),
};

const live = {
  ...manage,
  method: 'GET',
  response: z.unknown(),
  binaryResponse: 'text/event-stream',
  resumable: true,
  maxOpenSeconds: 600,
} as const;
const liveDescription = (what: string) =>
  `Server-sent events, each with ${what} and its id. \`Last-Event-ID\` resumes after an event and replays at most 10,000 rows; if there are more, the stream sends \`reset\` with \`after\`, the id of the last one sent, and continues with new events. The stream closes after 10 minutes, when the client reads nothing for 30 seconds, and when the key loses access, after an \`end\` event with the reason. Reconnect to continue.`;

export const logs = defineResource({
  listAutomationMessages: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/messages',
    summary: 'List outbound messages',
    description:
      'Newest first, including messages that test runs only simulated. Records are deleted after `MESSAGE_RETENTION_DAYS` (90 by default).',
    query: listQuery.extend({ ...messageFilter, ...period }),
    response: page(message),
  },
  listAutomationLogs: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/logs',
    summary: 'List log lines of runs',
    description:
      'With `stepIndex` or `q`, which need `runId`, one request examines at most 10,000 lines. Its page can then have fewer rows than `limit`, or none: follow `meta.nextCursor` until it is null.',
    query: listQuery
      .extend({
        ...logFilter,
        ...period,
        stepIndex,
        q: text(1, 200)
          .optional()
          .describe('Only lines that contain this text, in upper or lower case; at most 200 characters'),
        order: z
          .enum(['asc', 'desc'], 'must be asc or desc')
          .default('desc')
          .describe('`asc` for the oldest line first, `desc` for the newest line first'),
        around: id
          .optional()
          .describe(
            'Starts with the page that has the line with this id in its middle. `meta.nextCursor` continues in the direction of `order`: for the other direction, send a second request with the other `order`. Without effect when `cursor` is given',
          ),
      })
      .refine(({ runId, q }) => q === undefined || runId !== undefined, {
        message: 'requires runId',
        path: ['q'],
      })
      .refine(({ runId, stepIndex: index }) => index === undefined || runId !== undefined, {
        message: 'requires runId',
        path: ['stepIndex'],
      }),
    response: page(logLine),
  },
  downloadAutomationRunLogs: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/runs/{id}/logs/download',
    summary: 'Download the log of a run',
    description:
      'Streams the lines as text, oldest first: time, level, index of the step, message. Further lines of a message are indented. Control characters and characters that are invisible or change the direction of the text are written as their code points, such as `⟨U+001B⟩`. If the download fails while streaming, the connection is closed.',
    params: idParams,
    query: z.strictObject({ level: z.enum(logLevels).optional(), stepIndex }),
    binaryResponse: 'text/plain',
    response: z.unknown(),
  },
  streamAutomationMessages: {
    ...live,
    permission: 'automations:read',
    path: '/v1/automations/messages/live',
    summary: 'Stream outbound messages',
    description: liveDescription('a `message`'),
    query: z.strictObject(messageFilter),
  },
  streamAutomationLogs: {
    ...live,
    permission: 'automations:read',
    path: '/v1/automations/logs/live',
    summary: 'Stream log lines of runs',
    description: liveDescription('a `log` line'),
    query: z.strictObject(logFilter),
  },
});
