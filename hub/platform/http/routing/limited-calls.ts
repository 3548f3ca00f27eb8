import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller, Operation } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { RateLimiter, RateLimitState } from '../../rate-limiter/rate-limiter.ts';
import { rateLimitError } from '../auth/address-limits.ts';
import { assertAddressOpen, authenticate, RefusedCaller } from '../auth/auth.ts';
import type { AuthDependencies } from '../auth/auth.ts';
import type { DeviceLimiter } from '../auth/device-limits.ts';
import type { Principal } from '../auth/principal.ts';

interface LimitingOptions {
  auth: AuthDependencies;
  rateLimiter: RateLimiter;
  /** Counts a request of a device. @throws AppError `rate_limited`. */
  limitDevice: DeviceLimiter;
  limits: { perKey: number };
}

/**
 * Callers whose refusals are not counted here, because devices, visitors and guesses of the platform admin key have
 * limits of their own.
 */
const otherLimits: ReadonlySet<Caller> = new Set(['device', 'visitor', 'platform']);

/** Sets the `X-RateLimit-*` headers of a response. */
export function setRateLimitHeaders(state: RateLimitState, setHeader: (name: string, value: string) => void): void {
  setHeader('X-RateLimit-Limit', String(state.limit));
  setHeader('X-RateLimit-Remaining', String(state.remaining));
  setHeader('X-RateLimit-Reset', String(Math.ceil(state.resetAt.getTime() / 1000)));
}

/** Sets the `X-RateLimit-*` headers, unless the limit that they show already has fewer requests left. */
export function setNearestLimitHeaders(
  state: RateLimitState,
  response: Pick<ServerResponse, 'getHeader' | 'setHeader'>,
): void {
  const shown = response.getHeader('X-RateLimit-Remaining');
  if (shown !== undefined && Number(shown) <= state.remaining) return;
  setRateLimitHeaders(state, (name, value) => response.setHeader(name, value));
}

/**
 * Authenticates and authorizes a caller. A refused call counts towards the limits of its address and of its key.
 * @throws AppError 401, 403, 404 or `rate_limited`.
 */
export async function authenticateLimited(
  options: LimitingOptions,
  operation: Operation,
  request: IncomingMessage,
  address: string,
  params: Record<string, string>,
  setHeader: (name: string, value: string) => void,
): Promise<Principal> {
  const { auth } = options;
  assertAddressOpen(auth, operation, request, address);
  try {
    return await authenticate(auth, operation, request, address, params);
  } catch (error) {
    if (error instanceof RefusedCaller) await limitCaller(options, error.principal, setHeader);
    const isRefusal = error instanceof AppError && (error.status === 401 || error instanceof RefusedCaller);
    if (isRefusal && !operation.callers.some((caller) => otherLimits.has(caller))) await auth.refusals.count(address);
    throw error;
  }
}

/**
 * Counts a request towards the limit of its caller, and sets the rate limit headers.
 * @throws AppError `rate_limited`.
 */
export async function limitCaller(
  { rateLimiter, limits, limitDevice }: LimitingOptions,
  principal: Principal,
  setHeader: (name: string, value: string) => void,
): Promise<void> {
  if (principal.kind === 'device') await limitDevice(principal.nodeId);
  if (principal.kind !== 'token' && principal.kind !== 'session' && principal.kind !== 'visitor') return;
  // All sessions of a visitor count together, because a visitor can open new sessions.
  const key =
    principal.kind === 'token'
      ? `key:${principal.tokenId}`
      : principal.kind === 'visitor'
        ? `visitor:${principal.visitorId}`
        : `session:${principal.sessionId}`;
  const state = await rateLimiter.take(key, { limit: limits.perKey, windowSeconds: 60 });
  setRateLimitHeaders(state, setHeader);
  if (!state.allowed) throw rateLimitError(state, principal.kind === 'token' ? 'this key' : 'this session');
}
