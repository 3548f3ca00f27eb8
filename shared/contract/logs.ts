import { z } from 'zod';
import { jsonObject } from '../json.ts';
import { defineResource } from './define.ts';
import { id, instant, listQuery, page, text, timestamp } from './common.ts';
import { logLevels } from './steps.ts';

const manage = { tag: 'Messages and logs', caller: 'token', permission: 'automations:manage' } as const;

const ofRun = { runId: id.optional(), workflowId: id.optional() };
const period = { from: instant.optional().describe('At this time or later'), to: instant.optional().describe('Before this time') };

const message = z.object({
  id,
  runId: id.nullable(),
  workflowId: id.nullable(),
  stepIndex: z.int().nullable(),
  channel: z.string().describe('webhook, email, campaign or the provider of a channel'),
  recipient: z.string(),
  status: z.enum(['delivered', 'simulated', 'failed']).describe('`simulated` in the test environment, where nothing leaves'),
  summary: jsonObject,
  createdAt: timestamp,
});

export const logLine = z.object({ id, runId: id, workflowId: id.nullable(), stepIndex: z.int(), level: z.enum(logLevels), message: z.string(), createdAt: timestamp });

const logFilter = { ...ofRun, level: z.enum(logLevels).optional() };

export const logs = defineResource({
  listAutomationMessages: {
    ...manage,
    method: 'GET',
    path: '/v1/automations/messages',
    summary: 'List what left the platform',
    query: listQuery.extend({ ...ofRun, ...period, channel: text(1, 50).optional(), status: z.enum(['delivered', 'simulated', 'failed']).optional() }),
    response: page(message),
  },
  listAutomationLogs: {
    ...manage,
    method: 'GET',
    path: '/v1/automations/logs',
    summary: 'List log lines of runs',
    query: listQuery.extend({ ...logFilter, ...period }),
    response: page(logLine),
  },
  streamAutomationLogs: {
    ...manage,
    method: 'GET',
    path: '/v1/automations/logs/live',
    summary: 'Follow the log lines of runs live',
    description: 'Server-sent events `log`, each with a log line and its id; `Last-Event-ID` goes on after a line. The stream closes after 10 minutes; clients come back by themselves.',
    query: z.strictObject(logFilter),
    response: z.unknown(),
    binaryResponse: 'text/event-stream',
    holdSeconds: 600,
  },
});
