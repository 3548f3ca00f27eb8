import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { MemoryBudget, MemoryReservation } from '../../process/memory-budget.ts';
import { senderOf } from '../auth/principal.ts';
import type { Principal } from '../auth/principal.ts';

/** What `ws` keeps of a message that is not whole yet. It has no public name for it; a test fails when the names change. */
interface Receiver {
  /** Bytes of the frame that is being received. */
  _bufferedBytes: number;
  /** The pieces in which they arrived. */
  _buffers: readonly Buffer[];
  /** Bytes of the frames before it, and these frames. */
  _messageLength: number;
  _fragments: readonly Buffer[];
}

interface PartialMessage {
  socket: WebSocket;
  owner: string;
  /** Null while the message is too small to be counted. */
  reservation: MemoryReservation | null;
  /** When the first bytes of the message arrived, by the clock of `performance`; null without one. */
  since: number | null;
}

/** The close code of RFC 6455's registry for a server without capacity: the client may come back. */
const tryAgainLater = 1013;
/** What a piece uses besides its bytes. */
const overheadBytes = 512;
/** How long a message may take, in milliseconds: as long as the body of a request. */
const maxMessageMs = 120_000;

/**
 * Bounds the memory of messages that WebSockets have received in part. `ws` delivers a message when it is whole; until then its bytes count
 * for their sender, and a socket for which no memory is left is closed.
 */
export class PartialMessages {
  readonly #memory: MemoryBudget;
  readonly #of = new WeakMap<WebSocket | Socket, PartialMessage>();
  /** Listeners are shared by all sockets, so that an open socket costs little. */
  readonly #onData: (this: Socket) => void;
  readonly #onClose: (this: WebSocket) => void;

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
    const of = this.#of;
    const count = (partial: PartialMessage | undefined) => partial !== undefined && this.#count(partial);
    this.#onData = function onData(this: Socket) {
      count(of.get(this));
    };
    this.#onClose = function onClose(this: WebSocket) {
      of.get(this)?.reservation?.[Symbol.dispose]();
    };
  }

  watch(socket: WebSocket, connection: Socket, principal: Principal): void {
    const partial: PartialMessage = { socket, owner: senderOf(principal), reservation: null, since: null };
    this.#of.set(socket, partial);
    this.#of.set(connection, partial);
    // After `ws` has taken the bytes: its own listener was there before.
    connection.on('data', this.#onData);
    socket.on('close', this.#onClose);
  }

  /** Whether a message takes longer than a client needs for it. */
  isOverdue(socket: WebSocket): boolean {
    const since = this.#of.get(socket)?.since ?? null;
    return since !== null && performance.now() - since > maxMessageMs;
  }

  #count(partial: PartialMessage): void {
    const { _bufferedBytes, _buffers, _messageLength, _fragments } = (
      partial.socket as unknown as { _receiver: Receiver }
    )._receiver;
    const pieces = _buffers.length + _fragments.length;
    partial.since = pieces === 0 ? null : (partial.since ?? performance.now());
    const bytes = _bufferedBytes + _messageLength + pieces * overheadBytes;
    if (bytes <= this.#memory.freeBytes) {
      partial.reservation?.[Symbol.dispose]();
      partial.reservation = null;
      return;
    }
    if (partial.socket.readyState === partial.socket.CLOSED) return;
    partial.reservation ??= this.#memory.open(partial.owner);
    if (partial.reservation.tryResize(bytes)) return;
    // A closing handshake would keep the received bytes until the other side answers.
    partial.socket.close(tryAgainLater, 'too many large messages are being received');
    partial.socket.terminate();
  }
}
