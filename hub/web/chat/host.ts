import { frameMark } from '../loader/frame-protocol.ts';
import type { FrameBoot, FrameReady, MessageFromFrame, MessageToFrame } from '../loader/frame-protocol.ts';
import type { Store } from './state.ts';

/** Tells how many messages are unread, each time when that changed. */
export function postUnreadCounts(store: Store, post: (message: MessageFromFrame) => void): void {
  let postedCount = 0;
  store.subscribe(() => {
    const { unread, language } = store.state;
    if (unread !== postedCount) post({ type: 'unread', count: unread, words: language.unread(unread) });
    postedCount = unread;
  });
}

/** The loader in the page around this frame. */
export interface Host {
  boot: FrameBoot;
  post: (message: MessageFromFrame) => void;
  /** What is told before somebody listens waits. */
  listen: (listener: (message: MessageToFrame) => void) => void;
}

/** Finds the loader: the parent window, of an origin that may embed this chat, which hands over a port when it is told that the frame is here. */
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
    // Says nothing but that it is here, so that it may go to whoever embeds it.
    window.parent.postMessage({ mark: frameMark, type: 'here' } satisfies FrameReady, '*');
  });
}
