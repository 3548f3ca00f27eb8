import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { MemoryBudget, MemoryReservation } from '../../process/memory-budget.ts';
import { memoryOwnerOf } from '../auth/principal.ts';
import type { Principal } from '../auth/principal.ts';

/** Private fields of `ws` for an incomplete message. A test fails when `ws` renames them. */
interface Receiver {
  /** Bytes of the frame that is being received. */
  _bufferedBytes: number;
  /** The chunks of the frame. */
  _buffers: readonly Buffer[];
  /** Bytes of the earlier frames of the message, and these frames. */
  _messageLength: number;
  _fragments: readonly Buffer[];
}

interface PartialMessage {
  socket: WebSocket;
  owner: string;
  /** Null while the message is too small to be counted. */
  reservation: MemoryReservation | null;
  /**
   * Arrival time of the first bytes of the message, by the clock of `performance`; null without an incomplete message.
   */
  since: number | null;
}

/** Close code "Try Again Later" of the registry of RFC 6455. */
const tryAgainLater = 1013;
/** Memory that a chunk uses besides its bytes. */
const overheadBytes = 512;
/** Time limit for receiving a message, as for a request body. */
const maxMessageMs = 120_000;

/**
 * Limits the memory of incomplete WebSocket messages. `ws` delivers complete messages only; until then, the received
 * bytes count for their sender. When no memory is left, the socket is closed.
 */
export class PartialMessages {
  readonly #memory: MemoryBudget;
  readonly #of = new WeakMap<WebSocket | Socket, PartialMessage>();
  /** All sockets share these listeners, so that an open socket uses little memory. */
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
    const partial: PartialMessage = { socket, owner: memoryOwnerOf(principal), reservation: null, since: null };
    this.#of.set(socket, partial);
    this.#of.set(connection, partial);
    // `ws` added its listener earlier, so it has processed the bytes before this listener runs.
    connection.on('data', this.#onData);
    socket.on('close', this.#onClose);
  }

  /** Whether the time limit of an incomplete message has passed. */
  isOverdue(socket: WebSocket): boolean {
    const since = this.#of.get(socket)?.since ?? null;
    return since !== null && performance.now() - since > maxMessageMs;
  }

  #count(partial: PartialMessage): void {
    const { _bufferedBytes, _buffers, _messageLength, _fragments } = (
      partial.socket as unknown as { _receiver: Receiver }
    )._receiver;
    const chunks = _buffers.length + _fragments.length;
    partial.since = chunks === 0 ? null : (partial.since ?? performance.now());
    const bytes = _bufferedBytes + _messageLength + chunks * overheadBytes;
    if (bytes <= this.#memory.freeBytes) {
      partial.reservation?.[Symbol.dispose]();
      partial.reservation = null;
      return;
    }
    if (partial.socket.readyState === partial.socket.CLOSED) return;
    partial.reservation ??= this.#memory.open(partial.owner);
    if (partial.reservation.tryResize(bytes)) return;
    // A closing handshake would keep the received bytes until the client responds.
    partial.socket.close(tryAgainLater, 'too many large messages are being received');
    partial.socket.terminate();
  }
}
