import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { id, instant, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { logLevels } from './steps.ts';

const manage = {
  tag: 'Messages and logs',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

const ofRun = { runId: id.optional(), workflowId: id.optional() };
const period = {
  from: instant.optional().describe('At this time or later'),
  to: instant.optional().describe('Before this time'),
};

const message = named(
  'OutgoingMessage',
  z.object({
    id: id.describe('Id of the entry'),
    runId: id.nullable().describe('Run that sent it; null when no run did'),
    workflowId: id.nullable().describe('Workflow of the run; null when no run sent it'),
    stepIndex: z.int().nullable().describe('Index of the step that sent it, from 0; null when no run sent it'),
    channel: z.string().describe('webhook, email, campaign or the provider of a channel'),
    recipient: z.string().describe('URL, email address or id at the provider'),
    status: z
      .enum(['delivered', 'simulated', 'failed'])
      .describe('`simulated` in the test environment, where nothing leaves'),
    summary: jsonObject.describe('Facts about the message, such as its subject; the fields depend on `channel`'),
    createdAt: timestamp,
  }),
);

export const logLine = named(
  'LogLine',
  z.object({
    id: id.describe('Id of the line'),
    runId: id.describe('Run that wrote it'),
    workflowId: id.nullable().describe('Workflow of the run; null when it was deleted'),
    stepIndex: z.int().describe('Index of the step that wrote it, from 0'),
    level: z.enum(logLevels).describe('Severity'),
    message: z.string().describe('Text of the line'),
    createdAt: timestamp,
  }),
);

const logFilter = { ...ofRun, level: z.enum(logLevels).optional() };

const messageFilter = {
  ...ofRun,
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
  `Server-sent events, each with ${what} and its id; \`Last-Event-ID\` goes on after one, for 10,000 rows: then \`reset\` with \`after\`, the last one sent, and on from now. The stream closes after 10 minutes, when its reader takes nothing for 30 seconds, and, after an \`end\` that says why, with the right of its key; clients come back by themselves.`;

export const logs = defineResource({
  listAutomationMessages: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/messages',
    summary: 'List what left the platform',
    query: listQuery.extend({ ...messageFilter, ...period }),
    response: page(message),
  },
  listAutomationLogs: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/logs',
    summary: 'List log lines of runs',
    query: listQuery.extend({ ...logFilter, ...period }),
    response: page(logLine),
  },
  streamAutomationMessages: {
    ...live,
    permission: 'automations:read',
    path: '/v1/automations/messages/live',
    summary: 'Follow what leaves the platform live',
    description: liveDescription('a `message`'),
    query: z.strictObject(messageFilter),
  },
  streamAutomationLogs: {
    ...live,
    permission: 'automations:read',
    path: '/v1/automations/logs/live',
    summary: 'Follow the log lines of runs live',
    description: liveDescription('a `log` line'),
    query: z.strictObject(logFilter),
  },
});
