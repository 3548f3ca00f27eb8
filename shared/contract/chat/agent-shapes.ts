import { z } from 'zod';
import { id, memberPicture, named, timestamp } from '../common.ts';
import { messageSource, toolUse } from './ai-settings.ts';
import { conversation, conversationOwners, message, rating, visitor } from './shapes.ts';

/** What agents see of Live Chat, and nobody else: private notes among it. */

export const inboxViews = ['all', 'mine', 'unassigned', 'open', 'pending', 'snoozed', 'resolved', 'closed'] as const;
/** Views that a list can show: those that are counted, unread ones, those at work of one member, and those of one visitor. */
export const listedViews = [...inboxViews, 'unread', 'assigned', 'visitor'] as const;
export type InboxView = (typeof inboxViews)[number];
export type ListedView = (typeof listedViews)[number];

export const presences = ['online', 'away'] as const;
export type Presence = (typeof presences)[number];

export const inboxConversation = named(
  'InboxConversation',
  z
    .object({
      ...conversation.shape,
      environment: z.enum(['live', 'test']).describe('Environment of the visitor'),
      owner: z
        .enum(conversationOwners)
        .nullable()
        .describe('Who takes care of it: the AI agent, or people; null while nobody has it'),
      snoozedUntil: timestamp.nullable(),
      lastSeq: z.int().describe('Of its newest message'),
      lastPosition: z.int().describe('Of what was written last, notes included'),
      lastMessage: z
        .object({
          content: z.string().describe('The first 200 characters'),
          senderType: z.string().describe('Kind of its sender, as in messages'),
          createdAt: timestamp,
        })
        .nullable()
        .describe('Newest message; null without messages'),
      visitorName: z
        .string()
        .nullable()
        .describe('Display name, email address or external id of the visitor; null for an anonymous one'),
      visitorVerified: z.boolean().describe('Whether a token of the workspace said who it is; an e-mail never does'),
      visitorReadSeq: z.int().describe('Up to which message the visitor has read'),
      agentReadSeq: z.int().describe('Up to which message an agent has read'),
    })
    .describe('A conversation as agents see it'),
);
export type InboxConversation = z.output<typeof inboxConversation>;

export const inboxMessage = named(
  'InboxMessage',
  z
    .object({
      ...message.shape,
      seq: z.int().nullable().describe('Null for a private note'),
      position: z.int().describe('Counts all that is written in a conversation, notes included'),
      private: z.boolean().describe('Whether it is a private note, which visitors never see'),
      sources: z
        .array(messageSource)
        .describe('Of an answer of the AI agent: the entries of the knowledge that it used'),
      tools: z.array(toolUse).describe('Of an answer of the AI agent: what it called, in that order'),
    })
    .describe('A message or a private note, as agents see it'),
);
export type InboxMessage = z.output<typeof inboxMessage>;

export const chatAgent = named(
  'ChatAgent',
  z.object({
    userId: id.describe('Id of the member'),
    email: z.string().describe('Email address with which the member signs in; visitors never see it'),
    displayName: z.string().nullable().describe('What visitors see of the agent; null shows a neutral word'),
    picture: memberPicture,
    presence: z.enum([...presences, 'offline']).describe('`offline` without a live connection for 30 seconds'),
    openConversations: z.int().describe('Open conversations that are assigned to the agent'),
  }),
);
export type ChatAgent = z.output<typeof chatAgent>;

export const cannedReply = named(
  'CannedReply',
  z.object({
    id: id.describe('Id of the canned reply'),
    shortcut: z.string().describe('Unique in the workspace, 1 to 40 characters of a-z, 0-9, `_` and `-`'),
    content: z.string().describe('Text with variables such as `{{visitor.name|there}}`, at most 10,000 characters'),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);
export type CannedReply = z.output<typeof cannedReply>;

export const draft = named(
  'ChatDraft',
  z.object({
    content: z.string().describe('Text of the draft, at most 10,000 characters'),
    private: z.boolean().describe('Whether it is the draft of a private note'),
    updatedAt: timestamp,
  }),
);

export const inboxVisitor = named(
  'InboxVisitor',
  z.object({
    ...visitor.shape,
    verified: z.boolean().describe('Whether a token of your server named the visitor (`external_id`)'),
    blocked_at: timestamp.nullable().describe('When an agent blocked the visitor; null while they are not blocked'),
    last_address: z
      .string()
      .nullable()
      .describe('IP address of the last visit, without its last part unless the settings keep it whole'),
  }),
);
export type InboxVisitor = z.output<typeof inboxVisitor>;

export const inboxDetail = named(
  'InboxConversationDetail',
  z.object({
    ...inboxConversation.shape,
    visitor: inboxVisitor.nullable().describe('Visitor of the conversation; null without one'),
    draft: draft.nullable().describe('Your own'),
    rating: rating.nullable().describe('Of the last closing'),
    viewers: z.array(id).describe('Users who look at it now'),
  }),
);
