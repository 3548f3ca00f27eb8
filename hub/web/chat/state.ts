import type { ChatPageSettings, VisitorConversation } from '../../../shared/contract/chat/visitor-page.ts';
import { Store as StateStore } from '../../../shared/web/store.ts';
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

export class Store extends StateStore<ChatState> {}
