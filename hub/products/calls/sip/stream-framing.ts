import {
  carriageReturn,
  endOfHead,
  maxHeadBytes,
  maxMessageBytes,
  newline,
  parseHead,
  SipSyntaxError,
} from './message.ts';
import type { SipHead, SipMessage } from './message.ts';

/**
 * Splits a stream into messages by Content-Length. A message without it has no body.
 * Between messages a double CRLF is a ping and a single CRLF is a pong (RFC 5626).
 */
export class StreamFraming {
  #buffer = Buffer.alloc(4_096);
  #length = 0;
  /** Number of bytes already searched for the end of the head. */
  #searched = 0;
  #head: { head: SipHead; bodyAt: number } | null = null;

  /** @throws SipSyntaxError. The stream cannot be parsed any further afterwards. */
  push(chunk: Uint8Array): { messages: SipMessage[]; pings: number } {
    const messages: SipMessage[] = [];
    let pings = 0;
    // Append at most one message size at a time, because a chunk can contain several messages.
    for (let at = 0; at < chunk.length;) {
      const capacity = maxMessageBytes - this.#length;
      if (capacity === 0) throw new SipSyntaxError('a message is too large');
      const part = chunk.subarray(at, at + capacity);
      this.#append(part);
      at += part.length;
      pings += this.#readAll(messages);
    }
    return { messages, pings };
  }

  #append(part: Uint8Array): void {
    const needed = this.#length + part.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(needed, Math.min(maxMessageBytes, this.#buffer.length * 2)));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    this.#buffer.set(part, this.#length);
    this.#length = needed;
  }

  /** Reads all complete messages. Returns the number of pings between them. */
  #readAll(messages: SipMessage[]): number {
    let start = 0;
    let lineEnds = 0;
    for (;;) {
      if (this.#head === null)
        while (start < this.#length && [carriageReturn, newline].includes(this.#buffer[start] as number)) {
          if (this.#buffer[start] === newline) lineEnds += 1;
          start += 1;
        }
      const read = this.#readOne(start, messages);
      if (read === null) break;
      start += read;
    }
    if (start > 0) {
      this.#buffer.copyWithin(0, start, this.#length);
      this.#length -= start;
    }
    return Math.floor(lineEnds / 2);
  }

  #readOne(start: number, messages: SipMessage[]): number | null {
    const bytes = this.#buffer.subarray(start, this.#length);
    if (this.#head === null) {
      const end = endOfHead(bytes, Math.max(0, this.#searched - 3));
      if ((end?.headBytes ?? bytes.length) > maxHeadBytes) throw new SipSyntaxError('a head is too large');
      this.#searched = end === null ? bytes.length : 0;
      if (end === null) return null;
      const head = parseHead(bytes.toString('utf8', 0, end.headBytes));
      if (end.bodyAt + (head.bodyBytes ?? 0) > maxMessageBytes) throw new SipSyntaxError('a message is too large');
      this.#head = { head, bodyAt: end.bodyAt };
    }
    const { bodyAt, head } = this.#head;
    const { bodyBytes, ...known } = head;
    const end = bodyAt + (bodyBytes ?? 0);
    if (bytes.length < end) return null;
    messages.push({ ...known, body: Buffer.from(bytes.subarray(bodyAt, end)) } as SipMessage);
    this.#head = null;
    return end;
  }
}
