import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { MemoryBudget, MemoryReservation } from '../memory-budget.ts';
import type { Principal } from './principal.ts';

interface PartialMessage {
  socket: WebSocket;
  owner: string;
  /** Bytes that were received since the last whole message. */
  bytes: number;
  /** Null while the bytes are too few to be counted. */
  reservation: MemoryReservation | null;
  /** When the first bytes were counted, by the clock of `performance`. */
  since: number;
}

/** Whose memory messages use. Visitors count together: anyone who knows a site can become its visitor, and must not take its workspace's memory. */
const ownerOf = (principal: Principal): string =>
  principal.kind === 'visitor' || !('tenantId' in principal) ? 'visitors' : principal.tenantId;

/** The header and mask of a ping or pong that a client sends, in bytes. */
const controlFrameBytes = 6;
/** The close code of RFC 6455's registry for a server without capacity: the client may come back. */
const tryAgainLater = 1013;
const secondsOfMessage = 60;

/**
 * Bounds the memory of messages that WebSockets have received in part. `ws` delivers a message when it is whole; until then its bytes count
 * for their owner, and a socket for which no memory is left is closed. Listeners are shared by all sockets, so that an open socket costs little.
 */
export class PartialMessages {
  readonly #memory: MemoryBudget;
  readonly #of = new WeakMap<WebSocket | Socket, PartialMessage>();
  readonly #onData: (this: Socket, data: Buffer) => void;
  readonly #onMessage: (this: WebSocket) => void;
  readonly #onControl: (this: WebSocket, data: Buffer) => void;

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
    const of = this.#of;
    const count = (partial: PartialMessage, bytes: number) => this.#count(partial, bytes);
    this.#onData = function onData(this: Socket, data: Buffer) {
      const partial = of.get(this);
      if (partial !== undefined) count(partial, partial.bytes + data.length);
    };
    this.#onMessage = function onMessage(this: WebSocket) {
      const partial = of.get(this);
      if (partial !== undefined) count(partial, 0);
    };
    // These may come between the fragments of a message, so they end none.
    this.#onControl = function onControl(this: WebSocket, data: Buffer) {
      const partial = of.get(this);
      if (partial !== undefined) count(partial, Math.max(0, partial.bytes - controlFrameBytes - data.length));
    };
  }

  watch(socket: WebSocket, connection: Socket, principal: Principal): void {
    const partial: PartialMessage = { socket, owner: ownerOf(principal), bytes: 0, reservation: null, since: 0 };
    this.#of.set(socket, partial);
    this.#of.set(connection, partial);
    // Before the messages that the bytes complete are delivered.
    connection.prependListener('data', this.#onData);
    socket.on('message', this.#onMessage);
    socket.on('ping', this.#onControl);
    socket.on('pong', this.#onControl);
    socket.on('close', this.#onMessage);
  }

  /** Whether a large message takes longer than a client needs for it. */
  isOverdue(socket: WebSocket): boolean {
    const partial = this.#of.get(socket);
    if (partial === undefined || partial.reservation === null) return false;
    return performance.now() - partial.since > secondsOfMessage * 1_000;
  }

  #count(partial: PartialMessage, bytes: number): void {
    partial.bytes = bytes;
    if (bytes <= this.#memory.freeBytes) {
      partial.reservation?.[Symbol.dispose]();
      partial.reservation = null;
      return;
    }
    if (partial.socket.readyState === partial.socket.CLOSED) return;
    if (partial.reservation === null) {
      partial.reservation = this.#memory.open(partial.owner);
      partial.since = performance.now();
    }
    if (partial.reservation.tryResize(bytes)) return;
    // Its bytes are given up at once: a closing handshake would leave them until the other side answers.
    partial.socket.close(tryAgainLater, 'too many large messages are being received');
    partial.socket.terminate();
  }
}
