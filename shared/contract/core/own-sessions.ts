import { z } from 'zod';
import { deleted, id, idParams, listQuery, named, page, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const tag = 'Workspaces and people';

export const ownSessions = defineResource({
  listOwnSessions: {
    tag,
    callers: ['session'],
    role: 'agent',
    method: 'GET',
    path: '/auth/sessions',
    summary: 'List your sessions',
    description: 'Where you are signed in, newest first. Ended and expired sessions are not listed.',
    query: listQuery,
    response: page(
      named(
        'OwnSession',
        z.object({
          id: id.describe('Id of the session'),
          client: z
            .string()
            .nullable()
            .describe('`User-Agent` of the sign-in, at most 300 characters; null without one'),
          isCurrent: z.boolean().describe('Whether this request belongs to the session'),
          createdAt: timestamp,
          expiresAt: timestamp,
        }),
      ),
    ),
  },
  endOwnSession: {
    tag,
    callers: ['session'],
    role: 'agent',
    method: 'DELETE',
    path: '/auth/sessions/{id}',
    summary: 'End one of your sessions',
    description: 'The session, its streams and the push notifications of its browser end immediately on every process.',
    params: idParams,
    response: deleted,
  },
  endOtherOwnSessions: {
    tag,
    callers: ['session'],
    role: 'agent',
    method: 'DELETE',
    path: '/auth/sessions',
    summary: 'End all your other sessions',
    description:
      'Also ends your push notifications in other browsers, and revokes your sign-in links and password links. The session of this request continues.',
    response: named('EndedSessions', z.object({ ended: z.int().describe('Number of sessions that ended') })),
  },
});
