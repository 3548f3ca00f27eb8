import { z } from 'zod';
import { isStorableText, jsonObject } from '../../json.ts';
import { id, memberPicture, named, timestamp } from '../common.ts';

/** Schemas of Live Chat. Text lengths are counted in code points. */

/** The number of code points of a text. Counting stops at `atMost` + 1. */
export function codePoints(value: string, atMost: number): number {
  let count = 0;
  for (let at = 0; at < value.length && count <= atMost; at += (value.codePointAt(at) as number) > 0xffff ? 2 : 1)
    count += 1;
  return count;
}

/** Text that the database can store. The length limits are in code points. */
export const chatText = (min: number, max: number) =>
  z
    .string()
    .refine((value) => codePoints(value, max) <= max, `must have at most ${max.toLocaleString('en')} characters`)
    .refine((value) => value.length >= min, min === 1 ? 'must not be empty' : `must have at least ${min} characters`)
    .refine(isStorableText, 'must not contain a NUL character or an unpaired surrogate')
    .meta({ minLength: min, maxLength: max });

export const maxMessageLength = 10_000;
/** Maximum `seq` and `position` of a message. */
export const maxSeq = 2_147_483_647;
export const maxAttributes = 50;
export const maxAttributesBytes = 16 * 1024;

export const conversationStatuses = ['open', 'pending', 'resolved', 'closed'] as const;
export type ConversationStatus = (typeof conversationStatuses)[number];
export const priorities = ['low', 'normal', 'high', 'urgent'] as const;
export type Priority = (typeof priorities)[number];
/** `visitor` and `agent` are people, `api` is an API key or a workflow, `ai` is the AI agent, `system` is the hub. */
export const senderTypes = ['visitor', 'agent', 'api', 'ai', 'system'] as const;
export type SenderType = (typeof senderTypes)[number];

export const conversationOwners = ['ai', 'person'] as const;
export type ConversationOwner = (typeof conversationOwners)[number];

export const conversation = named(
  'Conversation',
  z.object({
    id: id.describe('Id of the conversation'),
    name: z.string().describe('Title for agents, at most 200 characters'),
    source: z.string().describe('Source of the conversation, such as `api` or `Mobile App`; at most 100 characters'),
    status: z
      .enum(conversationStatuses)
      .describe('A message of the visitor reopens `pending` and `resolved`; a `closed` conversation stays closed'),
    priority: z.enum(priorities).describe('Urgency, as set by agents, keys or workflows'),
    assignedUserId: id.nullable().describe('Assigned member; null without one'),
    visitorId: id.nullable().describe('Visitor of the conversation; null without one'),
    unreadCount: z.int().describe('Number of visitor messages that no agent has read'),
    lastMessageAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);
export type Conversation = z.output<typeof conversation>;

/** The fields of a visitor are in snake_case, unlike those of all other objects. */
export const visitor = named(
  'Visitor',
  z.object({
    id: id.describe('Id of the visitor'),
    display_name: z
      .string()
      .nullable()
      .describe('Name of the visitor, at most 200 characters; null when it is not known'),
    email: z.string().nullable().describe('Email address; null when it is not known. It is not verified'),
    phone: z.string().nullable().describe('Phone number, at most 40 characters; null when it is not known'),
    external_id: z
      .string()
      .nullable()
      .describe('Your own stable id of the visitor, at most 200 characters; null for an anonymous visitor'),
    attributes: jsonObject.describe('Your own fields; at most 50 keys and 16 KiB'),
    created_at: timestamp,
    last_seen_at: timestamp.nullable(),
  }),
);
export type Visitor = z.output<typeof visitor>;

export const attachment = named(
  'ChatAttachment',
  z.object({
    id: id.describe('Id of the file'),
    name: z.string().describe('File name, at most 200 characters'),
    contentType: z.string().describe('Media type, detected from the content'),
    bytes: z.int().describe('Size in bytes, at most 10,485,760'),
  }),
);
export type ChatAttachment = z.output<typeof attachment>;
export const maxFileBytes = 10 * 1024 * 1024;
export const maxFilesPerMessage = 5;

/** A message as visitors and API keys see it. Private notes are excluded. */
export const message = named(
  'ChatMessage',
  z
    .object({
      id: id.describe('Id of the message'),
      conversationId: id.describe('Conversation of the message'),
      seq: z.int().describe('Number of the message in its conversation, without gaps'),
      content: z.string().describe('Text of the message, at most 10,000 characters; empty if only files were sent'),
      senderType: z
        .enum(senderTypes)
        .describe(
          '`visitor` and `agent` are people, `api` is an API key or a workflow, `ai` the AI agent, `system` the hub',
        ),
      senderId: z.string().nullable().describe('Id of the visitor, member or API key; null for other senders'),
      senderName: z
        .string()
        .nullable()
        .describe(
          'Display name of the agent who wrote it; null for other senders, without a display name, and for a former member',
        ),
      senderPicture: memberPicture.describe(
        'Path of the picture of the agent who wrote it, relative to the URL of this hub; requires no credentials. Null for other senders and without a picture.',
      ),
      attachments: z.array(attachment).describe('Files of the message, at most 5'),
      clientId: z
        .string()
        .nullable()
        .describe("The sender's own id of the message; a repeated id is stored once. Null without one"),
      createdAt: timestamp,
    })
    .describe('A message that the visitor can see'),
);
export type ChatMessage = z.output<typeof message>;

/** A list of messages goes forward from `after` or backward from `before`, not both. */
export const oneDirection = ({ after, before }: { after?: string | undefined; before?: string | undefined }) =>
  after === undefined || before === undefined;
export const needsOneDirection = { path: ['before'], message: 'must be omitted when after is given' };

/** A visitor's rating of a closed conversation. */
export const rating = named(
  'ChatRating',
  z.object({
    score: z.int().min(1).max(5).describe('Score from 1 (worst) to 5 (best)'),
    comment: z.string().describe('Comment, at most 2,000 characters; may be empty'),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);
export const maxRatingComment = 2_000;
/** Days after closing during which a conversation can be rated, and hours during which a rating can be changed. */
export const ratingDays = 14;
export const ratingChangeHours = 24;

export const attachmentIds = z
  .array(id)
  .max(maxFilesPerMessage, `must name at most ${maxFilesPerMessage} files`)
  .default([])
  .describe('Ids of uploaded files of this conversation that no message contains yet');

/** A message needs content or files. */
export const contentOrFiles = <Body extends { content: string; attachmentIds: string[] }>({
  content,
  attachmentIds: files,
}: Body) => content !== '' || files.length > 0;
export const needsContent = { path: ['content'], message: 'must not be empty without attachmentIds' };

/** A change of a visitor's attributes: merged one level deep; null deletes a key. */
export const attributesPatch = jsonObject.describe(
  `Merged one level deep into the visitor's attributes; null deletes a key. At most ${maxAttributes} keys and 16 KiB in total`,
);

export const externalId = chatText(1, 200).describe('Your own stable id of the visitor');
export const clientId = z
  .string()
  .min(1, 'must not be empty')
  .max(64, 'must have at most 64 characters')
  .refine(isStorableText, 'must not contain a NUL character or an unpaired surrogate')
  .describe('Your own id of the message; a repeated id is not stored again');
export const maxSourceLength = 100;
/** Free text. Filters compare it exactly. */
export const source = chatText(1, maxSourceLength).describe(
  'Source of the conversation, such as `api` or `Mobile App`',
);
