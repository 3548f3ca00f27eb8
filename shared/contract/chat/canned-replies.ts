import { z } from 'zod';
import { deleted, id, listQuery, page } from '../common.ts';
import { defineResource } from '../define.ts';
import { cannedReply } from './agent-shapes.ts';
import { agent, inWorkspace, oneInWorkspace } from './callers.ts';
import { chatText, maxMessageLength } from './shapes.ts';

/** Replies that agents have ready. */

export const maxCannedReplies = 500;
const shortcut = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, 'must be 1 to 40 characters of a-z, 0-9, "_" and "-"')
  .describe('Unique in the workspace');

export const cannedReplies = defineResource({
  listCannedReplies: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/canned-replies',
    summary: 'List canned replies, or look for some',
    params: inWorkspace,
    query: listQuery.extend({
      q: chatText(1, 100).optional().describe('In shortcut or content'),
      conversationId: id.optional().describe('Fills in the variables from this conversation'),
    }),
    response: page(cannedReply),
  },
  createCannedReply: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/canned-replies',
    summary: 'Create a canned reply',
    description:
      '`{{visitor.name}}`, `{{visitor.email}}`, `{{visitor.attributes.KEY}}`, `{{agent.name}}` (the display name of the agent; not known without one), `{{agent.email}}` (the whole address, which visitors then read) and `{{conversation.name}}` are filled in where they are used; `{{visitor.name|there}}` says what stands for one that is not known.',
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
    summary: 'Change a canned reply',
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
    params: oneInWorkspace,
    response: deleted,
  },
});
