import { setTimeout as delay } from 'node:timers/promises';
import { chatCloseCodes, maxChatBufferBytes } from '../../../../shared/contract/chat/live.ts';
import type { Connection } from './connection.ts';

const roomBytes = maxChatBufferBytes / 4;
const lookMs = 20;
/** Whoever takes nothing for so long is gone, in milliseconds. */
const stallMs = 30_000;
/** What is kept for all of them at most, in bytes. */
const defaultMaxHeldBytes = 64 * 1024 * 1024;

/** Those who take what they missed more slowly than it is read: what is kept for all of them is bounded, and who waits longest goes first. */
export class SlowReaders {
  readonly #maxHeldBytes: number;
  readonly #held = new Map<Connection, number>();
  #heldBytes = 0;

  constructor(maxHeldBytes = defaultMaxHeldBytes) {
    this.#maxHeldBytes = maxHeldBytes;
  }

  /**
   * Resolves once a reader has taken most of what waits for it, is gone, or had its time.
   * @param bytes that are kept for it beside what waits.
   */
  async untilTaken(connection: Connection, bytes: number): Promise<void> {
    if (!connection.isOpen || connection.waitingBytes <= roomBytes) return;
    this.#hold(connection, connection.waitingBytes + bytes);
    const deadline = performance.now() + stallMs;
    while (connection.isOpen && connection.waitingBytes > roomBytes) {
      if (performance.now() > deadline) connection.close(chatCloseCodes.tooSlow, 'nothing was taken');
      else await delay(lookMs);
    }
    this.#release(connection);
  }

  #hold(connection: Connection, bytes: number): void {
    this.#held.set(connection, bytes);
    this.#heldBytes += bytes;
    for (const longest of this.#held.keys()) {
      if (this.#heldBytes <= this.#maxHeldBytes) return;
      this.#release(longest);
      longest.close(chatCloseCodes.tooSlow, 'too much waits for slow readers');
    }
  }

  #release(connection: Connection): void {
    this.#heldBytes -= this.#held.get(connection) ?? 0;
    this.#held.delete(connection);
  }
}
