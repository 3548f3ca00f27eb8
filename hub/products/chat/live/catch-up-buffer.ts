import { setTimeout as delay } from 'node:timers/promises';
import { chatCloseCodes, maxChatBufferBytes } from '../../../../shared/contract/chat/live.ts';
import type { Connection } from './connection.ts';

const drainedBelowBytes = maxChatBufferBytes / 4;
const pollIntervalMs = 20;
/** A client that stays above the limit for this long is disconnected. */
const stallMs = 30_000;
/** Limit for all clients together. */
const defaultMaxBytes = 64 * 1024 * 1024;

/**
 * Bounds the memory buffered for slow clients that are catching up.
 * When the total exceeds the limit, the client that has waited longest is disconnected.
 */
export class CatchUpBuffer {
  readonly #maxBytes: number;
  readonly #buffered = new Map<Connection, number>();
  #totalBytes = 0;

  constructor(maxBytes = defaultMaxBytes) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Resolves when most of a client's buffer is drained, or when the client is disconnected.
   * @param bytes that the caller buffers in addition to the connection.
   */
  async waitUntilDrained(connection: Connection, bytes: number): Promise<void> {
    if (!connection.isOpen || connection.waitingBytes <= drainedBelowBytes) return;
    this.#add(connection, connection.waitingBytes + bytes);
    const deadline = performance.now() + stallMs;
    while (connection.isOpen && connection.waitingBytes > drainedBelowBytes) {
      if (performance.now() > deadline) connection.close(chatCloseCodes.tooSlow, 'the client does not read');
      else await delay(pollIntervalMs);
    }
    this.#remove(connection);
  }

  #add(connection: Connection, bytes: number): void {
    this.#buffered.set(connection, bytes);
    this.#totalBytes += bytes;
    for (const oldest of this.#buffered.keys()) {
      if (this.#totalBytes <= this.#maxBytes) return;
      this.#remove(oldest);
      oldest.close(chatCloseCodes.tooSlow, 'too much data is buffered for slow clients');
    }
  }

  #remove(connection: Connection): void {
    this.#totalBytes -= this.#buffered.get(connection) ?? 0;
    this.#buffered.delete(connection);
  }
}
