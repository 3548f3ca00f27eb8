import { z } from 'zod';
import { id, instant, listQuery, named, page, text } from '../common.ts';
import { defineResource } from '../define.ts';
import { draft, inboxConversation, inboxDetail, inboxMessage, inboxViews, listedViews } from './agent-shapes.ts';
import type { InboxView } from './agent-shapes.ts';
import { agent, inWorkspace, oneInWorkspace } from './callers.ts';
import {
  attachmentIds,
  chatText,
  clientId,
  contentOrFiles,
  conversationStatuses,
  maxMessageLength,
  source,
  needsContent,
  needsOneDirection,
  oneDirection,
  priorities,
} from './shapes.ts';

/** Operations of agents on conversations. */

const status = z.enum(conversationStatuses, `must be one of ${conversationStatuses.join(', ')}`);
const priority = z.enum(priorities, `must be one of ${priorities.join(', ')}`);
const view = z.enum(listedViews, `must be one of ${listedViews.join(', ')}`);
const userId = id.nullable().describe('Id of a member; null for no assignee');
const snoozedUntil = instant
  .nullable()
  .describe('End of the snooze; until then the views of open work omit it. A visitor message or null ends the snooze');
const position = z
  .string()
  .regex(/^(0|[1-9]\d{0,9})$/, 'must be the position of a message')
  .optional();

/** Changeable fields of a conversation, except the assignee. */
const changes = {
  status: status.optional().describe('New status; unchanged when omitted'),
  priority: priority.optional().describe('New priority; unchanged when omitted'),
  snoozedUntil: snoozedUntil.optional(),
};

/** Descriptions of the count of each view. */
const countedConversations: Record<InboxView, string> = {
  all: 'All conversations, of every status',
  mine: 'Open and pending conversations that are assigned to you, without snoozed ones',
  unassigned: 'Open and pending conversations without an assigned member, without snoozed ones',
  open: 'Open conversations, without snoozed ones',
  pending: 'Pending conversations, without snoozed ones',
  snoozed: 'Open and pending conversations that are snoozed now',
  resolved: 'Resolved conversations',
  closed: 'Closed conversations',
};

export const inbox = defineResource({
  listInboxConversations: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/conversations',
    summary: 'List the conversations of a view',
    description:
      'Sorted by last message, newest first; pagination returns each conversation once. `mine`, `unassigned` and `assigned` contain open and pending conversations. These views, `open` and `pending` omit snoozed conversations. `unread` contains conversations with messages that no agent has read.',
    params: inWorkspace,
    query: listQuery
      .extend({
        cursor: text(1, 3_000).describe('`meta.nextCursor` of the previous page').optional(),
        view: view.default('all'),
        userId: id.optional().describe('Id of the assignee, for the view `assigned`'),
        visitorId: id.optional().describe('Id of the visitor, for the view `visitor`'),
      })
      .refine((query) => (query.view === 'assigned') === (query.userId !== undefined), {
        path: ['userId'],
        message: 'is required for the view assigned and not allowed for other views',
      })
      .refine((query) => (query.view === 'visitor') === (query.visitorId !== undefined), {
        path: ['visitorId'],
        message: 'is required for the view visitor and not allowed for other views',
      }),
    response: page(inboxConversation),
  },
  startInboxConversation: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/conversations',
    summary: 'Start a conversation with a known visitor',
    description:
      'Opens a conversation, assigns it to you and sends the first message. The chat of the visitor shows it instead of their closed conversation, with an unread count. A visitor of a channel gets the message through the channel. If the visitor has a conversation that is not closed, the response is 409 `conflict` with its id: reply there.',
    params: inWorkspace,
    body: z.strictObject({
      visitorId: id.describe('Visitor to write to'),
      content: chatText(1, maxMessageLength).describe('Text of the first message, 1 to 10,000 characters'),
      source: source.default('support'),
    }),
    response: inboxConversation,
    errors: ['conflict', 'visitor_blocked'],
  },
  countInboxConversations: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/counts',
    summary: 'Count the conversations of each view',
    description:
      'Counts live and test conversations. `unassigned` and `open` omit unassigned conversations of chat links until a visitor or an agent writes.',
    params: inWorkspace,
    response: named(
      'InboxCounts',
      z.object({
        ...(Object.fromEntries(
          inboxViews.map((name) => [name, z.int().describe(countedConversations[name])]),
        ) as Record<(typeof inboxViews)[number], z.ZodInt>),
        unread: z.int().describe('Conversations with messages that no agent has read'),
      }),
    ),
  },
  // Declared before the operations of one conversation, because their path also matches `bulk`.
  changeInboxConversations: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/conversations/bulk',
    summary: 'Update up to 100 conversations',
    description: 'Each conversation is updated independently. The response reports every success and failure.',
    params: inWorkspace,
    body: named(
      'InboxBulk',
      z
        .strictObject({
          ids: z
            .array(id)
            .min(1, 'must name at least one')
            .max(100, 'must name at most 100')
            .describe('Conversations to change, 1 to 100'),
          ...changes,
          assignedUserId: userId.optional(),
        })
        .refine(({ ids, ...rest }) => Object.values(rest).some((value) => value !== undefined) && ids.length > 0, {
          path: [],
          message: 'must change something: status, priority, snoozedUntil or assignedUserId',
        }),
      { ids: ['01890000-0000-7000-8000-000000000001'], status: 'resolved' },
    ),
    response: named(
      'InboxBulkAnswer',
      z.object({
        results: z
          .array(
            z.object({
              id: id.describe('Id of the conversation'),
              ok: z.boolean().describe('Whether the conversation was changed'),
              code: z.string().nullable().describe('Stable code of the refusal; null when it was changed'),
              message: z
                .string()
                .nullable()
                .describe('Human-readable reason of the refusal; null when the conversation was changed'),
            }),
          )
          .describe('One entry for each id, in the order of `ids`'),
      }),
    ),
  },
  getInboxConversation: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/conversations/{id}',
    summary: 'Get a conversation',
    description:
      'Includes the visitor, your draft, the rating after the last closing and the members who view the conversation now. Messages stay unread.',
    params: oneInWorkspace,
    response: inboxDetail,
  },
  updateInboxConversation: {
    ...agent,
    method: 'PATCH',
    path: '/tenants/{tenantId}/chat/conversations/{id}',
    summary: 'Update a conversation',
    description: 'Updates status, priority, name or snooze.',
    params: oneInWorkspace,
    body: z.strictObject({
      ...changes,
      name: chatText(1, 200).optional().describe('Title for agents, 1 to 200 characters'),
    }),
    response: inboxConversation,
  },
  assignInboxConversation: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/conversations/{id}/assign',
    summary: 'Assign or unassign a conversation',
    description:
      'With `from`, assigns only if `from` is still the assignee. Otherwise the response is 409 `assignment_conflict` with the current assignee as `assignedUserId`.',
    params: oneInWorkspace,
    body: z.strictObject({ userId, from: userId.optional() }),
    response: inboxConversation,
    errors: ['assignment_conflict'],
  },
  listInboxMessages: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/conversations/{id}/messages',
    summary: 'List messages and private notes of a conversation',
    description:
      'Oldest first. With `after`, returns the entries after that position; with `before`, the last ones before it; otherwise the newest. `meta.nextCursor` continues in the same direction. A page is shorter if its texts reach 256 KiB.',
    params: oneInWorkspace,
    query: z
      .strictObject({ limit: listQuery.shape.limit, after: position, before: position })
      .refine(oneDirection, needsOneDirection),
    response: page(inboxMessage),
  },
  sendInboxMessage: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/conversations/{id}/messages',
    summary: 'Send a reply or a private note',
    description:
      'With `lastSeenSeq`, a reply is refused (`newer_reply`) if a colleague has replied since. Read that reply, then send yours with the `seq` of the newest message as `lastSeenSeq`. Sending a reply deletes your draft.',
    params: oneInWorkspace,
    body: z
      .strictObject({
        content: chatText(0, maxMessageLength).describe(
          'Text, at most 10,000 characters; may be empty when files are sent',
        ),
        private: z.boolean().default(false).describe('Whether it is a private note, which visitors never see'),
        clientId: clientId.optional(),
        attachmentIds,
        lastSeenSeq: z
          .int()
          .min(0)
          .optional()
          .describe(
            '`seq` of the newest message that you saw. The reply is refused if a colleague has written a newer one',
          ),
      })
      .refine(contentOrFiles, needsContent),
    response: inboxMessage,
    errors: ['conversation_closed', 'newer_reply'],
  },
  readInboxConversation: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/conversations/{id}/read',
    summary: 'Mark messages as read by agents',
    description:
      'The mark applies to all members and never moves back; a `seq` after the last message counts as the last one. Visitors see the mark as `agentReadSeq`.',
    params: oneInWorkspace,
    body: z.strictObject({ seq: z.int().min(0).describe('`seq` up to which messages are read') }),
    response: inboxConversation,
  },
  showInboxActivity: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/conversations/{id}/activity',
    summary: 'Update viewing and typing status',
    description: 'Expires after 20 seconds. The live connection has frames for the same purpose.',
    params: oneInWorkspace,
    body: z.strictObject({
      viewing: z.boolean().describe('Whether you view the conversation now'),
      typing: z.boolean().default(false).describe('Whether you are typing now'),
    }),
    response: named(
      'InboxActivity',
      z.object({ viewers: z.array(id).describe('Ids of the members who view the conversation now') }),
    ),
  },
  putInboxDraft: {
    ...agent,
    method: 'PUT',
    path: '/tenants/{tenantId}/chat/conversations/{id}/draft',
    summary: 'Save your draft',
    description: 'An empty draft is deleted.',
    params: oneInWorkspace,
    body: z.strictObject({
      content: chatText(0, maxMessageLength).describe(
        'Text of the draft, at most 10,000 characters; empty deletes the draft',
      ),
      private: z.boolean().default(false).describe('Whether it is the draft of a private note'),
    }),
    response: draft,
  },
  revokeInboxLinks: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/conversations/{id}/revoke-links',
    summary: 'Revoke all links and visitor sessions of a conversation',
    description:
      'Deletes the links and sessions immediately, so open pages of the visitor lose access. Other conversations of the visitor and links that are created later are not affected.',
    params: oneInWorkspace,
    response: named('RevokedLinks', z.object({ revoked: z.int().describe('Number of deleted links and sessions') })),
  },
});
