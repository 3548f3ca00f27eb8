import type { ChatMessage } from '../../../shared/contract/chat/shapes.ts';
import type { VisitorConversation } from '../../../shared/contract/chat/visitor-page.ts';
import type { HubError } from './api.ts';
import type { Outgoing } from './outbox.ts';
import type { Session } from './session.ts';
import type { Store } from './state.ts';
import type { TabStorage } from './tab-storage.ts';

/** What a conversation is given, and whom it tells. */
export interface ConversationOptions {
  session: Session;
  store: Store;
  storage: TabStorage;
  conversation: VisitorConversation;
  /** Whether the visitor looks at the chat now. */
  isVisible: () => boolean;
  /** Somebody else wrote, after the chat was opened. */
  onIncoming: (message: ChatMessage) => void;
  /** The conversation was closed before these were sent. */
  onReturned: (text: string, attachments: Outgoing['attachments']) => void;
  /** The conversation is closed and the visitor has another one that is not. */
  onContinued: () => void;
  onRefused: (error: HubError) => void;
}
