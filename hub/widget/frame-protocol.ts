import type { ChatMessage } from '../../shared/contract/chat/shapes.ts';

/**
 * What the loader in a host's page and the chat in its frame say to each other. The frame says `here` to its parent; the loader, once it has checked that it
 * was this frame at the hub's origin, answers `boot` to that origin with a port, and all the rest goes through the port, which nobody else holds.
 */

/** Marks the two messages that go from window to window, among those of others. */
export const frameMark = 'outrigger.chat.1';

export interface FrameHere {
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
}

/** From the loader to the frame. */
export type ToFrame =
  | { type: 'shown'; isShown: boolean }
  | { type: 'send'; content: string }
  | { type: 'token'; token: string }
  | { type: 'wipe' };

/** From the frame to the loader. */
export type FromFrame =
  | { type: 'look'; colour: string; ink: string; title: string }
  | { type: 'unread'; count: number }
  | { type: 'message'; message: ChatMessage }
  | { type: 'close' }
  | { type: 'error'; code: string; message: string }
  | { type: 'token-expired' }
  | { type: 'wiped' };
