import type { ChatMessage } from '../../../shared/contract/chat/shapes.ts';

/**
 * The messages between the loader in the host's page and the chat in the loader's frame.
 * The frame posts `here` to its parent window. The loader checks that the message comes from its own frame at the hub's
 * origin and answers `boot` to that origin with a message port. All further messages use the port, which no other
 * window can access.
 */

/** Marks the two window messages of this protocol among the messages of other scripts. */
export const frameMark = 'outrigger.chat.1';

export interface FrameReady {
  mark: typeof frameMark;
  type: 'here';
}

export interface FrameBoot {
  mark: typeof frameMark;
  type: 'boot';
  /** The visitor's token from the host's server. Null for an anonymous visitor. */
  token: string | null;
  /** The visit to which the frame's stored values belong. Another visit cannot read these values. */
  visit: string;
  /** Whether another page of this visit may have an anonymous session that this frame can share. */
  mayShare: boolean;
  /** Values that the loader stores for the frame when the browser blocks the frame's storage. */
  kept: string | null;
}

/** Messages from the loader to the frame. */
export type MessageToFrame =
  | { type: 'shown'; isShown: boolean; takeFocus?: boolean }
  | { type: 'send'; content: string }
  | { type: 'token'; token: string }
  | { type: 'wipe' };

/** Messages from the frame to the loader. */
export type MessageFromFrame =
  | { type: 'look'; colour: string; ink: string; title: string }
  /** The number of unread messages, also as text in the language of the chat. */
  | { type: 'unread'; count: number; words: string }
  | { type: 'message'; message: ChatMessage }
  | { type: 'close' }
  /**
   * The time until which a session may exist, in milliseconds since 1970; 0 for no session. `isKnown`: whether a token
   * of the host started the session.
   */
  | { type: 'session'; until: number; isKnown: boolean }
  /** Values to store for the frame in the tab's session storage; null removes them. */
  | { type: 'keep'; kept: string | null }
  | { type: 'error'; code: string; message: string }
  | { type: 'token-expired' }
  | { type: 'wiped' };
