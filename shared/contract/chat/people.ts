import { z } from 'zod';
import { deleted, id, listQuery, named, page, text } from '../common.ts';
import { defineResource } from '../define.ts';
import { inboxConversation, inboxMessage, inboxVisitor } from './agent-shapes.ts';
import { admin, agent, inWorkspace, oneInWorkspace } from './callers.ts';
import { chatSettingsPatch, shownChatSettings } from './settings.ts';
import { attributesPatch, chatText, rating } from './shapes.ts';

/** Search, the people who write, and how a workspace wants its chat. */

export const chatPeople = defineResource({
  searchInbox: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/search',
    summary: 'Search what was written, in any script',
    description:
      'Newest first: messages and notes that hold every word of `q`, the last of which may be the beginning of one. Chinese, Japanese, Thai and the like are found in the midst of a text.',
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
                start: z.int().describe('First unit of the word, from 0'),
                end: z.int().describe('Unit after the word'),
              }),
            )
            .describe(
              'Places of the words in `message.content`, the first 100 of them, in UTF-16 units, as programs slice texts',
            ),
        }),
      ),
    ),
  },
  listInboxVisitors: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/visitors',
    summary: 'List visitors',
    params: inWorkspace,
    query: listQuery.extend({ blocked: z.enum(['true', 'false'], 'must be true or false').optional() }),
    response: page(inboxVisitor),
  },
  getInboxVisitor: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/visitors/{id}',
    summary: 'Show a visitor with their newest conversations',
    params: oneInWorkspace,
    response: named(
      'InboxVisitorDetail',
      z.object({ ...inboxVisitor.shape, conversations: z.array(inboxConversation).describe('The newest 20') }),
    ),
  },
  updateInboxVisitor: {
    ...agent,
    method: 'PATCH',
    path: '/tenants/{tenantId}/chat/visitors/{id}',
    summary: 'Change what is known of a visitor',
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
    summary: 'Block a visitor: nothing lets them read or write any more',
    description:
      'Their links and sessions open nothing (`visitor_blocked`), what they have open closes, and no new link is minted. Unblocked, what is not over by then counts again; `revoke-links` of a conversation ends it for good.',
    params: oneInWorkspace,
    response: inboxVisitor,
  },
  unblockInboxVisitor: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/visitors/{id}/unblock',
    summary: 'Let a blocked visitor read and write again',
    params: oneInWorkspace,
    response: inboxVisitor,
  },
  exportInboxVisitor: {
    ...admin,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/visitors/{id}/export',
    summary: 'Export what Live Chat keeps of a visitor',
    description:
      "As JSON lines, each with its `type`: the `visitor` first, then each `conversation`, followed by its `message`s and `rating`s. Private notes are the workspace's own and are left out, as are runs of automations that it started; files are named by the messages that they were sent with.",
    params: oneInWorkspace,
    binaryResponse: 'application/x-ndjson',
    response: z.any(),
  },
  eraseInboxVisitor: {
    ...admin,
    method: 'DELETE',
    path: '/tenants/{tenantId}/chat/visitors/{id}',
    summary: 'Erase a visitor with conversations, messages and files',
    description:
      'Runs of automations that their messages started end and go within seconds, with steps, logs, approvals and what they added to sessions; deliveries of webhooks are emptied. What automations remembered in memory or in the summary of a session, or sent elsewhere, is for their author to remove; answers kept for an `Idempotency-Key` go after 24 hours. The audit log says that it was done, and nothing of what was erased.',
    params: oneInWorkspace,
    response: deleted,
  },
  listChatRatings: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/ratings',
    summary: 'List how conversations were rated',
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
    summary: 'Show the settings of Live Chat',
    params: inWorkspace,
    response: shownChatSettings,
  },
  putChatSettings: {
    ...admin,
    method: 'PUT',
    path: '/tenants/{tenantId}/chat/settings',
    summary: 'Change the settings of Live Chat',
    description: 'What is left out stays as it is.',
    params: inWorkspace,
    body: chatSettingsPatch,
    response: shownChatSettings,
  },
});
