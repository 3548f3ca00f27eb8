import { z } from 'zod';
import { id, idParams, listQuery, named, page, pageMeta, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const manage = {
  tag: 'Sessions',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

/** A session with as many messages accepts no further ones from a caller. A message of a channel or an agent replaces the oldest one. */
export const maxSessionMessages = 10_000;

export const sessionScopes = ['dm', 'group', 'run', 'channel', 'workspace'] as const;
export type SessionScope = (typeof sessionScopes)[number];
const scope = z.enum(sessionScopes, `must be one of ${sessionScopes.join(', ')}`);

const summaryShape = {
  id: id.describe('Id of the session'),
  scope: scope.describe('What the session is about: a person, a group, a run, a channel or the workspace'),
  key: z.string().describe('Unique together with `scope`, at most 200 characters'),
  title: z.string().describe('Label for people, at most 200 characters; may be empty'),
  memorySummary: z.string().describe('What is remembered of the older part of the transcript'),
  createdAt: timestamp,
  updatedAt: timestamp,
};
export const sessionSummary = named('Session', z.object(summaryShape));

export const sessionMessage = named(
  'SessionMessage',
  z.object({
    id: id.describe('Id of the message'),
    role: z.enum(['user', 'assistant', 'system']).describe('Who wrote it, in the terms of language models'),
    content: z.string().describe('Text of the message, at most 20,000 characters'),
    runId: id.nullable().describe('Run that wrote it; null for other writers'),
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
    query: sessionListQuery,
    response: page(sessionSummary),
  },
  createAutomationSession: {
    ...manage,
    method: 'POST',
    path: '/v1/automations/sessions',
    summary: 'Find or make a session',
    description: 'There is one session for each scope and key.',
    body: z.strictObject({
      scope: scope.describe('What the session is about'),
      key: text(1, 200).describe('Unique together with `scope`, 1 to 200 characters'),
      title: text(0, 200).optional().describe('Label for people, at most 200 characters'),
    }),
    response: sessionSummary,
    errors: ['workspace_limit_reached'],
  },
  getAutomationSession: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/sessions/{id}',
    summary: 'Read a session with its transcript',
    params: idParams,
    query: z.strictObject({
      limit: z.coerce.number().int().min(1, 'must be from 1 to 100').max(100, 'must be from 1 to 100').default(50),
      after: text(1, 500).optional().describe('`transcript.meta.nextCursor` of the page before'),
    }),
    response: named(
      'SessionWithTranscript',
      z.object({
        ...summaryShape,
        transcript: z
          .object({ data: z.array(sessionMessage).describe('Oldest first'), meta: pageMeta })
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
    description: `Agents that continue the session read the message. A session that holds ${maxSessionMessages} messages accepts no more (\`conflict\`).`,
    params: idParams,
    body: z.strictObject({
      role: z
        .enum(['user', 'assistant'], 'must be user or assistant')
        .describe('Who writes it, in the terms of language models'),
      content: text(1, 20_000).describe('Text of the message, 1 to 20,000 characters'),
    }),
    response: sessionMessage,
    errors: ['conflict'],
  },
});
