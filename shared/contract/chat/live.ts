import { z } from 'zod';
import { id, named, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { inboxConversation, inboxMessage, presences } from './agent-shapes.ts';
import { agent, inWorkspace, visitorOnly } from './callers.ts';
import { message } from './shapes.ts';
import { visitorConversation } from './visitor-page.ts';

/**
 * The live protocol: a WebSocket, an event stream where those are blocked, and the plain reads where both are. What it tells may be lost;
 * `sync` and `after` repair every gap. Each frame is a JSON text with a `type`; fields and types that are not known are left out of account.
 */
export const visitorProtocol = 'outrigger.chat.visitor.v1';
export const agentProtocol = 'outrigger.chat.agent.v1';
/** A page can send no `Authorization` with a WebSocket: its token is offered as a further subprotocol that begins so. */
export const bearerProtocolPrefix = 'bearer.';

export const maxChatFrameBytes = 64 * 1024;
export const syncSeconds = 15;
/** Whoever hears nothing for so long has lost the connection, in seconds. */
export const chatSilenceSeconds = 45;
/** What may wait for a reader, in bytes. */
export const maxChatBufferBytes = 1024 * 1024;

export const chatCloseCodes = {
  notUnderstood: 4400,
  /** The token or the session counts no more. */
  revoked: 4401,
  /** More than its reader took. */
  tooSlow: 4408,
  tooMany: 4429,
} as const;

/** What a visitor's page sends. */
export const visitorRequestFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hello'), after: z.int().min(0) }),
  z.object({ type: z.literal('typing'), typing: z.boolean() }),
  z.object({ type: z.literal('read'), seq: z.int().min(0) }),
]);

const errorFrame = named(
  'ChatErrorFrame',
  z.object({
    type: z.literal('error').describe('The last frame of the client was refused'),
    code: z.string().describe('Stable code, for programs'),
    message: z.string().describe('What was wrong, for people'),
  }),
);

/** What it hears. */
export const visitorFrame = named(
  'VisitorFrame',
  z.discriminatedUnion('type', [
    named('VisitorMessageFrame', z.object({ type: z.literal('message').describe('A message was written'), message })),
    named(
      'VisitorDeltaFrame',
      z
        .object({
          type: z.literal('delta').describe('A part of an answer that the AI agent is writing'),
          id: z.string().describe('That the message will have'),
          at: z
            .int()
            .describe(
              'How much of it came before, in UTF-16 units: what does not fit there was preceded by one that was lost',
            ),
          text: z.string().describe('Text that follows the parts before'),
          dropped: z.boolean().describe('Whether there will be no such message'),
        })
        .describe('Of an answer that is being written; the message takes its place'),
    ),
    named(
      'VisitorTypingFrame',
      z.object({
        type: z.literal('typing').describe('Someone started or stopped typing'),
        who: z.enum(['agent', 'ai']).describe('`agent` for a person, `ai` for the AI agent'),
        name: z.string().nullable().describe('Display name of the agent; null without one'),
        typing: z.boolean().describe('False when typing stopped'),
      }),
    ),
    named(
      'VisitorReadFrame',
      z.object({
        type: z.literal('read').describe('Messages were read'),
        who: z.enum(['visitor', 'agent']).describe('Side that has read'),
        seq: z.int().describe('`seq` up to which that side has read'),
      }),
    ),
    named(
      'VisitorPresenceFrame',
      z.object({
        type: z.literal('presence').describe('Agents came online or went offline'),
        agentOnline: z.boolean().describe('Whether at least one agent is online'),
      }),
    ),
    named(
      'VisitorConversationFrame',
      z.object({
        type: z.literal('conversation').describe('The conversation changed'),
        conversation: visitorConversation,
      }),
    ),
    named(
      'VisitorSyncFrame',
      z.object({
        type: z
          .literal('sync')
          .describe('State of the conversation, sent regularly so that the client notices missed frames'),
        lastSeq: z.int().describe('`seq` of the newest message; 0 without messages'),
        status: z.string().describe('Status of the conversation'),
      }),
    ),
    errorFrame,
  ]),
);
export type VisitorFrame = z.output<typeof visitorFrame>;

/** What an agent's inbox sends. */
export const agentRequestFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hello') }),
  z.object({ type: z.literal('view'), conversationId: id.nullable().describe('Null: none') }),
  z.object({ type: z.literal('typing'), conversationId: id, typing: z.boolean() }),
  z.object({ type: z.literal('presence'), presence: z.enum(presences) }),
]);

/** What it hears, of all conversations of the workspace. */
export const agentFrame = named(
  'AgentFrame',
  z.discriminatedUnion('type', [
    named(
      'AgentMessageFrame',
      z.object({
        type: z.literal('message').describe('A message or a private note was written'),
        message: inboxMessage,
      }),
    ),
    named(
      'AgentConversationFrame',
      z.object({
        type: z.literal('conversation').describe('A conversation changed or is new'),
        conversation: inboxConversation,
      }),
    ),
    named(
      'AgentRemovedFrame',
      z.object({
        type: z.literal('removed').describe('A conversation was erased'),
        conversationId: id.describe('Conversation that was erased'),
      }),
    ),
    named(
      'AgentTypingFrame',
      z.object({
        type: z.literal('typing').describe('Someone started or stopped typing'),
        conversationId: id.describe('Conversation in which they type'),
        who: z.enum(['visitor', 'agent', 'ai']).describe('`visitor`, `agent` for a member, or `ai` for the AI agent'),
        userId: id.nullable().describe('Member who types; null for others'),
        typing: z.boolean().describe('False when typing stopped'),
      }),
    ),
    named(
      'AgentReadFrame',
      z.object({
        type: z.literal('read').describe('Messages were read'),
        conversationId: id.describe('Conversation of the messages'),
        who: z.enum(['visitor', 'agent']).describe('Side that has read'),
        seq: z.int().describe('`seq` up to which that side has read'),
      }),
    ),
    named(
      'AgentPresenceFrame',
      z.object({
        type: z.literal('presence').describe('A member came online, went away or went offline'),
        userId: id.describe('Member whose presence changed'),
        presence: z.enum([...presences, 'offline']).describe('`offline` without a live connection for 30 seconds'),
      }),
    ),
    named(
      'AgentSuggestionFrame',
      z
        .object({
          type: z.literal('suggestion').describe('The AI agent suggests a reply'),
          conversationId: id.describe('Conversation that the suggestion is for'),
          id: id.describe('Id of the suggestion'),
        })
        .describe('The AI agent suggests a reply; the list of suggestions has it'),
    ),
    named(
      'AgentViewersFrame',
      z.object({
        type: z.literal('viewers').describe('Members began or stopped viewing a conversation'),
        conversationId: id.describe('Conversation that is viewed'),
        userIds: z.array(id).describe('Members who view it now'),
      }),
    ),
    named(
      'AgentSyncFrame',
      z
        .object({
          type: z.literal('sync').describe('Regular list of changes, so that the client notices missed frames'),
          at: timestamp,
          changed: z
            .array(
              z.object({
                id: id.describe('Id of the conversation'),
                lastPosition: z.int().describe('`position` of what was written last, notes included'),
                status: z.string().describe('Status of the conversation'),
                updatedAt: timestamp,
              }),
            )
            .describe('Conversations that changed in the last 45 seconds'),
          complete: z.boolean().describe('False where more changed than are named: look at the lists again'),
        })
        .describe('Every 15 seconds: the conversations that changed in the last 45'),
    ),
    errorFrame,
  ]),
);
export type AgentFrame = z.output<typeof agentFrame>;

/** The two that become WebSockets, which no OpenAPI document can describe. */
export const chatSockets = defineResource({
  connectVisitor: {
    ...visitorOnly,
    method: 'GET',
    path: '/widget/v1/live',
    summary: 'Open the live connection of a visitor',
    socket: { protocol: visitorProtocol, maxFrameBytes: maxChatFrameBytes },
    response: z.never(),
    errors: ['upgrade_required'],
  },
  connectAgent: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/live',
    summary: 'Open the live connection of an agent',
    params: inWorkspace,
    socket: { protocol: agentProtocol, maxFrameBytes: maxChatFrameBytes },
    response: z.never(),
    errors: ['upgrade_required'],
  },
});

export const chatStreams = defineResource({
  streamVisitorEvents: {
    ...visitorOnly,
    method: 'GET',
    path: '/widget/v1/events',
    summary: 'Follow a conversation as server-sent events, where WebSockets are blocked',
    description:
      'Each event is a frame of the live protocol, named by its `type`. `Last-Event-ID`, or `after`, is the `seq` of the last message that was seen.',
    query: z.strictObject({
      after: z
        .string()
        .regex(/^(0|[1-9]\d{0,9})$/, 'must be the seq of a message')
        .optional(),
    }),
    binaryResponse: 'text/event-stream',
    streamedEvent: visitorFrame,
    resumable: true,
    response: z.any(),
    maxOpenSeconds: 600,
  },
  streamInboxEvents: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/events',
    summary: 'Follow the inbox as server-sent events, where WebSockets are blocked',
    description:
      'Each event is a frame of the live protocol, named by its `type`. They have no ids, and what was missed is not told again: whoever comes back looks at the lists, and `sync` names what changed in the last 45 seconds.',
    params: inWorkspace,
    binaryResponse: 'text/event-stream',
    streamedEvent: agentFrame,
    response: z.any(),
    maxOpenSeconds: 600,
  },
});
