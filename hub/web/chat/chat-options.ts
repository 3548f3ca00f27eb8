import type { MessageFromFrame } from '../loader/frame-protocol.ts';
import type { PageAddress } from './address.ts';
import type { SharedSession } from './shared-session.ts';
import type { Store } from './state.ts';
import type { TabStorage } from './tab-storage.ts';

/** The first message and the contact details of an anonymous visitor. */
export interface AnonymousStart {
  name?: string;
  email?: string;
  content: string;
}

/** Dependencies of a chat. */
export interface ChatOptions {
  address: PageAddress;
  store: Store;
  storage: TabStorage;
  /** The token from the link or from the host; null for none. */
  token: string | null;
  postToHost: (message: MessageFromFrame) => void;
  /** Null when the chat is not embedded. */
  sharedSession: SharedSession | null;
}
