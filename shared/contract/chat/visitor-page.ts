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

/** What the hosted page and the widget ask of the hub: that of one visitor in one conversation. */

const anybody = { tag: 'Live Chat page', callers: ['public'], ipLimit: 'chat' } as const;

export const siteKey = text(1, 100).describe('Site key of the workspace, `wgt_...`');

/** What the page shows of its workspace. */
const pageSettings = named(
  'ChatPageSettings',
  z
    .object({
      title: z.string().describe('Title of the chat'),
      greeting: z.string().nullable().describe("Null: the page's own, in the visitor's language"),
      colour: z.string().describe('Brand colour, `#rrggbb`'),
      locale: z.enum(chatLocales).nullable().describe('Language of the page; null: that of the visitor'),
      allowAnonymous: z.boolean().describe('Whether visitors without a token may begin a conversation'),
      preChat: z
        .object({
          name: z.enum(['off', 'optional', 'required']).describe('Whether the page requests a name'),
          email: z.enum(['off', 'optional', 'required']).describe('Whether the page requests an email address'),
        })
        .describe('Which fields the page requests from a visitor without a token'),
      ratings: z.boolean().describe('Whether visitors are asked for a rating after a conversation is closed'),
      open: z.boolean().describe('Whether these are business hours'),
      awayMessage: z.string().describe('Empty while it is open'),
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
        .describe('Display name of the assigned agent; null where nobody is assigned or the agent has none'),
      agentPicture: memberPicture.describe(
        'Path of the picture of the assigned agent, relative to the URL of this hub; null without one',
      ),
      agentOnline: z.boolean().describe('Whether somebody of the workspace is there'),
      assistant: z
        .object({ disclosure: z.string().describe('What the workspace says of it; may be empty') })
        .nullable()
        .describe('Where an AI agent answers; POST /widget/v1/handoff asks for a person'),
      closedAt: timestamp.nullable().describe('When it was closed last; null if it never was'),
      isContinued: z
        .boolean()
        .describe(
          'Whether this conversation is closed and the visitor has another one that is not: POST /widget/v1/conversations opens it',
        ),
      rating: rating.nullable().describe('Of the last closing'),
      ratingOffered: z.boolean().describe('Whether it can be given or changed now'),
    })
    .describe('A conversation as its visitor sees it'),
);
export type VisitorConversation = z.output<typeof visitorConversation>;

export const visitorSession = named(
  'VisitorSession',
  z.object({
    token: z.string().describe('Sent as `Authorization: Bearer`'),
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
    ...anybody,
    method: 'GET',
    path: '/widget/v1/page',
    summary: 'What the page of a site key looks like',
    query: z.strictObject({ siteKey }),
    response: pageSettings,
    errors: ['not_found', 'product_not_entitled'],
  },
  openVisitorSession: {
    tag: anybody.tag,
    callers: anybody.callers,
    method: 'POST',
    path: '/widget/v1/token',
    summary: 'Exchange a link token for a session token, or begin as nobody',
    description:
      'A link token opens its conversation alone. Without one a new anonymous visitor begins where the workspace allows that; one that is expired, revoked or changed never becomes one. With a link token and `anonymousSession`, the conversations of that anonymous visitor become those of the identified visitor, and the sessions of the anonymous visitor end. Nothing is carried over when the session is expired, of an identified visitor, of another workspace or environment, or was carried over before: `carriedOver` is false then. A valid link token counts for its visitor (120 a minute), anonymous visitors and refused tokens count for their address (120 a minute). Anonymous visitors are also limited by the hour: 120 from one address and 3,000 in all for a workspace, unless the operator sets other limits. A 429 says in `Retry-After` when to try again.',
    body: z.strictObject({
      siteKey,
      token: text(1, 200).optional().describe('Of the link, or of `boot`'),
      anonymousSession: text(1, 200)
        .optional()
        .describe('Session token of the anonymous visitor who now signs in with `token`'),
      name: chatText(1, 200).optional().describe('What an anonymous visitor calls themselves'),
      email: z
        .email('must be an email address')
        .max(254, 'must have at most 254 characters')
        .optional()
        .describe('Email address that an anonymous visitor gives; it is not verified'),
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
    summary: 'Renew a session token while the visitor is there',
    description: 'The old one holds for a minute more.',
    response: visitorSession,
  },
  endVisitorSession: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/end',
    summary: 'End a session',
    description: 'Its token counts no more, and its live connections end; links and other sessions stay.',
    response: named(
      'VisitorSessionEnded',
      z.object({ ended: z.literal(true).describe('Always true: the session ended') }),
    ),
  },
  getVisitorConversation: {
    ...visitorOnly,
    method: 'GET',
    path: '/widget/v1/conversation',
    summary: 'Show the conversation of a session',
    description: 'As its visitor may see it: how far it is, who takes care of it, and whether it can be rated now.',
    response: visitorConversation,
  },
  beginVisitorConversation: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/conversations',
    summary: 'Begin a new conversation after the old one was closed',
    description: 'The answer is a session of the new one, or of the open one that there is.',
    response: visitorSession,
    errors: ['conflict'],
  },
  listVisitorMessages: {
    ...visitorOnly,
    method: 'GET',
    path: '/widget/v1/messages',
    summary: 'List messages',
    description:
      'Oldest first, from `after` on; with `before` the last ones before that message, and with neither the newest. `meta.nextCursor` goes on in the same direction. A page ends early where its texts have 256 KiB.',
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
    description: 'The same `clientId` again is the same message. At most 20 in 10 seconds.',
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
      'Up to `seq`, at most to the newest message. What is read stays read: the answer says how far that is.',
    body: z.strictObject({ seq: z.int().min(0).describe('`seq` up to which the visitor has read') }),
    response: named('VisitorRead', z.object({ seq: z.int().describe('`seq` up to which the visitor has read') })),
  },
  showVisitorTyping: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/typing',
    summary: 'Say whether the visitor types',
    description: 'Agents who look on see it for some seconds; nothing is kept of it. Say it again while they type.',
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
    summary: 'Ask for a person where the AI agent answers',
    description:
      'The conversation goes to a person at once, with a message that says so. Where it is with people, nothing changes.',
    query: z.strictObject({
      locale: z.enum(chatLocales).optional().describe('Language of the page: the message is written in it'),
    }),
    response: visitorConversation,
    errors: ['conversation_closed'],
  },
  rateVisitorConversation: {
    ...visitorOnly,
    method: 'POST',
    path: '/widget/v1/rating',
    summary: 'Say how the conversation was',
    description: 'Offered for 14 days after it was closed, changeable for 24 hours.',
    body: z.strictObject({
      score: z
        .int('must be a whole number from 1 to 5')
        .min(1, 'must be from 1 to 5')
        .max(5, 'must be from 1 to 5')
        .describe('1 (worst) to 5 (best)'),
      comment: chatText(0, maxRatingComment).default('').describe('At most 2,000 characters'),
    }),
    response: rating,
    errors: ['rating_not_offered'],
  },
});
