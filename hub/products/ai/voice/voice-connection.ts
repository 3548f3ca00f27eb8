import { voiceCloseCodes } from '../../../../shared/contract/ai/voice.ts';
import type { VoiceFrame } from '../../../../shared/contract/ai/voice.ts';
import { waitFor } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { OpenedSocket } from '../../../platform/http/live/sockets.ts';
import { toAppError } from '../../../platform/http/routing/errors.ts';
import type { Logger } from '../../../platform/observability/logger.ts';

/** Buffered bytes above which no further sound is produced. */
const pauseAboveBytes = 256 * 1024;
/** Buffered bytes above which the connection is closed. */
const maxBufferedBytes = 2 * 1024 * 1024;
/** Time without any progress of the reader after which the connection is closed. */
const stallTimeoutMs = 10_000;
const drainPollMs = 20;

/** The connection to one page. A page that reads too slowly is disconnected. */
export class VoiceConnection {
  readonly #socket: OpenedSocket['socket'];
  readonly #requestId: string;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(
    { socket, requestId }: Pick<OpenedSocket, 'socket' | 'requestId'>,
    { clock, logger }: { clock: Clock; logger: Logger },
  ) {
    this.#socket = socket;
    this.#requestId = requestId;
    this.#clock = clock;
    this.#logger = logger;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Sends a frame, if the connection is open. */
  send(frame: VoiceFrame): void {
    if (!this.isOpen) return;
    this.#socket.send(JSON.stringify(frame));
    if (this.#socket.bufferedAmount > maxBufferedBytes) this.close(voiceCloseCodes.tooSlow, 'too much unread data');
  }

  /** Sends an error frame. Internal errors are also logged; a missing configuration is none. */
  fail(error: unknown, turnId?: string): void {
    const appError = toAppError(error);
    const { code, message, status } = appError;
    const requestId = this.#requestId;
    if (status >= 500 && code !== 'ai_binding_not_configured')
      this.#logger.error({ err: appError, requestId, code }, 'a voice conversation failed');
    this.send({ type: 'error', ...(turnId === undefined ? {} : { turnId }), data: message, code, requestId });
  }

  /** Waits until the page has read enough buffered data. @throws the reason of the signal when it aborts. */
  async waitUntilDrained(signal: AbortSignal): Promise<void> {
    let lowest = Number.POSITIVE_INFINITY;
    let progressAt = this.#clock.now();
    while (this.isOpen && this.#socket.bufferedAmount > pauseAboveBytes) {
      const now = this.#clock.now();
      if (this.#socket.bufferedAmount < lowest) [lowest, progressAt] = [this.#socket.bufferedAmount, now];
      else if (now - progressAt > stallTimeoutMs)
        return this.close(voiceCloseCodes.tooSlow, 'no data was read for 10 seconds');
      await waitFor(this.#clock, drainPollMs, signal);
    }
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }
}
