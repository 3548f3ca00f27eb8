import type { StoredSession } from './tab-storage.ts';

// A channel has one origin; it is windows that need one.
/* oxlint-disable unicorn/require-post-message-target-origin */

/** How long the other pages of a visit have to answer, in milliseconds. */
const answerTimeoutMs = 300;

type Message = 'wanted' | StoredSession | null;

/** The session of an anonymous visitor, shared by the pages of one visit in all tabs. */
export interface SharedSession {
  /** Asks the other pages; null where none has one. */
  find: () => Promise<StoredSession | null>;
  /** Answers the other pages from now on. */
  offer: (session: () => StoredSession | null) => void;
}

/** @param mayExist whether another page may have a session: else none is asked. */
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
        // A session to which a token of the host led stays in its page.
        if (own !== null && !own.isKnown) channel.postMessage(own satisfies Message);
      });
    },
  };
}
