import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Request ids that are safe to copy into headers and logs. */
const requestIdPattern = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Creates a request id. It is copied into a flat string: `randomUUID` concatenates cached pieces, which would stay in
 * memory with the id.
 */
export const newRequestId = (): string => Buffer.from(randomUUID(), 'latin1').toString('latin1');

/** Returns the id that the request brings in `X-Request-ID`, or a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && requestIdPattern.test(given) ? given : newRequestId();
}
