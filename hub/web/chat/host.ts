import { frameMark } from '../loader/frame-protocol.ts';
import type { FrameBoot, FrameReady, MessageFromFrame, MessageToFrame } from '../loader/frame-protocol.ts';
import type { Store } from './state.ts';

/** Posts the number of unread messages to the host after each change. */
export function postUnreadCounts(store: Store, post: (message: MessageFromFrame) => void): void {
  let postedCount = 0;
  store.subscribe(() => {
    const { unread, language } = store.state;
    if (unread !== postedCount) post({ type: 'unread', count: unread, words: language.unread(unread) });
    postedCount = unread;
  });
}

/** The loader in the host's page. */
export interface Host {
  boot: FrameBoot;
  post: (message: MessageFromFrame) => void;
  /** Messages that arrive before this call are queued by the port. */
  listen: (listener: (message: MessageToFrame) => void) => void;
}

/**
 * Announces the frame to the parent window and waits for the loader's `boot` message with its port. The message must
 * come from an origin that may embed this chat.
 */
export function findHost(allowedOrigins: readonly string[]): Promise<Host> {
  return new Promise((resolve) => {
    const onMessage = ({ source, origin, data, ports }: MessageEvent<FrameBoot | null>) => {
      const [port] = ports;
      if (source !== window.parent || !allowedOrigins.includes(origin) || port === undefined) return;
      if (data?.mark !== frameMark || data.type !== 'boot') return;
      removeEventListener('message', onMessage);
      resolve({
        boot: data,
        post: (message) => port.postMessage(message),
        listen(listener) {
          port.addEventListener('message', (event: MessageEvent<MessageToFrame>) => listener(event.data));
          port.start();
        },
      });
    };
    addEventListener('message', onMessage);
    // The target origin is unknown at this point, so the message contains nothing confidential.
    window.parent.postMessage({ mark: frameMark, type: 'here' } satisfies FrameReady, '*');
  });
}
