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
    summary: 'Check that the process is alive',
    description: 'Does not check the database or the queue.',
    errors: ['request_timeout'],
    response: z.object({
      status: z.literal('ok').describe('Always `ok`'),
      version: z.string().meta({ example: '0.1.0' }).describe('Version of the hub'),
      uptimeSeconds: z.number().describe('Seconds since the process started'),
    }),
  },
  readReadiness: {
    tag,
    callers: ['public'],
    method: 'GET',
    path: '/readyz',
    summary: 'Check that the hub can accept work',
    description:
      'A 503 names the part that is down. `degraded` means that the hub works without the named part. Without `queue` it is slower. Without `artifacts`, results with artifacts fail. Without `pages`, the chat, voice and phone pages fail; the message says how to build them.',
    response: z.object({
      status: z
        .enum(['ready', 'degraded', 'not_ready'])
        .describe('`degraded`: serves requests without some parts; `not_ready`: should receive no requests'),
      parts: z.record(z.string(), part).describe('State of each part of the hub, by name'),
    }),
    errors: ['unavailable', 'request_timeout'],
  },
});
