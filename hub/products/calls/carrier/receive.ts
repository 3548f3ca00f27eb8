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
  /** The current time; tests replace it. */
  now: () => Date;
}

/** Unsigned requests per minute and address block. Carriers send events of many workspaces from the same addresses. */
const refusedPerMinute = 120;
const noteEveryMs = 60_000;

/**
 * Receives carrier events. An event without a valid signature writes nothing and reveals nothing. The response follows
 * the durable write.
 * An address over the limit of unsigned requests is served only for connections with a recent valid event.
 */
export function carrierReceiver(
  dependencies: ReceiverDependencies,
): Handlers<typeof callConnections>['receiveCarrierEvent'] {
  const { calls, connections, rateLimiter, logger, now } = dependencies;
  const refusedUntil = new LRUCache<string, Date>({ max: 10_000 });
  const recentlySigned = new LRUCache<string, number>({ max: 10_000, ttl: 3_600_000 });

  const refuse = async (block: string) => {
    const state = await rateLimiter.take(`carrier:${block}`, { limit: refusedPerMinute, windowSeconds: 60 });
    if (!state.allowed) refusedUntil.set(block, state.resetAt);
    return new AppError(
      'carrier_signature_invalid',
      'The signature is not valid for this connection; check its secret, and that the carrier sends to the address of this connection.',
    );
  };

  return async ({ params: { provider, connectionId }, address, baseUrl, headers, raw: { request } }) => {
    const body = await readBounded(request, maxCarrierBodyBytes);
    const block = addressBlock(address);
    const limited = limitError(refusedUntil.get(block)?.getTime() ?? 0);
    if (limited !== null && !recentlySigned.has(connectionId)) throw limited;
    const found = await connections.find(connectionId);
    const known = found?.provider === provider ? found : null;
    const url = `${baseUrl.replace(/(?<!\/)\/+$/, '')}${pathOf(request.originalUrl)}`;
    if (!isSigned(provider, { headers, url, body }, known?.secrets ?? [], now()) || known === null) {
      if (known?.hasUnreadable === true)
        logger.warn({ connectionId }, 'a secret of a call connection was sealed with another SECRET_KEY; rotate it');
      // A different answer for existing connections would reveal which IDs exist.
      throw limited ?? (await refuse(block));
    }
    const event = read(provider, headers['content-type'] ?? '', body, now());
    if (event !== null) await calls.merge(known.tenantId, event);
    const notedAt = recentlySigned.get(connectionId) ?? 0;
    if (notedAt + noteEveryMs < Date.now()) {
      recentlySigned.set(connectionId, Date.now());
      connections
        .noteEvent(connectionId)
        .catch((error: unknown) => logger.debug({ err: error }, 'recording the time of a carrier event failed'));
    }
    return { received: true as const };
  };
}

/** The error for an address over the limit until `until` (milliseconds). Null afterwards. */
function limitError(until: number): AppError | null {
  const retryAfterSeconds = Math.ceil((until - Date.now()) / 1000);
  if (retryAfterSeconds <= 0) return null;
  return new AppError(
    'rate_limited',
    `Too many requests from this address have no valid signature; try again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds, limit: refusedPerMinute },
  );
}

/** Path and query of a request target, byte for byte. A target can also be an absolute URL. */
const pathOf = (target: string) => target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');

/** Reads an event, or null if it does not concern a call. @throws AppError `invalid_json`, `validation_failed`. */
function read(provider: Carrier, contentType: string, body: Buffer, now: Date): CallEvent | null {
  const text = body.toString('utf8');
  if (provider === 'twilio' && !contentType.toLowerCase().startsWith('application/json'))
    return readTwilioEvent(Object.fromEntries(new URLSearchParams(text)), now);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new AppError('invalid_json', 'The body must be JSON.', { cause: error });
  }
  if (provider === 'telnyx') return readTelnyxEvent(json);
  return provider === 'kamailio'
    ? readKamailioEvent(json)
    : readTwilioEvent(typeof json === 'object' && json !== null ? { ...json } : {}, now);
}
