import { z } from 'zod';
import { deleted, id, listQuery, named, page, text } from '../common.ts';
import { defineResource } from '../define.ts';
import { inboxConversation, inboxMessage, inboxVisitor } from './agent-shapes.ts';
import { admin, agent, inWorkspace, oneInWorkspace } from './callers.ts';
import { chatSettingsPatch, chatSettingsResponse } from './settings.ts';
import { attributesPatch, chatText, rating } from './shapes.ts';

/** Search, visitors, ratings and settings of Live Chat. */

export const chatPeople = defineResource({
  searchInbox: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/search',
    summary: 'Search messages and notes',
    description:
      'Returns messages and notes that contain every word of `q`, newest first. The last word of `q` also matches as a prefix. In scripts without spaces, such as Chinese, Japanese and Thai, matches can be anywhere in a text.',
    params: inWorkspace,
    query: listQuery.extend({
      q: chatText(1, 200),
      private: z.enum(['true', 'false'], 'must be true or false').optional(),
    }),
    response: page(
      named(
        'InboxHit',
        z.object({
          message: inboxMessage,
          conversationName: z.string().describe('Title of the conversation'),
          highlights: z
            .array(
              z.object({
                start: z.int().describe('Index of the first UTF-16 unit, from 0'),
                end: z.int().describe('Index after the last UTF-16 unit'),
              }),
            )
            .describe('Matches in `message.content`, at most the first 100, in UTF-16 units'),
        }),
      ),
    ),
  },
  listInboxVisitors: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/visitors',
    summary: 'List visitors',
    description: 'Newest first. With `q`, each page examines at most the newest 20,000 visitors.',
    params: inWorkspace,
    query: listQuery.extend({
      blocked: z.enum(['true', 'false'], 'must be true or false').optional(),
      q: chatText(1, 200)
        .optional()
        .describe('Part of the name, email, phone number or external id, in any letter case'),
    }),
    response: page(inboxVisitor),
  },
  getInboxVisitor: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/visitors/{id}',
    summary: 'Get a visitor with their newest conversations',
    description:
      'Returns at most 20 conversations of any status, sorted by last message, newest first. An erased visitor is not found.',
    params: oneInWorkspace,
    response: named(
      'InboxVisitorDetail',
      z.object({
        ...inboxVisitor.shape,
        conversations: z.array(inboxConversation).describe('Newest 20 conversations'),
      }),
    ),
  },
  updateInboxVisitor: {
    ...agent,
    method: 'PATCH',
    path: '/tenants/{tenantId}/chat/visitors/{id}',
    summary: 'Update a visitor',
    description:
      'Omitted fields and attributes do not change. Live connections show the change in the newest 100 open and pending conversations. The audit log records the names of the changed fields.',
    params: oneInWorkspace,
    body: z.strictObject({
      displayName: chatText(1, 200)
        .nullable()
        .optional()
        .describe('Name of the visitor, 1 to 200 characters; null deletes it'),
      email: z
        .email('must be an email address')
        .max(254, 'must have at most 254 characters')
        .nullable()
        .optional()
        .describe('Email address; null deletes it'),
      phone: text(1, 40).nullable().optional().describe('Phone number, 1 to 40 characters; null deletes it'),
      attributes: attributesPatch.optional(),
    }),
    response: inboxVisitor,
  },
  blockInboxVisitor: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/visitors/{id}/block',
    summary: 'Block a visitor',
    description:
      'Links and sessions of the visitor stop working (`visitor_blocked`), open connections are closed, and no new links can be created. After unblocking, links and sessions that have not expired work again; use `revoke-links` of a conversation to end them for good.',
    params: oneInWorkspace,
    response: inboxVisitor,
  },
  unblockInboxVisitor: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/visitors/{id}/unblock',
    summary: 'Unblock a visitor',
    description:
      'Links and sessions that have not expired work again, and new links can be created. Links that `revoke-links` deleted stay invalid.',
    params: oneInWorkspace,
    response: inboxVisitor,
  },
  exportInboxVisitor: {
    ...admin,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/visitors/{id}/export',
    summary: 'Export the Live Chat data of a visitor',
    description:
      'JSON lines, each with a `type`: first the `visitor`, then each `conversation`, followed by its `message`s and `rating`s. Messages list their files. Private notes and automation runs are not included.',
    params: oneInWorkspace,
    binaryResponse: 'application/x-ndjson',
    response: z.any(),
  },
  eraseInboxVisitor: {
    ...admin,
    method: 'DELETE',
    path: '/tenants/{tenantId}/chat/visitors/{id}',
    summary: 'Erase a visitor and their data',
    description:
      'Erases the visitor with conversations, messages and files. Automation runs that their messages started are ended and deleted within seconds, with steps, logs, approvals and session messages. Payloads of webhook deliveries are deleted. Values that automations stored in memory or session summaries, or sent elsewhere, are not deleted. Responses stored for an `Idempotency-Key` expire after 24 hours. The audit log records the erasure without the erased data.',
    params: oneInWorkspace,
    response: deleted,
  },
  listChatRatings: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/ratings',
    summary: 'List ratings',
    description:
      'Newest first. A conversation has one rating for each time that it was closed; a rating that the visitor changes keeps its position.',
    params: inWorkspace,
    query: listQuery,
    response: page(
      named(
        'InboxRating',
        z.object({
          id: id.describe('Id of the rating'),
          conversationId: id.describe('Conversation that was rated'),
          ...rating.shape,
        }),
      ),
    ),
  },
  getChatSettings: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/settings',
    summary: 'Get the settings of Live Chat',
    description:
      'Settings that were never changed have their defaults. The first request of a workspace creates its site key.',
    params: inWorkspace,
    response: chatSettingsResponse,
  },
  putChatSettings: {
    ...admin,
    method: 'PUT',
    path: '/tenants/{tenantId}/chat/settings',
    summary: 'Update the settings of Live Chat',
    description: 'Omitted fields do not change.',
    params: inWorkspace,
    body: chatSettingsPatch,
    response: chatSettingsResponse,
  },
});
