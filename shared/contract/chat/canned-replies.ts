import { z } from 'zod';
import { deleted, id, listQuery, page } from '../common.ts';
import { defineResource } from '../define.ts';
import { cannedReply } from './agent-shapes.ts';
import { agent, inWorkspace, oneInWorkspace } from './callers.ts';
import { chatText, maxMessageLength } from './shapes.ts';

/** Prepared replies of agents. */

export const maxCannedReplies = 500;
const shortcut = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, 'must be 1 to 40 characters of a-z, 0-9, "_" and "-"')
  .describe('Unique in the workspace, 1 to 40 characters of a-z, 0-9, `_` and `-`');

export const cannedReplies = defineResource({
  listCannedReplies: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/canned-replies',
    summary: 'List or search canned replies',
    description:
      'Newest first; `q` ignores letter case. With `conversationId`, variables are replaced with values of that conversation and of the caller; otherwise `content` contains the variables.',
    params: inWorkspace,
    query: listQuery.extend({
      q: chatText(1, 100).optional().describe('Only replies with this text in the shortcut or the content'),
      conversationId: id.optional().describe('Resolves the variables with the values of this conversation'),
    }),
    response: page(cannedReply),
  },
  createCannedReply: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/canned-replies',
    summary: 'Create a canned reply',
    description:
      'Variables are resolved when the reply is used: `{{visitor.name}}`, `{{visitor.email}}`, `{{visitor.attributes.KEY}}`, `{{agent.name}}` (the display name of the agent), `{{agent.email}}` (visitors then see the address) and `{{conversation.name}}`. `{{visitor.name|there}}` sets a default for an unknown value.',
    params: inWorkspace,
    body: z.strictObject({
      shortcut: shortcut,
      content: chatText(1, maxMessageLength).describe(
        'Text with variables such as `{{visitor.name|there}}`, 1 to 10,000 characters',
      ),
    }),
    response: cannedReply,
    errors: ['conflict', 'workspace_limit_reached'],
  },
  updateCannedReply: {
    ...agent,
    method: 'PATCH',
    path: '/tenants/{tenantId}/chat/canned-replies/{id}',
    summary: 'Update a canned reply',
    description: 'Omitted fields do not change. A `content` with unknown variables is refused.',
    params: oneInWorkspace,
    body: z.strictObject({
      shortcut: shortcut.optional(),
      content: chatText(1, maxMessageLength)
        .optional()
        .describe('Text with variables such as `{{visitor.name|there}}`, 1 to 10,000 characters'),
    }),
    response: cannedReply,
    errors: ['conflict'],
  },
  deleteCannedReply: {
    ...agent,
    method: 'DELETE',
    path: '/tenants/{tenantId}/chat/canned-replies/{id}',
    summary: 'Delete a canned reply',
    description: 'Messages that were written with the reply do not change. Its shortcut can be used again immediately.',
    params: oneInWorkspace,
    response: deleted,
  },
});
