import { z } from 'zod';
import { id, named, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { inboxConversation, inboxMessage, presences } from './agent-shapes.ts';
import { agent, inWorkspace, visitorOnly } from './callers.ts';
import { message } from './shapes.ts';
import { visitorConversation } from './visitor-page.ts';

/**
 * The live protocol. Clients use a WebSocket, an event stream where WebSockets are blocked, or polling.
 * Frames can be lost; `sync` and `after` let the client close every gap.
 * Each frame is a JSON text with a `type`. Receivers ignore unknown fields and types.
 */
export const visitorProtocol = 'outrigger.chat.visitor.v1';
export const agentProtocol = 'outrigger.chat.agent.v1';
/** Prefix of the subprotocol that contains the token, because a page cannot set `Authorization` on a WebSocket. */
export const bearerProtocolPrefix = 'bearer.';

export const maxChatFrameBytes = 64 * 1024;
export const syncSeconds = 15;
/** A connection is considered lost after this time without a frame, in seconds. */
export const chatSilenceSeconds = 45;
/** Maximum size of the send buffer of a connection, in bytes. */
export const maxChatBufferBytes = 1024 * 1024;

export const chatCloseCodes = {
  invalidFrame: 4400,
  /** The token or the session was revoked or has expired. */
  revoked: 4401,
  /** The client read too slowly and its send buffer is full. */
  tooSlow: 4408,
  tooMany: 4429,
} as const;

/** Frames from the page of a visitor. */
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
    message: z.string().describe('Human-readable message: what was wrong'),
  }),
);

/** Frames to the page of a visitor. */
export const visitorFrame = named(
  'VisitorFrame',
  z.discriminatedUnion('type', [
    named('VisitorMessageFrame', z.object({ type: z.literal('message').describe('A message was written'), message })),
    named(
      'VisitorDeltaFrame',
      z
        .object({
          type: z.literal('delta').describe('A part of an answer that the AI agent is writing'),
          id: z.string().describe('Id of the future message'),
          at: z
            .int()
            .describe('Length of the text before this part, in UTF-16 units. If the client has less, a frame was lost'),
          text: z.string().describe('Text of this part'),
          dropped: z.boolean().describe('Whether the answer was discarded; no message follows'),
        })
        .describe('A part of an answer in progress; the final message replaces it'),
    ),
    named(
      'VisitorTypingFrame',
      z.object({
        type: z.literal('typing').describe('An agent started or stopped typing'),
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

/** Frames from the inbox of an agent. */
export const agentRequestFrame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hello') }),
  z.object({ type: z.literal('view'), conversationId: id.nullable().describe('Null for no conversation') }),
  z.object({ type: z.literal('typing'), conversationId: id, typing: z.boolean() }),
  z.object({ type: z.literal('presence'), presence: z.enum(presences) }),
]);

/** Frames to the inbox of an agent, about all conversations of the workspace. */
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
        type: z.literal('typing').describe('A participant started or stopped typing'),
        conversationId: id.describe('Conversation of the participant'),
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
        type: z.literal('presence').describe('The presence of a member changed'),
        userId: id.describe('Member whose presence changed'),
        presence: z.enum([...presences, 'offline']).describe('`offline`: no live connection for 30 seconds'),
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
        .describe('The AI agent suggests a reply; get it from the list of suggestions'),
    ),
    named(
      'AgentViewersFrame',
      z.object({
        type: z.literal('viewers').describe('Members started or stopped viewing a conversation'),
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
                lastPosition: z.int().describe('`position` of the newest message or note'),
                status: z.string().describe('Status of the conversation'),
                updatedAt: timestamp,
              }),
            )
            .describe('Conversations that changed in the last 45 seconds'),
          complete: z.boolean().describe('False if more conversations changed than are listed: reload the lists'),
        })
        .describe('Sent every 15 seconds: the conversations that changed in the last 45 seconds'),
    ),
    errorFrame,
  ]),
);
export type AgentFrame = z.output<typeof agentFrame>;

/** Operations that become WebSockets, which OpenAPI cannot describe. */
export const chatSockets = defineResource({
  connectVisitor: {
    ...visitorOnly,
    method: 'GET',
    path: '/widget/v1/live',
    summary: 'Open the live connection of a visitor',
    description:
      'Sends nothing about earlier messages until the client sends `hello` with the `seq` of its last message; missed messages then follow. docs/reference/chat-sockets.md describes the protocol.',
    socket: { protocol: visitorProtocol, maxFrameBytes: maxChatFrameBytes },
    response: z.never(),
    errors: ['upgrade_required'],
  },
  connectAgent: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/live',
    summary: 'Open the live connection of an agent',
    description:
      'While it is open, you have the presence that you set; with `online`, conversations can be assigned to you. Missed events are not repeated: `hello` requests the conversations that changed in the last 45 seconds. docs/reference/chat-sockets.md describes the protocol.',
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
    summary: 'Stream a conversation as server-sent events',
    description:
      'Use it where WebSockets are blocked. Each event is a frame of the live protocol; the name of the event is its `type`. `Last-Event-ID`, or `after`, is the `seq` of the last message that the client has.',
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
    summary: 'Stream the inbox as server-sent events',
    description:
      'Use it where WebSockets are blocked. Each event is a frame of the live protocol; the name of the event is its `type`. Events have no ids and missed events are not repeated: reload the lists after reconnecting. `sync` lists the conversations that changed in the last 45 seconds.',
    params: inWorkspace,
    binaryResponse: 'text/event-stream',
    streamedEvent: agentFrame,
    response: z.any(),
    maxOpenSeconds: 600,
  },
});
