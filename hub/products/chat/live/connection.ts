import { chatCloseCodes, maxChatBufferBytes } from '../../../../shared/contract/chat/live.ts';
import type { AgentFrame, VisitorFrame } from '../../../../shared/contract/chat/live.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { SerializedEventStream } from '../../../platform/http/live/event-stream.ts';
import type { WebSocket } from '../../../platform/http/live/sockets.ts';

/** A serialized frame. It is serialized once for all its recipients. */
export interface OutgoingFrame {
  type: string;
  bytes: Buffer;
  /** The event id that a client sends as `Last-Event-ID` when it reconnects. */
  id: string | undefined;
}

export const outgoing = (frame: VisitorFrame | AgentFrame, id?: number): OutgoingFrame => ({
  type: frame.type,
  bytes: Buffer.from(JSON.stringify(frame)),
  id: id === undefined ? undefined : String(id),
});

/** The error frame for a client frame that failed. */
export function failureOf(error: unknown): OutgoingFrame {
  if (error instanceof AppError) return outgoing({ type: 'error', code: error.code, message: error.message });
  return outgoing({ type: 'error', code: 'internal', message: 'The request failed. Try again.' });
}

/** The connection to one page. It closes when the page reads too slowly. */
export interface Connection {
  readonly isOpen: boolean;
  /** Bytes that are sent but not yet written to the network. */
  readonly waitingBytes: number;
  /** Does nothing on a closed connection. Closes the connection when `waitingBytes` exceeds the limit. */
  send(frame: OutgoingFrame): void;
  close(code: number, reason: string): void;
}

const noMasking = { binary: false };

export class SocketConnection implements Connection {
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  get waitingBytes(): number {
    return this.#socket.bufferedAmount;
  }

  send({ bytes }: OutgoingFrame): void {
    if (!this.isOpen) return;
    this.#socket.send(bytes, noMasking);
    if (this.waitingBytes > maxChatBufferBytes) this.close(chatCloseCodes.tooSlow, 'the client reads too slowly');
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }
}

export class StreamConnection implements Connection {
  readonly #stream: SerializedEventStream;
  readonly #waitingBytes: () => number;
  readonly #ended = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(stream: SerializedEventStream, waitingBytes: () => number) {
    this.#stream = stream;
    this.#waitingBytes = waitingBytes;
    stream.signal.addEventListener('abort', () => this.#ended.resolve(), { once: true });
    if (stream.signal.aborted) this.#ended.resolve();
  }

  get isOpen(): boolean {
    return !this.#isClosed && !this.#stream.signal.aborted;
  }

  get waitingBytes(): number {
    return this.#waitingBytes();
  }

  /** Resolves when either side ends the stream. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  send({ type, bytes, id }: OutgoingFrame): void {
    if (!this.isOpen) return;
    this.#stream.sendText(type, bytes.toString(), id).catch(() => this.close());
    if (this.waitingBytes > maxChatBufferBytes) this.close();
  }

  close(): void {
    this.#isClosed = true;
    this.#ended.resolve();
  }
}

/** Window of the frame limits. */
export const frameWindowMs = 10_000;

/** Counts frames in fixed windows of 10 s, with constant memory. */
export class FrameCount {
  readonly #maxFrames: number;
  #from = 0;
  #count = 0;

  constructor(maxFrames: number) {
    this.#maxFrames = maxFrames;
  }

  /** Counts one frame. Returns whether the frame is within the limit. */
  add(): boolean {
    const now = performance.now();
    if (now - this.#from > frameWindowMs) {
      this.#from = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.#maxFrames;
  }
}
