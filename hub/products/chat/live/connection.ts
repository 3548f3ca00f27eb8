import { chatCloseCodes, maxChatBufferBytes } from '../../../../shared/contract/chat/live.ts';
import type { AgentFrame, VisitorFrame } from '../../../../shared/contract/chat/live.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { TextEventStream } from '../../../platform/http/live/event-stream.ts';
import type { WebSocket } from '../../../platform/http/live/sockets.ts';

/** A frame as it goes out: written once for all who hear it. */
export interface OutgoingFrame {
  type: string;
  bytes: Buffer;
  /** With which a stream that breaks comes back. */
  id: string | undefined;
}

export const outgoing = (frame: VisitorFrame | AgentFrame, id?: number): OutgoingFrame => ({
  type: frame.type,
  bytes: Buffer.from(JSON.stringify(frame)),
  id: id === undefined ? undefined : String(id),
});

/** What a page is told of a frame of its own that could not be carried out. */
export function failureOf(error: unknown): OutgoingFrame {
  if (error instanceof AppError) return outgoing({ type: 'error', code: error.code, message: error.message });
  return outgoing({ type: 'error', code: 'internal', message: 'This could not be done; try again.' });
}

/** What reaches one page of a person, and ends when that takes too little. */
export interface Connection {
  readonly isOpen: boolean;
  /** What waits to be taken, in bytes. */
  readonly waitingBytes: number;
  /** Sends nothing once it is closed; closes when too much waits. */
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
    if (this.waitingBytes > maxChatBufferBytes) this.close(chatCloseCodes.tooSlow, 'more than was taken');
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }
}

export class StreamConnection implements Connection {
  readonly #stream: TextEventStream;
  readonly #waitingBytes: () => number;
  readonly #ended = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(stream: TextEventStream, waitingBytes: () => number) {
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

  /** Resolves when it is over, whoever ends it. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  send({ type, bytes, id }: OutgoingFrame): void {
    if (!this.isOpen) return;
    void this.#stream.sendText(type, bytes.toString(), id);
    if (this.waitingBytes > maxChatBufferBytes) this.close();
  }

  close(): void {
    this.#isClosed = true;
    this.#ended.resolve();
  }
}

/** In which frames are counted, in milliseconds. */
export const frameWindowMs = 10_000;

/** Counts what is sent in 10 seconds, with little kept of it. */
export class FrameCount {
  readonly #framesAtMost: number;
  #from = 0;
  #count = 0;

  constructor(framesAtMost: number) {
    this.#framesAtMost = framesAtMost;
  }

  /** Whether one more is within the limit. */
  take(): boolean {
    const now = performance.now();
    if (now - this.#from > frameWindowMs) {
      this.#from = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.#framesAtMost;
  }
}
