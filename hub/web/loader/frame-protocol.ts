import type { ChatMessage } from '../../../shared/contract/chat/shapes.ts';

/**
 * What the loader in a host's page and the chat in its frame say to each other. The frame says `here` to its parent; the loader, once it has checked that it
 * was this frame at the hub's origin, answers `boot` to that origin with a port, and all the rest goes through the port, which nobody else holds.
 */

/** Marks the two messages that go from window to window, among those of others. */
export const frameMark = 'outrigger.chat.1';

export interface FrameReady {
  mark: typeof frameMark;
  type: 'here';
}

export interface FrameBoot {
  mark: typeof frameMark;
  type: 'boot';
  /** Of the visitor, from the host's server; null for somebody it does not know. */
  token: string | null;
  /** What the frame keeps belongs to this visit: another one finds nothing of it. */
  visit: string;
  /** Whether another page of this visit may hold an anonymous session that this frame can share. */
  mayShare: boolean;
  /** What the frame had the loader keep, in a browser that gives the frame no storage. */
  kept: string | null;
}

/** From the loader to the frame. */
export type MessageToFrame =
  | { type: 'shown'; isShown: boolean; takeFocus?: boolean }
  | { type: 'send'; content: string }
  | { type: 'token'; token: string }
  | { type: 'wipe' };

/** From the frame to the loader. */
export type MessageFromFrame =
  | { type: 'look'; colour: string; ink: string; title: string }
  /** How many messages are unread, as a number and in words of the language of the chat. */
  | { type: 'unread'; count: number; words: string }
  | { type: 'message'; message: ChatMessage }
  | { type: 'close' }
  /** Until when the visitor has a session, in milliseconds since 1970 (0: none), and whether a token of the host led to it. */
  | { type: 'session'; until: number; isKnown: boolean }
  /** What to keep for the frame in the tab's storage; null for nothing. */
  | { type: 'keep'; kept: string | null }
  | { type: 'error'; code: string; message: string }
  | { type: 'token-expired' }
  | { type: 'wiped' };
