import { AppError } from '../../../shared/errors.ts';
import { addressBlock } from '../rate-limiter/address-block.ts';
import type { RateLimiter, RateLimitState } from '../rate-limiter/rate-limiter.ts';

/** What a stranger may do so often: operations say it themselves, `page` is every page that asks the database. */
export type AddressLimit = 'sign-in' | 'claim' | 'hook' | 'chat' | 'page';

/** Counts a request of an address. @throws AppError `rate_limited`. */
export type AddressLimiter = (kind: AddressLimit, address: string) => Promise<void>;

const claimsPerMinute = 60;
const pagesPerMinute = 240;
const chatsPerMinute = 120;

/** Limits by address, or by /64 for IPv6, shared by all hub processes. */
export function createAddressLimiter(
  rateLimiter: RateLimiter,
  limits: { hook: number; signIn: number },
): AddressLimiter {
  const perMinute: Record<AddressLimit, number> = {
    'sign-in': limits.signIn,
    claim: claimsPerMinute,
    hook: limits.hook,
    chat: chatsPerMinute,
    page: pagesPerMinute,
  };
  return async (kind, address) => {
    const state = await rateLimiter.take(`${kind}:${addressBlock(address)}`, {
      limit: perMinute[kind],
      windowSeconds: 60,
    });
    if (!state.allowed) throw tooMany(state, 'this address');
  };
}

export function tooMany({ limit, resetAt }: RateLimitState, whose: string): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil((resetAt.getTime() - Date.now()) / 1000));
  return new AppError(
    'rate_limited',
    `More than ${limit} requests a minute for ${whose}; try again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds },
  );
}
