import type { StoredSession } from './tab-storage.ts';

// A channel has one origin; only window messages need a target origin.
/* oxlint-disable unicorn/require-post-message-target-origin */

/** Time that the other pages of a visit have to answer. */
const answerTimeoutMs = 300;

type Message = 'wanted' | StoredSession | null;

/** Shares the session of an anonymous visitor between the pages of one visit in all tabs. */
export interface SharedSession {
  /** Requests the session from the other pages; null if none has one. */
  find: () => Promise<StoredSession | null>;
  /** Answers the requests of other pages from now on. */
  offer: (session: () => StoredSession | null) => void;
}

/** @param mayExist whether another page may have a session; if false, no request is sent. */
export function openSharedSession(visit: string, mayExist: boolean): SharedSession | null {
  if (typeof BroadcastChannel === 'undefined') return null;
  const channel = new BroadcastChannel(`outrigger.chat.${visit}`);
  const listen = (onMessage: (message: Message) => void) =>
    channel.addEventListener('message', ({ data }: MessageEvent<Message>) => onMessage(data));
  return {
    async find() {
      if (!mayExist) return null;
      return new Promise((resolve) => {
        setTimeout(() => resolve(null), answerTimeoutMs);
        listen((message) => message !== 'wanted' && resolve(message));
        channel.postMessage('wanted' satisfies Message);
      });
    },
    offer(session) {
      listen((message) => {
        const own = message === 'wanted' ? session() : null;
        // A session identified by a token of the host stays in its page.
        if (own !== null && !own.isKnown) channel.postMessage(own satisfies Message);
      });
    },
  };
}
