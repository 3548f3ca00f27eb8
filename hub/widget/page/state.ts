import type { ChatPageSettings, VisitorConversation } from '../../../shared/contract/chat/visitor-page.ts';
import type { Language } from './language.ts';
import type { Chunk } from './messages.ts';
import type { Outgoing } from './outbox.ts';
import type { Upload } from './uploads.ts';

/** Why there is no chat, as the page says it. */
export type Problem = 'invalid' | 'expired' | 'over' | 'blocked' | 'needed' | 'unavailable' | 'unreachable';

/** All that the page shows. */
export interface ChatState {
  phase: 'loading' | 'start' | 'chat' | 'problem';
  problem: Problem;
  language: Language;
  /** Of the chat; the page's own may count what is unread, too. */
  title: string;
  settings: ChatPageSettings | null;
  conversation: VisitorConversation | null;
  /** Whether the newest messages were read. */
  isLoaded: boolean;
  chunks: readonly Chunk[];
  hasOlder: boolean;
  outgoing: readonly Outgoing[];
  isConnected: boolean;
  /** Who writes; empty for somebody without a name, null for nobody. */
  typing: string | null;
  /** An answer that is being written, as far as it is. */
  partial: string;
  unread: number;
  draft: string;
  uploads: readonly Upload[];
  isEmbedded: boolean;
}

/** Holds the state, and tells when it changed: once for all changes of a moment. */
export class Store {
  #state: ChatState;
  #isTold = true;
  readonly #listeners = new Set<() => void>();

  constructor(state: ChatState) {
    this.#state = state;
  }

  get state(): ChatState {
    return this.#state;
  }

  set(change: Partial<ChatState>): void {
    this.#state = { ...this.#state, ...change };
    if (!this.#isTold) return;
    this.#isTold = false;
    queueMicrotask(() => {
      this.#isTold = true;
      for (const listener of this.#listeners) listener();
    });
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
