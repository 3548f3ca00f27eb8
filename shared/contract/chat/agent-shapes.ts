import { z } from 'zod';
import { id, memberPicture, named, timestamp } from '../common.ts';
import { messageSource, toolUse } from './ai-settings.ts';
import { conversation, conversationOwners, message, rating, visitor } from './shapes.ts';

/** Schemas of the inbox. Only agents receive them; they include private notes. */

export const inboxViews = ['all', 'mine', 'unassigned', 'open', 'pending', 'snoozed', 'resolved', 'closed'] as const;
/** Views of lists: the counted views, unread conversations, those assigned to one member, and those of one visitor. */
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
      owner: z.enum(conversationOwners).nullable().describe('Who answers: the AI agent or people; null while unowned'),
      snoozedUntil: timestamp.nullable(),
      lastSeq: z.int().describe('`seq` of the newest message'),
      lastPosition: z.int().describe('`position` of the newest message or note'),
      lastMessage: z
        .object({
          content: z.string().describe('First 200 characters of the text'),
          senderType: z.string().describe('Type of the sender, as in messages'),
          createdAt: timestamp,
        })
        .nullable()
        .describe('Newest message; null without messages'),
      visitorName: z
        .string()
        .nullable()
        .describe('Display name, email address or external id of the visitor; null for an anonymous one'),
      visitorVerified: z
        .boolean()
        .describe('Whether a token of the workspace identified the visitor; an email address does not'),
      visitorReadSeq: z.int().describe('`seq` up to which the visitor has read'),
      agentReadSeq: z.int().describe('`seq` up to which an agent has read'),
    })
    .describe('A conversation as agents see it'),
);
export type InboxConversation = z.output<typeof inboxConversation>;

export const inboxMessage = named(
  'InboxMessage',
  z
    .object({
      ...message.shape,
      seq: z.int().nullable().describe('Number of the message in the conversation; null for a private note'),
      position: z.int().describe('Position in the conversation, counting messages and notes'),
      private: z.boolean().describe('Whether it is a private note, which visitors never see'),
      sources: z.array(messageSource).describe('Knowledge entries that the AI agent used for its answer'),
      tools: z.array(toolUse).describe('Tools that the AI agent called for its answer, in order'),
    })
    .describe('A message or a private note, as agents see it'),
);
export type InboxMessage = z.output<typeof inboxMessage>;

export const chatAgent = named(
  'ChatAgent',
  z.object({
    userId: id.describe('Id of the member'),
    email: z.string().describe('Email address with which the member signs in; visitors never see it'),
    displayName: z.string().nullable().describe('Name that visitors see; with null, visitors see a neutral word'),
    picture: memberPicture,
    presence: z.enum([...presences, 'offline']).describe('`offline`: no live connection for 30 seconds'),
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
    blocked_at: timestamp.nullable().describe('When an agent blocked the visitor; null while not blocked'),
    last_address: z
      .string()
      .nullable()
      .describe('IP address of the last visit; the last part is removed unless `keepAddresses` is set'),
  }),
);
export type InboxVisitor = z.output<typeof inboxVisitor>;

export const inboxDetail = named(
  'InboxConversationDetail',
  z.object({
    ...inboxConversation.shape,
    visitor: inboxVisitor.nullable().describe('Visitor of the conversation; null without one'),
    draft: draft.nullable().describe('Your draft; null without one'),
    rating: rating.nullable().describe('Rating after the last closing; null without one'),
    viewers: z.array(id).describe('Ids of the members who view the conversation now'),
  }),
);
