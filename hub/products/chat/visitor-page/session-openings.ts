import { AppError } from '../../../../shared/errors.ts';
import { addressBlock } from '../../../platform/rate-limiter/address-block.ts';
import type { RateLimiter, RateLimitState } from '../../../platform/rate-limiter/rate-limiter.ts';

/** Session requests of anonymous visitors and refused tokens, per address or IPv6 /64. */
const ofAddress = { limit: 120, windowSeconds: 60 };
/** Sessions of one visitor by links. A page that embeds the chat opens one for each page load. */
const ofVisitor = { limit: 120, windowSeconds: 60 };

const keyOf = (address: string) => `chat-session:${addressBlock(address)}`;

/**
 * Limits how often sessions of visitors are opened. A valid link counts for its visitor and not for the address,
 * because the visitors in one office can share an address.
 */
export class SessionOpenings {
  readonly #rateLimiter: RateLimiter;

  constructor(rateLimiter: RateLimiter) {
    this.#rateLimiter = rateLimiter;
  }

  /**
   * Refuses an address that this process knows to be over its limit, before a token is looked up.
   * @throws AppError `rate_limited`.
   */
  assertOpen(address: string): void {
    const state = this.#rateLimiter.exceeded(keyOf(address), ofAddress);
    if (state !== null) throw tooMany(state, 'this address');
  }

  /** @throws AppError `rate_limited`. */
  async countAddress(address: string): Promise<void> {
    const state = await this.#rateLimiter.take(keyOf(address), ofAddress);
    if (!state.allowed) throw tooMany(state, 'this address');
  }

  /** Counts refused requests for their address. @throws AppError `rate_limited`, or the error of the work. */
  async countingRefusals<Result>(address: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof AppError && error.status < 500 && error.code !== 'rate_limited')
        await this.countAddress(address);
      throw error;
    }
  }

  /** @throws AppError `rate_limited`. */
  async countVisitor(visitorId: string): Promise<void> {
    const state = await this.#rateLimiter.take(`chat-session-of:${visitorId}`, ofVisitor);
    if (!state.allowed) throw tooMany(state, 'this visitor');
  }
}

function tooMany({ limit, resetAt }: RateLimitState, whose: string): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil((resetAt.getTime() - Date.now()) / 1000));
  return new AppError(
    'rate_limited',
    `More than ${limit} chat sessions a minute for ${whose}; try again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds, limit },
  );
}
