import type { FromFrame } from '../frame-protocol.ts';
import type { PageAddress } from './address.ts';
import type { Kept } from './kept.ts';
import type { Store } from './state.ts';

/** The session that a tab keeps over a reload, and whether a token of somebody's led to it. */
export interface KeptSession {
  token: string;
  isKnown: boolean;
}

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
  tellHost: (message: FromFrame) => void;
}
