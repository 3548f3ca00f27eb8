import type { Presence } from '../../../../shared/contract/chat/agent-shapes.ts';
import type { Publisher } from '../../../platform/events/events.ts';
import { publishAccessChange } from '../../../platform/http/auth/principal.ts';

/**
 * A change of a conversation. Delivery is not guaranteed: subscribers must be able to read the state from the database.
 */
export type ChatChange =
  | { kind: 'message'; position: number; seq: number | null }
  | { kind: 'conversation' }
  | { kind: 'read'; who: 'visitor' | 'agent'; seq: number }
  /**
   * Lasts until the next typing change, or expires after some seconds. `name` is the agent's display name for visitors.
   */
  | { kind: 'typing'; who: 'visitor' | 'agent' | 'ai'; userId: string | null; name: string | null; typing: boolean }
  /** The conversation was erased. */
  | { kind: 'removed' }
  /** Sessions of the visitor ended. */
  | { kind: 'access' }
  /** An agent starts or stops viewing the conversation. A view expires after 20 s. */
  | { kind: 'viewing'; userId: string; viewing: boolean }
  /**
   * Part of a reply that the AI agent writes. `id` is the id of the later message, `at` the offset of `text`; `dropped`
   * if no message follows.
   */
  | { kind: 'delta'; id: string; at: number; text: string; dropped: boolean }
  /** The AI agent suggests a reply to the agents. */
  | { kind: 'suggestion'; id: string };

/**
 * Topic prefix of the chat changes of a workspace. A topic family lets a process subscribe to all workspaces together.
 */
export const chatTopicFamily = 'chat:';

/**
 * Publishes a change to all processes.
 * @param to the transaction that writes the change, which publishes it after its commit. The events for a change that is
 * not stored.
 */
export function publishChatChange(to: Publisher, tenantId: string, conversationId: string, change: ChatChange): void {
  to.publish(`${chatTopicFamily}${tenantId}`, { conversationId, ...change });
  // The access notification closes open connections whose session ended.
  if (change.kind === 'access' || change.kind === 'removed') publishAccessChange(to, tenantId);
}

/** Publishes the presence of an agent. @param to as for `publishChatChange`. */
export function publishPresence(to: Publisher, tenantId: string, userId: string, presence: Presence | 'offline'): void {
  to.publish(`${chatTopicFamily}${tenantId}`, { kind: 'presence', userId, presence });
}
