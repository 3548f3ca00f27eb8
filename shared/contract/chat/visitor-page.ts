import { z } from 'zod';
import { id, listQuery, memberPicture, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { visitorOnly } from './callers.ts';
import { chatLocales } from './settings.ts';
import {
  attachmentIds,
  chatText,
  clientId,
  contentOrFiles,
  conversationStatuses,
  maxMessageLength,
  maxRatingComment,
  message,
  needsContent,
  needsOneDirection,
  oneDirection,
  rating,
} from './shapes.ts';

/** Operations of the hosted page and the widget, for one visitor in one conversation. */

const publicCaller = { tag: 'Live Chat page', callers: ['public'], ipLimit: 'chat' } as const;

export const siteKey = text(1, 100).describe('Site key of the workspace, `wgt_...`');

/** Settings of the workspace that the page shows. */
const pageSettings = named(
  'ChatPageSettings',
  z
    .object({
      title: z.string().describe('Title of the chat'),
      greeting: z.string().nullable().describe("Greeting; null: the page's own, in the visitor's language"),
      colour: z.string().describe('Brand color, `#rrggbb`'),
      locale: z.enum(chatLocales).nullable().describe('Language of the page; null: the language of the visitor'),
      allowAnonymous: z.boolean().describe('Whether visitors without a token may start a conversation'),
      preChat: z
        .object({
          name: z.enum(['off', 'optional', 'required']).describe('Whether the page requests a name'),
          email: z.enum(['off', 'optional', 'required']).describe('Whether the page requests an email address'),
        })
        .describe('Which fields the page requests from a visitor without a token'),
      ratings: z.boolean().describe('Whether visitors are asked for a rating after a conversation is closed'),
      open: z.boolean().describe('Whether the chat is open now, by its business hours'),
      awayMessage: z.string().describe('Text outside the business hours; empty while the chat is open'),
    })
    .describe('How the chat of the workspace looks and behaves'),
);
export type ChatPageSettings = z.output<typeof pageSettings>;

/** A conversation as its visitor sees it. */
export const visitorConversation = named(
  'VisitorConversation',
  z
    .object({
      id: id.describe('Id of the conversation'),
      status: z
        .enum(conversationStatuses)
        .describe('A message of the visitor reopens `pending` and `resolved`; a `closed` conversation stays closed'),
      lastSeq: z.int().describe('`seq` of the newest message; 0 without messages'),
      visitorReadSeq: z.int().describe('`seq` up to which the visitor has read'),
      agentReadSeq: z.int().describe('`seq` up to which an agent has read'),
      agentName: z
        .string()
        .nullable()
        .describe('Display name of the assigned agent; null without an assignee or a display name'),
      agentPicture: memberPicture.describe(
        'Path of the picture of the assigned agent, relative to the URL of this hub; null without one',
      ),
      agentOnline: z.boolean().describe('Whether at least one agent is online'),
      assistant: z
        .object({ disclosure: z.string().describe('Notice of the workspace about the AI agent; may be empty') })
        .nullable()
        .describe('Set while the AI agent answers; `POST /widget/v1/handoff` requests a person'),
      closedAt: timestamp.nullable().describe('When the conversation was last closed; null if never'),
      isContinued: z
        .boolean()
        .describe(
          'Whether this conversation is closed and the visitor has another that is not; `POST /widget/v1/conversations` opens it',
        ),
      rating: rating.nullable().describe('Rating after the last closing; null without one'),
      ratingOffered: z.boolean().describe('Whether a rating can be given or changed now'),
    })
    .describe('A conversation as its visitor sees it'),
);
export type VisitorConversation = z.output<typeof visitorConversation>;

export const visitorSession = named(
  'VisitorSession',
  z.object({
    token: z.string().describe('Session token, to send as `Authorization: Bearer`'),
    expiresAt: timestamp.describe('When the session ends unless it is renewed'),
    visitorId: id.describe('Id of the visitor'),
    conversation: visitorConversation,
    settings: pageSettings,
    carriedOver: z
      .boolean()
      .describe('True when the conversations of `anonymousSession` became those of this visitor in this request'),
  }),
);

export type VisitorSession = z.output<typeof visitorSession>;

const seq = z.string().regex(/^(0|[1-9]\d{0,9})$/, 'must be the seq of a message');

export const visitorPage = defineResource({
  getChatPage: {
    ...publicCaller,
    method: 'GET',
    path: '/widget/v1/page',
    summary: 'Get the page settings of a site key',
    description:
      'Visitors need no session for it. `open` and `awayMessage` apply the business hours at the time of the request.',
    query: z.strictObject({ siteKey }),
    response: pageSettings,
    errors: ['not_found', 'product_not_entitled'],
  },
  openVisitorSession: {
    tag: publicCaller.tag,
    callers: publicCaller.callers,
    method: 'POST',
    path: '/widget/v1/token',
    summary: 'Open a visitor session',
    description:
      'With a link token, opens the conversation of the link. Without one, creates an anonymous visitor if the workspace allows it; an invalid, expired or revoked token is refused instead. With a link token and `anonymousSession`, the conversations of the anonymous visitor move to the identified visitor, and the sessions of the anonymous visitor end. The messages of the open conversation are appended to the conversation of the link, or to another one of the visitor if that is closed; the emptied conversation is closed. If all conversations of the visitor are closed, the anonymous one stays open, and the link opens it. `carriedOver` is false and nothing moves if that session is expired, identified, of another workspace or environment, or was already moved. Limits: 120 requests per minute for each visitor with a valid token, and 120 per minute for each address otherwise. Anonymous visitors are also limited to 120 per hour and address and 3,000 per hour and workspace, unless the operator sets other limits.',
    body: z.strictObject({
      siteKey,
      token: text(1, 200).optional().describe('Token of the link, or of `boot`'),
      anonymousSession: text(1, 200)
        .optional()
        .describe('Session token of the anonymous visitor who now signs in with `token`'),
      name: chatText(1, 200).optional().describe('Name that an anonymous visitor enters'),
      email: z
        .email('must be an email address')
        .max(254, 'must have at most 254 characters')
        .optional()
        .describe('Email address that an anonymous visitor enters; it is not verified'),
    }),
    response: visitorSession,
    errors: [
      'chat_token_invalid',
      'chat_token_expired',
      'visitor_blocked',
      'unauthenticated',
      'product_not_entitled',
      'rate_limited',
    ],
  },
  renewVisitorSession: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/renew',
    summary: 'Renew a session token',
    description: 'The old token stays valid for one minute.',
    response: visitorSession,
  },
  endVisitorSession: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/end',
    summary: 'End a session',
    description: 'Revokes the token and closes its live connections. Links and other sessions stay valid.',
    response: named(
      'VisitorSessionEnded',
      z.object({ ended: z.literal(true).describe('Always true: the session ended') }),
    ),
  },
  getVisitorConversation: {
    ...visitorOnly,
    method: 'GET',
    path: '/widget/v1/conversation',
    summary: 'Get the conversation of a session',
    description: 'Includes the read state, the agent, and whether the conversation can be rated now.',
    response: visitorConversation,
  },
  beginVisitorConversation: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/conversations',
    summary: 'Start a new conversation after the last one was closed',
    description: 'Returns a session of the new conversation, or of the existing open one.',
    response: visitorSession,
    errors: ['conflict'],
  },
  listVisitorMessages: {
    ...visitorOnly,
    method: 'GET',
    path: '/widget/v1/messages',
    summary: 'List messages',
    description:
      'Oldest first. With `after`, returns the messages after that `seq`; with `before`, the last ones before it; otherwise the newest. `meta.nextCursor` continues in the same direction. A page is shorter if its texts reach 256 KiB.',
    query: z
      .strictObject({ limit: listQuery.shape.limit, after: seq.optional(), before: seq.optional() })
      .refine(oneDirection, needsOneDirection),
    response: page(message),
    errors: ['rate_limited'],
  },
  sendVisitorMessage: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/messages',
    summary: 'Send a message as the visitor',
    description: 'A repeated `clientId` returns the existing message. Limit: 20 messages in 10 seconds.',
    body: z
      .strictObject({
        content: chatText(0, maxMessageLength).describe(
          'Text, at most 10,000 characters; may be empty when files are sent',
        ),
        clientId,
        attachmentIds,
      })
      .refine(contentOrFiles, needsContent),
    response: message,
    errors: ['conversation_closed', 'rate_limited'],
  },
  readVisitorConversation: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/read',
    summary: 'Mark messages as read by the visitor',
    description:
      'Marks messages up to `seq`, at most up to the newest. The response contains the resulting `seq`, which never decreases.',
    body: z.strictObject({ seq: z.int().min(0).describe('`seq` up to which the visitor has read') }),
    response: named('VisitorRead', z.object({ seq: z.int().describe('`seq` up to which the visitor has read') })),
  },
  showVisitorTyping: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/typing',
    summary: 'Update the typing status of the visitor',
    description:
      'Agents who view the conversation see it for a few seconds. Repeat the request while the visitor types. Nothing is stored.',
    body: z.strictObject({ typing: z.boolean().describe('Whether the visitor is typing now') }),
    response: named(
      'VisitorTyping',
      z.object({ typing: z.boolean().describe('Whether agents see the visitor as typing') }),
    ),
  },
  askForPerson: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/handoff',
    summary: 'Request a person instead of the AI agent',
    description:
      'Hands the conversation over to people immediately and adds a message about it. Changes nothing if people already own the conversation.',
    query: z.strictObject({
      locale: z.enum(chatLocales).optional().describe('Language of the page and of the handoff message'),
    }),
    response: visitorConversation,
    errors: ['conversation_closed'],
  },
  rateVisitorConversation: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/rating',
    summary: 'Rate the conversation',
    description: 'Possible for 14 days after closing. A rating can be changed for 24 hours.',
    body: z.strictObject({
      score: z
        .int('must be a whole number from 1 to 5')
        .min(1, 'must be from 1 to 5')
        .max(5, 'must be from 1 to 5')
        .describe('Score from 1 (worst) to 5 (best)'),
      comment: chatText(0, maxRatingComment).default('').describe('Comment, at most 2,000 characters'),
    }),
    response: rating,
    errors: ['rating_not_offered'],
  },
});
