import { AppError } from '../../../../shared/errors.ts';
import { addressBlock } from '../../rate-limiter/address-block.ts';
import type { RateLimit, RateLimiter, RateLimitState } from '../../rate-limiter/rate-limiter.ts';

/**
 * Kinds of requests that are limited by address. Operations declare their kind; `page` is every page that queries the
 * database.
 */
export type AddressLimit = 'sign-in' | 'claim' | 'hook' | 'chat' | 'picture' | 'page';

const windowSeconds = 60;

/** Counts a request of an address. @throws AppError `rate_limited`. */
export type AddressLimiter = (kind: AddressLimit, address: string) => Promise<RateLimitState>;

const claimsPerMinute = 60;
const pagesPerMinute = 240;
const chatsPerMinute = 120;
const picturesPerMinute = 600;

/** Limits requests by address, or by /64 block for IPv6, across all hub processes. */
export function createAddressLimiter(
  rateLimiter: RateLimiter,
  limits: { hook: number; signIn: number },
): AddressLimiter {
  const perMinute: Record<AddressLimit, number> = {
    'sign-in': limits.signIn,
    claim: claimsPerMinute,
    hook: limits.hook,
    chat: chatsPerMinute,
    picture: picturesPerMinute,
    page: pagesPerMinute,
  };
  return async (kind, address) => {
    const state = await rateLimiter.take(`${kind}:${addressBlock(address)}`, {
      limit: perMinute[kind],
      windowSeconds,
    });
    if (!state.allowed) throw rateLimitError(state, 'this address');
    return state;
  };
}

/**
 * Limits refused calls by address, across all hub processes. Successful calls are not counted, so they do not access
 * the store of the rate limiter.
 */
export class RefusalLimiter {
  readonly #rateLimiter: RateLimiter;
  readonly #limit: RateLimit;

  constructor(rateLimiter: RateLimiter, perMinute: number) {
    this.#rateLimiter = rateLimiter;
    this.#limit = { limit: perMinute, windowSeconds };
  }

  /** Counts a refused call. @throws AppError `rate_limited`. */
  async count(address: string): Promise<void> {
    const state = await this.#rateLimiter.take(keyOf(address), this.#limit);
    if (!state.allowed) throw refusedTooOften(state);
  }

  /**
   * Refuses an address that this process knows to exceed the limit, without accessing the store.
   * @throws AppError `rate_limited`.
   */
  assertOpen(address: string): void {
    const state = this.#rateLimiter.exceeded(keyOf(address), this.#limit);
    if (state !== null) throw refusedTooOften(state);
  }
}

const keyOf = (address: string) => `refused:${addressBlock(address)}`;

const refusedTooOften = (state: RateLimitState) => rateLimitError(state, 'this address', 'refused requests');

/** Wrong platform admin keys per address: 30 in 15 minutes. */
const guessLimit = { limit: 30, windowSeconds: 900 };

/** Limits wrong guesses of a secret by address, or by /64 block for IPv6, across all hub processes. */
export interface GuessLimiter {
  /**
   * Called for a correct secret. Above the limit it is refused like a wrong one, so that the response does not reveal
   * that it is correct.
   * @throws AppError `rate_limited`.
   */
  assertMayTry(address: string): Promise<void>;
  countWrong(address: string): Promise<void>;
}

export const createGuessLimiter = (rateLimiter: RateLimiter): GuessLimiter => ({
  async assertMayTry(address) {
    const state = await rateLimiter.peek(`admin-key:${addressBlock(address)}`, guessLimit);
    if (!state.allowed) throw tooManyGuesses(state);
  },
  async countWrong(address) {
    const state = await rateLimiter.take(`admin-key:${addressBlock(address)}`, guessLimit);
    if (!state.allowed) throw tooManyGuesses(state);
  },
});

function tooManyGuesses({ limit, resetAt }: RateLimitState): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil((resetAt.getTime() - Date.now()) / 1000));
  return new AppError(
    'rate_limited',
    `This address sent too many wrong platform admin keys; try again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds, limit },
  );
}

export function rateLimitError({ limit, resetAt }: RateLimitState, owner: string, what = 'requests'): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil((resetAt.getTime() - Date.now()) / 1000));
  return new AppError(
    'rate_limited',
    `More than ${limit} ${what} a minute for ${owner}; try again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds, limit },
  );
}
