import type { ChatPageSettings, VisitorConversation } from '../../../shared/contract/chat/visitor-page.ts';
import { Store as StateStore } from '../../../shared/web/store.ts';
import type { Language } from './language.ts';
import type { Chunk } from './messages.ts';
import type { Outgoing } from './outbox.ts';
import type { Upload } from './uploads.ts';

/** Why the chat is unavailable. Each value has a title and a text in the words of the page. */
export type Problem = 'invalid' | 'expired' | 'over' | 'blocked' | 'needed' | 'unavailable' | 'unreachable';

/** The state that the page shows. */
export interface ChatState {
  phase: 'loading' | 'start' | 'chat' | 'problem';
  problem: Problem;
  language: Language;
  /** The title of the chat. The title of the page may also contain the number of unread messages. */
  title: string;
  settings: ChatPageSettings | null;
  conversation: VisitorConversation | null;
  /** Whether the newest messages are loaded. */
  isLoaded: boolean;
  chunks: readonly Chunk[];
  hasOlder: boolean;
  outgoing: readonly Outgoing[];
  isConnected: boolean;
  /** Name of the person who is typing; empty for an unknown name, null for none. */
  typing: string | null;
  /** The text so far of an AI answer in progress. */
  partial: string;
  unread: number;
  draft: string;
  uploads: readonly Upload[];
  isEmbedded: boolean;
}

export class Store extends StateStore<ChatState> {}
