import type { Presence } from '../../../../shared/contract/chat/agent-shapes.ts';
import type { Events } from '../../../platform/events/events.ts';
import { tellAccess } from '../../../platform/http/auth/principal.ts';

/** What changed of a conversation. Those who follow it look for themselves what that is: an event may be lost, and nothing that must not be. */
export type ChatChange =
  | { kind: 'message'; position: number; seq: number | null }
  | { kind: 'conversation' }
  | { kind: 'read'; who: 'visitor' | 'agent'; seq: number }
  /** It lasts until it is told otherwise, at most for some seconds; `name` is what a visitor sees of an agent. */
  | { kind: 'typing'; who: 'visitor' | 'agent' | 'ai'; userId: string | null; name: string | null; typing: boolean }
  /** It is erased. */
  | { kind: 'removed' }
  /** Sessions of its visitor ended. */
  | { kind: 'access' }
  /** An agent looks at it, for the next 20 seconds, or no longer. */
  | { kind: 'viewing'; userId: string; viewing: boolean }
  /** Of an answer that is being written: `id` is that which its message will have, `at` how much came before; `dropped` where there will be none. */
  | { kind: 'delta'; id: string; at: number; text: string; dropped: boolean }
  /** The AI agent suggests a reply, to agents alone. */
  | { kind: 'suggestion'; id: string };

/** Tells all processes what changed; call it after the commit. */
export interface ChatChanges {
  tell(tenantId: string, conversationId: string, change: ChatChange): void;
  /** That an agent of a workspace is there, or not any more. */
  tellPresence(tenantId: string, userId: string, presence: Presence | 'offline'): void;
}

/** Topic of all that changes in the chats of a workspace; a family, so that a process follows all with one entry. */
export const chatTopicFamily = 'chat:';

export const createChatChanges = (events: Events): ChatChanges => ({
  tell(tenantId, conversationId, change) {
    void events.publish(`${chatTopicFamily}${tenantId}`, { conversationId, ...change });
    // Whoever holds a connection open is watched by that.
    if (change.kind === 'access' || change.kind === 'removed') tellAccess(events, tenantId);
  },
  tellPresence(tenantId, userId, presence) {
    void events.publish(`${chatTopicFamily}${tenantId}`, { kind: 'presence', userId, presence });
  },
});
