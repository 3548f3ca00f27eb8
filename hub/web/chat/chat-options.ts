import type { MessageFromFrame } from '../loader/frame-protocol.ts';
import type { PageAddress } from './address.ts';
import type { SharedSession } from './shared-session.ts';
import type { Store } from './state.ts';
import type { TabStorage } from './tab-storage.ts';

/** What somebody says who begins as nobody. */
export interface AnonymousStart {
  name?: string;
  email?: string;
  content: string;
}

/** What a chat is given, and whom it tells. */
export interface ChatOptions {
  address: PageAddress;
  store: Store;
  storage: TabStorage;
  /** Of the link, or of the host; null for none. */
  token: string | null;
  postToHost: (message: MessageFromFrame) => void;
  /** Null in a tab of its own. */
  sharedSession: SharedSession | null;
}
