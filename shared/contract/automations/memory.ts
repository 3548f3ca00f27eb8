import { z } from 'zod';
import { jsonValue } from '../../json.ts';
import { id, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const manage = {
  tag: 'Memory',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

/** Maximum size of a value, as JSON text. */
export const maxMemoryValueBytes = 64 * 1024;
/** Maximum number of entries of one workspace. */
export const maxMemoryEntries = 10_000;

export const memoryValue = jsonValue.refine(
  (value) => JSON.stringify(value).length <= maxMemoryValueBytes,
  `must have at most ${maxMemoryValueBytes} characters as JSON`,
);

const entry = named(
  'MemoryEntry',
  z.object({
    key: z.string().describe('Unique in the workspace, or in the session of the entry; at most 200 characters'),
    value: jsonValue.describe('Any JSON value, at most 65,536 characters as JSON'),
    sessionId: id.nullable().describe('Session that the entry belongs to; null for the memory of the workspace'),
    expiresAt: timestamp.nullable(),
    updatedAt: timestamp,
  }),
);

export const memory = defineResource({
  listAutomationMemory: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/memory',
    summary: 'List memory entries',
    description:
      'With `key`, returns that entry or none. With `sessionId`, returns the memory of that session, otherwise that of the workspace. Expired entries are not returned.',
    query: listQuery.extend({ key: text(1, 200).optional(), sessionId: id.optional() }),
    response: page(entry),
  },
  putAutomationMemory: {
    ...manage,
    method: 'PUT',
    path: '/v1/automations/memory',
    summary: 'Set a memory entry',
    description: 'A value of null deletes the entry.',
    body: z.strictObject({
      key: text(1, 200).describe('Unique in the workspace, or in the session; 1 to 200 characters'),
      value: memoryValue.describe('Any JSON value, at most 65,536 characters as JSON'),
      sessionId: id.optional().describe('Session that the entry belongs to; the workspace when omitted'),
      ttlSeconds: z
        .int()
        .min(1)
        .max(366 * 86_400)
        .optional()
        .describe('Seconds until the entry expires, at most 31,622,400 (366 days); never when omitted'),
    }),
    response: entry,
    errors: ['not_found', 'memory_full'],
  },
});
