import type { MessageFromFrame } from '../loader/frame-protocol.ts';
import type { PageAddress } from './address.ts';
import type { Kept } from './kept.ts';
import type { SharedSession } from './shared-session.ts';
import type { Store } from './state.ts';

/** What somebody says who begins as nobody. */
export interface Introduction {
  name?: string;
  email?: string;
  content: string;
}

/** What a chat is given, and whom it tells. */
export interface ChatOptions {
  address: PageAddress;
  store: Store;
  kept: Kept;
  /** Of the link, or of the host; null for none. */
  token: string | null;
  tellHost: (message: MessageFromFrame) => void;
  /** Null in a tab of its own. */
  shared: SharedSession | null;
}
