import { z } from 'zod';
import { defineResource } from '../define.ts';

const tag = 'Health';

const part = z.object({ ok: z.boolean(), message: z.string().optional() });

export const system = defineResource({
  readHealth: {
    tag,
    callers: ['public'],
    method: 'GET',
    path: '/healthz',
    summary: 'Whether this process lives',
    description: 'Asks nothing else: neither database nor queue.',
    errors: ['request_timeout'],
    response: z.object({
      status: z.literal('ok').describe('Always `ok`: the process answers'),
      version: z.string().meta({ example: '0.1.0' }).describe('Version of the hub'),
      uptimeSeconds: z.number().describe('Seconds since the process started'),
    }),
  },
  readReadiness: {
    tag,
    callers: ['public'],
    method: 'GET',
    path: '/readyz',
    summary: 'Whether work can be accepted',
    description:
      '503 names the part that is down. `degraded`: work goes on without the part that is named: slower without `queue`; without `artifacts`, except for results that bring some; without `pages`, except for the chat, voice and phone pages, and the message says how to build them.',
    response: z.object({
      status: z
        .enum(['ready', 'degraded', 'not_ready'])
        .describe('`degraded` serves requests without some of its parts; `not_ready` should get none'),
      parts: z.record(z.string(), part).describe('State of each part of the hub, by name'),
    }),
    errors: ['unavailable', 'request_timeout'],
  },
});
