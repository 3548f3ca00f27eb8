import type { ChatEventOrigin } from '../../../../shared/contract/chat/chat-events.ts';

/** The caller that acts in a chat, and the environment it may act in. */
export interface ChatActor {
  /** `token:<id>`, `user:<id>`, `visitor:<id>`, `ai` or `system`. */
  actor: string;
  /** Conversations of the other environment do not exist for this caller. Null: the caller acts in both. */
  environment: 'live' | 'test' | null;
  /** Left out where the sender and the actor already determine the origin of the event. */
  origin?: ChatEventOrigin;
}

/** Whether a caller of `environment` may see and change a conversation or visitor. */
export const isReachable = (row: { environment: 'live' | 'test' }, environment: ChatActor['environment']): boolean =>
  environment === null || row.environment === environment;
