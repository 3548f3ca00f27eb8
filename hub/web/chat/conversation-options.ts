import type { ChatMessage } from '../../../shared/contract/chat/shapes.ts';
import type { VisitorConversation } from '../../../shared/contract/chat/visitor-page.ts';
import type { HubError } from './api.ts';
import type { Outgoing } from './outbox.ts';
import type { Session } from './session.ts';
import type { Store } from './state.ts';
import type { TabStorage } from './tab-storage.ts';

/** Dependencies of a conversation. */
export interface ConversationOptions {
  session: Session;
  store: Store;
  storage: TabStorage;
  conversation: VisitorConversation;
  /** Whether the chat is visible to the visitor. */
  isVisible: () => boolean;
  /** A message of another sender arrived after the chat was opened. */
  onIncoming: (message: ChatMessage) => void;
  /** The conversation was closed before this text and these files were sent. */
  onReturned: (text: string, attachments: Outgoing['attachments']) => void;
  /** The conversation is closed, and the visitor has another open conversation. */
  onContinued: () => void;
  onRefused: (error: HubError) => void;
}
