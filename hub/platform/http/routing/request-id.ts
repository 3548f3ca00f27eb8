import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A request's own id, when it is harmless to repeat. */
const requestIdPattern = /^[A-Za-z0-9._-]{1,128}$/;

/** An id for a request that brings none. Copied, because Node.js puts it together of pieces that would stay in memory as long as it does. */
export const newRequestId = (): string => Buffer.from(randomUUID(), 'latin1').toString('latin1');

/** The id of a request: its own, or a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && requestIdPattern.test(given) ? given : newRequestId();
}
