import { z } from 'zod';
import { id, idParams, listQuery, named, page, pageMeta, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const manage = {
  tag: 'Sessions',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

/**
 * Maximum number of messages of a session. A full session refuses messages of callers; a message of a channel or an
 * agent replaces the oldest one.
 */
export const maxSessionMessages = 10_000;

export const sessionScopes = ['dm', 'group', 'run', 'channel', 'workspace'] as const;
export type SessionScope = (typeof sessionScopes)[number];
const scope = z.enum(sessionScopes, `must be one of ${sessionScopes.join(', ')}`);

const summaryShape = {
  id: id.describe('Id of the session'),
  scope: scope.describe('Subject of the session: a person, a group, a run, a channel or the workspace'),
  key: z.string().describe('Unique together with `scope` and `environment`, at most 200 characters'),
  environment: z
    .enum(['live', 'test'])
    .describe('`test` when a test key created it. Test keys and test runs do not write to `live` sessions'),
  title: z.string().describe('Title to show, at most 200 characters; may be empty'),
  memorySummary: z.string().describe('Summary of the older part of the transcript'),
  createdAt: timestamp,
  updatedAt: timestamp,
};
export const sessionSummary = named('Session', z.object(summaryShape));

export const sessionMessage = named(
  'SessionMessage',
  z.object({
    id: id.describe('Id of the message'),
    role: z.enum(['user', 'assistant', 'system']).describe('Author of the message, as in model APIs'),
    content: z.string().describe('Text of the message, at most 20,000 characters'),
    runId: id.nullable().describe('Run that wrote the message; null for other authors'),
    createdAt: timestamp,
  }),
);

export const sessionListQuery = listQuery.extend({ scope: scope.optional(), key: text(1, 200).optional() });

export const sessions = defineResource({
  listAutomationSessions: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/sessions',
    summary: 'List sessions',
    description:
      'Newest first, by creation, of both environments and without transcripts. `scope` and `key` match exactly.',
    query: sessionListQuery,
    response: page(sessionSummary),
  },
  createAutomationSession: {
    ...manage,
    method: 'POST',
    path: '/v1/automations/sessions',
    summary: 'Get or create a session',
    description: 'Returns the existing session of the scope, the key and the environment of the caller, or creates it.',
    body: z.strictObject({
      scope: scope.describe('Subject of the session'),
      key: text(1, 200).describe('Unique together with `scope` and the environment, 1 to 200 characters'),
      title: text(0, 200).optional().describe('Title to show, at most 200 characters'),
    }),
    response: sessionSummary,
    errors: ['workspace_limit_reached'],
  },
  getAutomationSession: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/sessions/{id}',
    summary: 'Get a session with its transcript',
    description:
      'The first page has the oldest messages. Messages are deleted after `SESSION_MESSAGE_RETENTION_DAYS` (365 by default).',
    params: idParams,
    query: z.strictObject({
      limit: listQuery.shape.limit,
      after: text(1, 500).optional().describe('`transcript.meta.nextCursor` of the previous page'),
    }),
    response: named(
      'SessionWithTranscript',
      z.object({
        ...summaryShape,
        transcript: z
          .object({ data: z.array(sessionMessage).describe('Messages, oldest first'), meta: pageMeta })
          .describe('One page of the messages'),
      }),
    ),
    errors: ['invalid_cursor'],
  },
  appendAutomationSessionMessage: {
    ...manage,
    method: 'POST',
    path: '/v1/automations/sessions/{id}/messages',
    summary: 'Append a message to a session',
    description: `Agents that continue the session read the message. A session with ${maxSessionMessages} messages is full (\`conflict\`).`,
    params: idParams,
    body: z.strictObject({
      role: z
        .enum(['user', 'assistant'], 'must be user or assistant')
        .describe('Author of the message, as in model APIs'),
      content: text(1, 20_000).describe('Text of the message, 1 to 20,000 characters'),
    }),
    response: sessionMessage,
    errors: ['conflict', 'test_key_not_allowed'],
  },
});
