import { LRUCache } from 'lru-cache';
import { maxCarrierBodyBytes } from '../../../../shared/contract/calls/connections.ts';
import type { callConnections } from '../../../../shared/contract/calls/connections.ts';
import type { Carrier } from '../../../../shared/contract/calls/records.ts';
import { AppError } from '../../../../shared/errors.ts';
import { readBounded } from '../../../platform/http/routing/body.ts';
import type { Handlers } from '../../../platform/http/routing/implement.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { addressBlock } from '../../../platform/rate-limiter/address-block.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import type { CarrierConnections } from '../connections/index.ts';
import type { CallEvent, Calls } from '../records/index.ts';
import { readKamailioEvent } from './kamailio.ts';
import { isSigned } from './signatures.ts';
import { readTelnyxEvent } from './telnyx.ts';
import { readTwilioEvent } from './twilio.ts';

export interface ReceiverDependencies {
  calls: Calls;
  connections: CarrierConnections;
  rateLimiter: RateLimiter;
  logger: Logger;
  /** The time; for tests. */
  now: () => Date;
}

/** What one address may send a minute that is signed by nobody; carriers of others send from the same addresses. */
const refusedPerMinute = 120;
const noteEveryMs = 60_000;

/**
 * Takes what carriers send: nobody but who signed it is believed, nothing else is written or told, and the answer is out once it is kept. An
 * address that sends too much that is not signed well is only asked for connections of which something good came lately.
 */
export function carrierReceiver(
  dependencies: ReceiverDependencies,
): Handlers<typeof callConnections>['receiveCarrierEvent'] {
  const { calls, connections, rateLimiter, logger, now } = dependencies;
  const refusedUntil = new LRUCache<string, Date>({ max: 10_000 });
  const good = new LRUCache<string, number>({ max: 10_000, ttl: 3_600_000 });

  const refuse = async (block: string) => {
    const state = await rateLimiter.take(`carrier:${block}`, { limit: refusedPerMinute, windowSeconds: 60 });
    if (!state.allowed) refusedUntil.set(block, state.resetAt);
    return new AppError(
      'carrier_signature_invalid',
      'This is not signed as it has to be for this connection; check its secret, and that its address is the one that the carrier was given.',
    );
  };

  return async ({ params: { provider, connectionId }, address, baseUrl, headers, raw: { request } }) => {
    const body = await readBounded(request, maxCarrierBodyBytes);
    const block = addressBlock(address);
    const limited = limitedAnswer(refusedUntil.get(block)?.getTime() ?? 0);
    if (limited !== null && !good.has(connectionId)) throw limited;
    const found = await connections.find(connectionId);
    const known = found?.provider === provider ? found : null;
    const url = `${baseUrl.replace(/(?<!\/)\/+$/, '')}${pathOf(request.originalUrl)}`;
    if (!isSigned(provider, { headers, url, body }, known?.secrets ?? [], now()) || known === null) {
      if (known?.hasUnreadable === true)
        logger.warn({ connectionId }, 'a secret of a call connection was sealed with another SECRET_KEY; rotate it');
      // Another answer than strange ids have would say which there are.
      throw limited ?? (await refuse(block));
    }
    const event = read(provider, headers['content-type'] ?? '', body, now());
    if (event !== null) await calls.merge(known.tenantId, event);
    const noted = good.get(connectionId) ?? 0;
    if (noted + noteEveryMs < Date.now()) {
      good.set(connectionId, Date.now());
      void connections
        .noteEvent(connectionId)
        .catch((error: unknown) => logger.debug({ err: error }, 'when a carrier last sent something was not noted'));
    }
    return { received: true as const };
  };
}

/** What whoever sends too much is told, up to a time in milliseconds; null once it is over. */
function limitedAnswer(until: number): AppError | null {
  const retryAfterSeconds = Math.ceil((until - Date.now()) / 1000);
  if (retryAfterSeconds <= 0) return null;
  return new AppError(
    'rate_limited',
    `Too much from this address is not signed; try again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds, limit: refusedPerMinute },
  );
}

/** The path and query of a target, byte for byte: a target may also be a whole address, of which the rest says nothing. */
const pathOf = (target: string) => target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');

/** What was sent; null where it says nothing of a call. @throws AppError `invalid_json`, `validation_failed`. */
function read(provider: Carrier, contentType: string, body: Buffer, now: Date): CallEvent | null {
  const text = body.toString('utf8');
  if (provider === 'twilio' && !contentType.toLowerCase().startsWith('application/json'))
    return readTwilioEvent(Object.fromEntries(new URLSearchParams(text)), now);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new AppError('invalid_json', 'The body is not JSON.', { cause: error });
  }
  if (provider === 'telnyx') return readTelnyxEvent(json);
  return provider === 'kamailio'
    ? readKamailioEvent(json)
    : readTwilioEvent(typeof json === 'object' && json !== null ? { ...json } : {}, now);
}
