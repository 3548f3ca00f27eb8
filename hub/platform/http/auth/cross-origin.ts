import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { AddressLimiter } from './address-limits.ts';
import type { OwnHosts } from './own-hosts.ts';
import type { Principal } from './principal.ts';

/** The origins whose pages may call the API. */
export interface AllowedOrigins {
  /** Whether an origin may call the workspace; with `tenantId` null, whether it may call any workspace. */
  isAllowed(origin: string, tenantId: string | null): Promise<boolean>;
}

/** Headers that a page may send with a request. */
const requestHeaders =
  'Authorization, Content-Type, Accept-Language, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-ID';
/** Headers that a page may read from a response. */
const responseHeaders =
  'Content-Disposition, ETag, Idempotency-Replayed, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-ID';
const preflightSeconds = '600';

/**
 * Whether pages of other origins may call an operation: operations of signed-in users, and public operations for
 * signing in. API keys are for servers only.
 */
const isForPages = ({ callers, path }: Operation) =>
  callers.includes('session') || (callers.includes('public') && path.startsWith('/auth/'));

/** Returns the origin of a page of another site; null for a page of this hub and for a caller that is not a page. */
export function foreignOriginOf(request: IncomingMessage, hosts: OwnHosts): string | null {
  const { origin } = request.headers;
  if (origin === undefined) return null;
  return hosts.isOriginOf(origin, request) && hosts.isSafe(request) ? null : origin;
}

export interface CrossOriginOptions {
  origins: AllowedOrigins;
  hosts: OwnHosts;
  limitAddress: AddressLimiter;
}

/**
 * Responds to a CORS preflight request. Returns false when the page may not call the path: the caller then responds as
 * to any other unsupported method.
 */
export async function respondToPreflight(
  { origins, hosts, limitAddress }: CrossOriginOptions,
  operations: readonly Operation[],
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
): Promise<boolean> {
  const offered = operations.filter(isForPages);
  if (offered.length === 0) return false;
  response.setHeader('Vary', 'Origin');
  const origin = foreignOriginOf(request, hosts);
  if (origin === null || request.headers['access-control-request-method'] === undefined) return false;
  await limitAddress('page', address);
  if (!(await origins.isAllowed(origin, null))) return false;
  response
    .writeHead(204, {
      'Access-Control-Allow-Origin': origin,
      'Access-Control-Allow-Methods': offered.map(({ method }) => method).join(', '),
      'Access-Control-Allow-Headers': requestHeaders,
      'Access-Control-Max-Age': preflightSeconds,
    })
    .end();
  return true;
}

/** A request from a page of another origin that at least one workspace allows. */
export interface CrossOriginRequest {
  /**
   * Removes the CORS headers unless the workspace of the caller allows the origin.
   * @throws AppError `origin_not_allowed` for a signed-in user.
   */
  assertAllowed(principal: Principal): Promise<void>;
}

/**
 * Sets the CORS headers for a page of an allowed origin. Returns null for every other caller. Credentials are never
 * allowed: a browser hides the response to a request with a cookie.
 */
export async function admitPage(
  { origins, hosts }: Pick<CrossOriginOptions, 'origins' | 'hosts'>,
  operation: Operation,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<CrossOriginRequest | null> {
  if (!isForPages(operation)) return null;
  response.setHeader('Vary', 'Origin');
  const origin = foreignOriginOf(request, hosts);
  if (origin === null || !(await origins.isAllowed(origin, null))) return null;
  response.setHeader('Access-Control-Allow-Origin', origin);
  response.setHeader('Access-Control-Expose-Headers', responseHeaders);
  return {
    async assertAllowed(principal) {
      if (principal.kind === 'public') return;
      const isAllowed = principal.kind === 'session' && (await origins.isAllowed(origin, principal.tenantId));
      if (isAllowed) return;
      response.removeHeader('Access-Control-Allow-Origin');
      response.removeHeader('Access-Control-Expose-Headers');
      if (principal.kind === 'session') throw notAllowed(origin);
    },
  };
}

export const notAllowed = (origin: string) =>
  new AppError(
    'origin_not_allowed',
    `This workspace does not allow pages of ${origin.slice(0, 300)}; an admin allows them with PUT /tenants/{tenantId}/allowed-origins.`,
  );

export const notOwnOrigin = () =>
  new AppError(
    'origin_not_allowed',
    'Only pages of this hub, under a host name that the hub knows (PUBLIC_URL), and pages of origins that the workspace allows can open this WebSocket.',
  );
