import type {
  bearerProtocolPrefix,
  chatCloseCodes,
  visitorProtocol,
  VisitorFrame,
} from '../../../shared/contract/chat/live.ts';
import { createEventStreamParser } from '../../../shared/web/event-stream-parser.ts';
import { sendRequest, urlOf } from './api.ts';
import { HubError } from './api.ts';

// Importing the contract would add its schema library to the page. The types keep these values equal to the contract's.
const protocol: typeof visitorProtocol = 'outrigger.chat.visitor.v1';
const bearerPrefix: typeof bearerProtocolPrefix = 'bearer.';
const revoked: (typeof chatCloseCodes)['revoked'] = 4401;

export type RequestFrame =
  | { type: 'hello'; after: number }
  | { type: 'typing'; typing: boolean }
  | { type: 'read'; seq: number };

export interface TransportEvents {
  onFrame: (frame: VisitorFrame) => void;
  /** Data arrived, possibly only a keep-alive. */
  onAlive: () => void;
  /** The transport ended. @param isRevoked whether the session is no longer valid. */
  onEnd: (isRevoked: boolean) => void;
}

/** A live connection. */
export interface Transport {
  /** Returns whether the frame was sent. If not, it must be sent by a plain request. */
  send: (frame: RequestFrame) => boolean;
  close: () => void;
}

function parse(text: string): VisitorFrame | null {
  try {
    return JSON.parse(text) as VisitorFrame;
  } catch {
    return null;
  }
}

export function openSocket(token: string, after: number, events: TransportEvents): Transport {
  const url = urlOf('live').replace(/^http/, 'ws');
  const socket = new WebSocket(url, [protocol, `${bearerPrefix}${token}`]);
  const sendFrame = (frame: RequestFrame) => {
    if (socket.readyState !== WebSocket.OPEN) return false;
    socket.send(JSON.stringify(frame));
    return true;
  };
  let isClosed = false;
  socket.addEventListener('open', () => {
    if (isClosed) {
      socket.close();
      return;
    }
    events.onAlive();
    sendFrame({ type: 'hello', after });
  });
  socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    events.onAlive();
    const frame = typeof data === 'string' ? parse(data) : null;
    if (frame !== null) events.onFrame(frame);
  });
  socket.addEventListener('close', ({ code }) => events.onEnd(code === revoked));
  const close = () => {
    isClosed = true;
    // Closing a connecting socket would log an error to the console of the host's page.
    if (socket.readyState !== WebSocket.CONNECTING) socket.close();
  };
  return { send: sendFrame, close };
}

export function openStream(token: string, after: number, events: TransportEvents): Transport {
  const aborter = new AbortController();
  let isRevoked = false;
  const parser = createEventStreamParser(({ event, data }) => {
    const frame = parse(data);
    // The hub sends `end` when the caller has lost access.
    if (event === 'end') isRevoked = true;
    else if (frame !== null) events.onFrame(frame);
  });
  const read = async () => {
    const response = await sendRequest(
      'events',
      { query: { after: String(after) }, token, signal: aborter.signal },
      { accept: 'text/event-stream', 'last-event-id': String(after) },
    );
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    events.onAlive();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      events.onAlive();
      parser(decoder.decode(value, { stream: true }));
    }
  };
  read()
    .catch((error: unknown) => {
      isRevoked ||= error instanceof HubError && error.status === 401;
    })
    .finally(() => {
      if (!aborter.signal.aborted) events.onEnd(isRevoked);
    });
  return { send: () => false, close: () => aborter.abort() };
}
