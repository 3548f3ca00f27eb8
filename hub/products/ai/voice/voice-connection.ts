import { voiceCloseCodes } from '../../../../shared/contract/ai/voice.ts';
import type { VoiceFrame } from '../../../../shared/contract/ai/voice.ts';
import { waitFor } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { OpenedSocket } from '../../../platform/http/live/sockets.ts';
import { toAppError } from '../../../platform/http/routing/errors.ts';
import type { Logger } from '../../../platform/observability/logger.ts';

/** What waits for a reader before nothing more is made for it, in bytes. */
const enoughBytes = 256 * 1024;
/** With so much it is cut off. */
const mostBytes = 2 * 1024 * 1024;
/** How long a reader may take nothing, in milliseconds. */
const stalledMs = 10_000;
const lookAgainMs = 20;

/** The way to one page. What it does not take in time ends it. */
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

  /** Sends nothing once it is closed. */
  send(frame: VoiceFrame): void {
    if (!this.isOpen) return;
    this.#socket.send(JSON.stringify(frame));
    if (this.#socket.bufferedAmount > mostBytes) this.close(voiceCloseCodes.tooSlow, 'more than was taken');
  }

  /** What failed, in words for a stranger; what is ours to mend is logged. */
  fail(error: unknown, turnId?: string): void {
    const appError = toAppError(error);
    const { code, message, status } = appError;
    const requestId = this.#requestId;
    if (status >= 500) this.#logger.error({ err: appError, requestId, code }, 'a conversation by voice failed');
    this.send({ type: 'error', ...(turnId === undefined ? {} : { turnId }), data: message, code, requestId });
  }

  /** Waits until there is room for more. @throws the signal's reason when it aborts. */
  async room(signal: AbortSignal): Promise<void> {
    let least = Number.POSITIVE_INFINITY;
    let takenAt = this.#clock.now();
    while (this.isOpen && this.#socket.bufferedAmount > enoughBytes) {
      const now = this.#clock.now();
      if (this.#socket.bufferedAmount < least) [least, takenAt] = [this.#socket.bufferedAmount, now];
      else if (now - takenAt > stalledMs)
        return this.close(voiceCloseCodes.tooSlow, 'nothing was taken for 10 seconds');
      await waitFor(this.#clock, lookAgainMs, signal);
    }
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }
}
