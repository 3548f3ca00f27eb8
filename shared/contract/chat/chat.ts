import { z } from 'zod';
import { id, idParams, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import {
  attributesPatch,
  chatText,
  clientId,
  conversation,
  conversationStatuses,
  externalId,
  maxMessageLength,
  message,
  priorities,
  source,
  visitor,
} from './shapes.ts';

const token = { tag: 'Live Chat', callers: ['token'] } as const;

const displayName = chatText(1, 200).describe('Name of the visitor, shown to agents');
const email = z
  .email('must be an email address')
  .max(254, 'must have at most 254 characters')
  .describe('Email address of the visitor; it is not verified');
const conversationName = chatText(1, 200).describe('Title for agents, 1 to 200 characters');

/** Optional details of a visitor in a request. */
const knownVisitor = {
  displayName: displayName.optional(),
  email: email.optional(),
  attributes: attributesPatch.optional(),
};

export const chat = defineResource({
  createChatSession: {
    ...token,
    method: 'POST',
    path: '/v1/chat/sessions',
    permission: 'chat:write',
    summary: 'Create a hosted chat link for a visitor',
    description:
      'The `externalId` identifies the visitor. Their open or pending conversation with the newest message is reused; otherwise a new one is created. The link is valid for 24 hours and opens only that conversation: give it only to this visitor. When an anonymous visitor signs in with the link, their messages are appended to that conversation. Only if it is closed by then, the link may open another conversation of the visitor; the next session has its id. A key that can create links can read these conversations through them, even without `chat:read`.',
    body: z.strictObject({
      externalId,
      ...knownVisitor,
      name: conversationName
        .optional()
        .describe('Title of a new conversation; display name, email or external id when omitted'),
      source: source.default('api'),
    }),
    response: named(
      'ChatSession',
      z.object({
        conversationId: id.describe('Open conversation of the visitor; created if there was none'),
        chatUrl: z.url().describe('URL of the hosted chat page, which opens the conversation; valid until `expiresAt`'),
        externalId: z.string().describe('External id of the visitor, as it was sent'),
        visitorToken: z.string().describe('Token for `boot` of the widget; opens only this conversation'),
        expiresAt: timestamp,
        siteKey: z.string().describe('Site key of the workspace, `wgt_…`, for the script tag'),
      }),
    ),
    errors: ['visitor_blocked'],
  },
  listChatConversations: {
    ...token,
    method: 'GET',
    path: '/v1/chat/conversations',
    permission: 'chat:read',
    summary: 'List conversations',
    description:
      'Sorted by last message, newest first. Pagination returns each conversation once, in its position when the pagination started, even if messages arrive meanwhile.',
    query: listQuery.extend({
      cursor: text(1, 3_000).describe('`meta.nextCursor` of the previous page').optional(),
      status: z.enum(conversationStatuses, `must be one of ${conversationStatuses.join(', ')}`).optional(),
      source: source.optional().describe('Only conversations of this source; case-sensitive'),
    }),
    response: page(conversation),
  },
  createChatConversation: {
    ...token,
    method: 'POST',
    path: '/v1/chat/conversations',
    permission: 'chat:write',
    summary: 'Create a conversation',
    description:
      'Always opens a new conversation, also when the visitor has an open one; details of a known visitor are updated. Publishes `conversation.created`, and assigns an agent if automatic assignment is on and the AI agent does not answer.',
    body: z.strictObject({
      name: conversationName,
      priority: z
        .enum(priorities, `must be one of ${priorities.join(', ')}`)
        .default('normal')
        .describe('Urgency of the conversation'),
      source: source.default('api'),
      visitor: z
        .strictObject({
          externalId: externalId
            .optional()
            .describe('Identifies the visitor. Without it, each request creates a new visitor'),
          ...knownVisitor,
        })
        .optional()
        .describe('Visitor of the conversation; without it, the conversation has none'),
    }),
    response: conversation,
  },
  listChatMessages: {
    ...token,
    method: 'GET',
    path: '/v1/chat/conversations/{id}/messages',
    permission: 'chat:read',
    summary: 'List the messages of a conversation',
    description: 'Oldest first, without private notes. A page is shorter if its texts reach 256 KiB.',
    params: idParams,
    query: z.strictObject({
      limit: listQuery.shape.limit,
      after: text(1, 20)
        .regex(/^(0|[1-9]\d{0,9})$/, 'must be meta.nextCursor of the previous page, or the seq of a message')
        .optional()
        .describe('`meta.nextCursor` of the previous page, or a `seq`: only later messages'),
    }),
    response: page(message),
  },
  sendChatMessage: {
    ...token,
    method: 'POST',
    path: '/v1/chat/conversations/{id}/messages',
    permission: 'chat:write',
    summary: 'Send a message as the API',
    description:
      'A repeated `clientId` of the same API key returns the first message. The status, the owner and the unread count of the conversation do not change, and a visitor of a channel gets the message there.',
    params: idParams,
    body: z.strictObject({
      content: chatText(1, maxMessageLength).describe('Text of the message, 1 to 10,000 characters'),
      clientId: clientId.optional(),
    }),
    response: message,
    errors: ['conversation_closed'],
  },
  listChatVisitors: {
    ...token,
    method: 'GET',
    path: '/v1/chat/visitors',
    permission: 'visitors:read',
    summary: 'List or look up visitors',
    description: 'Newest first. With `externalId`, returns that visitor or none, without `meta`.',
    query: listQuery.extend({ externalId: externalId.optional() }),
    response: named(
      'ChatVisitors',
      z.object({
        data: z.array(visitor).describe('Visitors, newest first'),
        meta: z
          .object({
            limit: z.int().describe('Rows per page that this request used, 1 to 100'),
            nextCursor: z
              .string()
              .nullable()
              .describe('Send it as `cursor` to read the next page; null on the last page'),
          })
          .optional()
          .describe('Position of this page in the list'),
      }),
    ),
  },
});
