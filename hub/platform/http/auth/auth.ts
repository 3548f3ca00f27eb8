import type { IncomingMessage } from 'node:http';
import { parseCookie } from 'cookie';
import {
  acceptedPermissions,
  entitlementsOf,
  productEntitlement,
  productOf,
} from '../../../../shared/contract/define.ts';
import type { Caller, Operation, Permission } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import { isUuid } from '../../../../shared/uuid.ts';
import { parseApiKey } from '../../secrets/api-keys.ts';
import type { RefusalLimiter } from './address-limits.ts';
import { contains } from './client-address.ts';
import { equals } from './constant-time.ts';
import { foreignOriginOf } from './cross-origin.ts';
import type { AllowedOrigins } from './cross-origin.ts';
import type { OwnHosts } from './own-hosts.ts';
import type { DeviceIdentity, Principal, SessionIdentity, TokenIdentity, VisitorIdentity } from './principal.ts';
import { bearerProtocolOf, queryTokenOf } from './socket-tokens.ts';

/** An authorization error of an authenticated caller. The refused call counts towards the limit of this caller. */
export class RefusedCaller extends AppError {
  readonly principal: Principal;

  constructor(refusal: AppError, principal: Principal) {
    super(refusal.code, refusal.message);
    this.principal = principal;
  }
}

/** Verifies API keys and sessions. */
export interface Authenticator {
  tokens: {
    /** @throws AppError `invalid_token`, `token_expired`, `token_revoked`. */
    authenticate(secret: string): Promise<TokenIdentity>;
    /** Returns the cached identity of a token, which may be outdated; null when it is not cached. */
    findCached(secret: string): TokenIdentity | null;
  };
  /** Origins of other sites whose pages may call workspaces. */
  origins: AllowedOrigins;
  /** @throws AppError `unauthenticated`. */
  authenticateSession(token: string): Promise<SessionIdentity>;
  /** Returns those of the sessions that have not ended. */
  sessions(ids: readonly string[]): Promise<Map<string, SessionIdentity>>;
}

export interface DeviceAuthenticator {
  /** Verifies the secret of a device; null when it is wrong. */
  authenticate(nodeId: string, secret: string): Promise<DeviceIdentity | null>;
  /** Verifies again that the device is paired with this secret; null when not. */
  confirm(device: DeviceIdentity): Promise<DeviceIdentity | null>;
  /** Returns the cached identity of a device, which may be outdated; null when it is not cached. */
  findCached(nodeId: string, secret: string): DeviceIdentity | null;
}

export interface VisitorAuthenticator {
  /**
   * Verifies the token of a visitor session.
   * @throws AppError `chat_token_invalid`, `chat_token_expired`, `visitor_blocked`, `product_not_entitled`.
   */
  authenticate(token: string): Promise<VisitorIdentity>;
  /** Returns those of the sessions that are no longer valid, each with the reason. */
  refused(sessionIds: readonly string[]): Promise<Map<string, AppError>>;
}

export interface AuthDependencies {
  identity: Authenticator;
  devices: DeviceAuthenticator;
  visitors: VisitorAuthenticator;
  platformAdminKey: string | null;
  hosts: OwnHosts;
  /** Limits refused calls by address. */
  refusals: RefusalLimiter;
}

const webhookTokenHeader = 'x-service-automation-token';

/** A page names the user that it shows: all pages of a browser share its cookie. */
const sessionUserHeader = 'outrigger-session-user';

/** Headers with credentials of a channel or its provider. */
const channelCredentialHeaders = [
  webhookTokenHeader,
  'x-telegram-bot-api-secret-token',
  'x-slack-signature',
  'x-hub-signature-256',
];

/** Authenticates and authorizes the caller of an operation. @throws AppError 401, 403 or 404. */
export function authenticate(
  deps: AuthDependencies,
  operation: Operation,
  request: IncomingMessage,
  address: string,
  params: Record<string, string>,
): Promise<Principal> {
  return authenticateAs(callerOf(operation, request, deps.hosts), deps, operation, request, address, params);
}

/**
 * Returns the cached caller of a request with an API key, not verified; null when it is not cached or not authorized.
 */
export function cachedCaller(
  deps: AuthDependencies,
  operation: Operation,
  request: IncomingMessage,
  address: string,
): Principal | null {
  if (callerOf(operation, request, deps.hosts) !== 'token') return null;
  try {
    const parsed = parseApiKey(apiKeyOf(request));
    const token = parsed === null ? null : deps.identity.tokens.findCached(parsed.secret);
    return token === null ? null : admitToken(operation, token, address);
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

/** Returns the cached device of a request, not verified; null when it is not cached. */
export function cachedDevice(
  { devices }: AuthDependencies,
  request: IncomingMessage,
  params: Record<string, string>,
): Extract<Principal, { kind: 'device' }> | null {
  const secret = bearerOf(request);
  const device = secret === null ? null : devices.findCached(params['id'] as string, secret);
  return device === null
    ? null
    : { kind: 'device', tenantId: device.tenantId, nodeId: device.nodeId, secretHash: device.secretHash };
}

/**
 * Refuses an address with too many refused calls, before the credential is verified. Cached keys pass, because other
 * callers may share the address. Sessions pass as well, because their users could not sign in again.
 * @throws AppError `rate_limited`.
 */
export function assertAddressOpen(
  { identity, refusals, hosts }: AuthDependencies,
  operation: Operation,
  request: IncomingMessage,
  address: string,
): void {
  const caller = callerOf(operation, request, hosts);
  if (caller !== 'token' && caller !== 'hook' && caller !== 'channel') return;
  const key = request.headers['x-api-key'] ?? bearerOf(request);
  const parsed = typeof key === 'string' ? parseApiKey(key) : null;
  if (parsed === null || identity.tokens.findCached(parsed.secret) === null) refusals.assertOpen(address);
}

/** Converts an authorization error into a `RefusedCaller`. */
function authorizeAs<Result>(principal: Principal, admit: () => Result): Result {
  try {
    return admit();
  } catch (error) {
    throw error instanceof AppError ? new RefusedCaller(error, principal) : error;
  }
}

/** Determines which kind of caller a request claims to be, among those that the operation allows. */
function callerOf({ callers, socket }: Operation, request: IncomingMessage, hosts: OwnHosts): Caller {
  const [first] = callers;
  const allowsBoth = callers.includes('token') && callers.includes('session');
  if (!allowsBoth) return first;
  if (request.headers['x-api-key'] !== undefined) return 'token';
  const bearer = bearerOf(request);
  if (bearer !== null) return looksLikeJwt(bearer) ? 'session' : 'token';
  // The query may contain the token of a session only, so a key there is not accepted.
  if (socket?.tokenInQuery === true && queryTokenOf(request) !== null) return 'session';
  return sessionCookieOf(request, hosts) === null ? 'token' : 'session';
}

/** A workspace JWT; API keys have no dots. */
const looksLikeJwt = (text: string) => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);

async function authenticateAs(
  caller: Caller,
  deps: AuthDependencies,
  operation: Operation,
  request: IncomingMessage,
  address: string,
  params: Record<string, string>,
): Promise<Principal> {
  switch (caller) {
    case 'public':
    case 'pairing':
      return { kind: 'public' };
    case 'token': {
      // Only pages send a token as a subprotocol, and pages must not hold an API key.
      if (operation.socket !== undefined && bearerProtocolOf(request) !== null)
        throw new AppError('unauthenticated', 'Send an API key in the header Authorization or X-API-Key only.');
      const principal = await authenticateToken(deps, operation, apiKeyOf(request), address);
      authorizeAs(principal, () => assertOwnWorkspace(params, principal.tenantId));
      return principal;
    }
    case 'hook': {
      const token = request.headers[webhookTokenHeader];
      if (typeof token === 'string' && token !== '') return { kind: 'webhook-token', token };
      return authenticateToken(deps, operation, apiKeyOf(request), address);
    }
    case 'channel': {
      // The channel verifies the signature of its provider.
      if (channelCredentialHeaders.some((name) => request.headers[name] !== undefined)) return { kind: 'channel-call' };
      return authenticateToken(deps, operation, apiKeyOf(request), address);
    }
    case 'session':
      return authenticateSession(deps, operation, request, params);
    case 'device':
      return authenticateDevice(deps, request, params);
    case 'visitor': {
      const token = bearerOf(request);
      if (token === null)
        throw new AppError('unauthenticated', 'Send the token of a visitor session as Authorization: Bearer.');
      return { kind: 'visitor', ...(await deps.visitors.authenticate(token)) };
    }
    case 'platform': {
      const presented = bearerOf(request);
      if (deps.platformAdminKey === null || presented === null || !equals(presented, deps.platformAdminKey)) {
        throw new AppError(
          'unauthenticated',
          'This requires the platform admin key as Authorization: Bearer; the operator sets it as PLATFORM_ADMIN_KEY.',
        );
      }
      return { kind: 'public' };
    }
  }
}

function bearerOf(request: IncomingMessage): string | null {
  const match = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '');
  return match?.[1] ?? bearerProtocolOf(request);
}

function apiKeyOf(request: IncomingMessage): string {
  const bearer = bearerOf(request);
  const header = request.headers['x-api-key'];
  const key = typeof header === 'string' && header !== '' ? header : null;
  if (bearer !== null && key !== null && bearer !== key)
    throw new AppError('unauthenticated', 'Authorization and X-API-Key name different keys; send one of them.');
  const presented = bearer ?? key;
  if (presented === null)
    throw new AppError('unauthenticated', 'Send an API key as Authorization: Bearer KEY, or as X-API-Key.');
  return presented;
}

async function authenticateToken(
  { identity }: AuthDependencies,
  operation: Operation,
  key: string,
  address: string,
): Promise<Extract<Principal, { kind: 'token' }>> {
  const parsed = parseApiKey(key);
  if (parsed === null) throw new AppError('invalid_token', 'This is not an API key of this platform.');
  const token = await identity.tokens.authenticate(parsed.secret);
  return authorizeAs({ kind: 'token', ...token }, () => admitToken(operation, token, address));
}

/** Authorizes a token. @throws AppError when it may not call the operation, or not from this address. */
function admitToken(
  operation: Operation,
  token: TokenIdentity,
  address: string,
): Extract<Principal, { kind: 'token' }> {
  if (operation.permission !== undefined) assertPermission(token, operation, operation.permission);
  if (operation.liveOnly === true && token.environment === 'test')
    throw new AppError(
      'test_key_not_allowed',
      "A key of environment test can't change this, because live runs use it. Use a live key, or sign in.",
    );
  const missing = entitlementsOf(operation).find((entitlement) => !token.entitlements[entitlement]);
  if (missing !== undefined)
    throw new AppError('product_not_entitled', `This workspace is not entitled to ${missing}.`);
  if (token.ipAllowlist.length > 0 && !token.ipAllowlist.some((block) => contains(block, address))) {
    throw new AppError('ip_not_allowed', `This key may not be used from ${address}.`);
  }
  return { kind: 'token', ...token };
}

/** @throws AppError `wrong_product`, `missing_permission`, `product_not_entitled`. */
function assertPermission(token: TokenIdentity, operation: Operation, permission: Permission): void {
  const product = productOf(permission);
  if (token.product !== product)
    throw new AppError(
      'wrong_product',
      `This key is for ${token.product}; this operation requires one for ${product}.`,
    );
  const accepted = acceptedPermissions(operation);
  if (!accepted.some((each) => token.permissions.includes(each)))
    throw new AppError('missing_permission', `This key lacks the permission ${accepted.join(' or ')}.`);
  if (!token.entitlements[productEntitlement[product]])
    throw new AppError('product_not_entitled', `This workspace is not entitled to ${productEntitlement[product]}.`);
}

async function authenticateSession(
  { identity, hosts }: AuthDependencies,
  operation: Operation,
  request: IncomingMessage,
  params: Record<string, string>,
): Promise<Principal> {
  const bearer = bearerOf(request) ?? (operation.socket?.tokenInQuery === true ? queryTokenOf(request) : null);
  // A browser sends the cookie with every WebSocket to this site, whichever page opens it.
  const isForeign = operation.socket !== undefined && foreignOriginOf(request, hosts) !== null;
  const cookie = isForeign ? null : sessionCookieOf(request, hosts);
  const token = bearer ?? cookie;
  if (token === null)
    throw new AppError('unauthenticated', 'Sign in first: send the workspace JWT as Authorization: Bearer.');
  if (bearer === null && operation.method !== 'GET') assertSameOrigin(request, hosts);
  const session: SessionIdentity = await identity.authenticateSession(token);
  const shownUser = request.headers[sessionUserHeader];
  if (shownUser !== undefined && shownUser !== session.user.id)
    throw new AppError('session_changed', 'The browser is signed in as another user now; load the page again.');
  return authorizeAs({ kind: 'session', ...session }, () => {
    assertOwnWorkspace(params, session.tenantId);
    admitSession(operation, session);
    return { kind: 'session', ...session };
  });
}

/** Authorizes a user. @throws AppError when the user may not call the operation. */
export function admitSession(operation: Operation, session: SessionIdentity): void {
  const missing = entitlementsOf(operation).find((entitlement) => !session.entitlements[entitlement]);
  if (missing !== undefined)
    throw new AppError('product_not_entitled', `This workspace is not entitled to ${missing}.`);
  if (operation.role === 'admin' && session.user.role !== 'admin')
    throw new AppError('role_required', 'This requires the role admin.');
}

/**
 * Reports the workspace of another caller as missing, so that its existence is not revealed. Validation refuses a
 * malformed id later.
 * @throws AppError `not_found`.
 */
function assertOwnWorkspace({ tenantId }: Record<string, string>, own: string): void {
  if (tenantId !== undefined && isUuid(tenantId) && tenantId.toLowerCase() !== own)
    throw new AppError('not_found', `There is no workspace ${tenantId}.`);
}

async function authenticateDevice(
  deps: AuthDependencies,
  request: IncomingMessage,
  params: Record<string, string>,
): Promise<Principal> {
  const secret = bearerOf(request);
  if (secret === null) throw new AppError('unauthenticated', 'Send the device secret as Authorization: Bearer.');
  const id = params['id'] ?? '';
  // The id is a part of the credential, but a 401 response would make the device unpair itself.
  if (!isUuid(id))
    throw new AppError('validation_failed', 'params.id must be the UUID of a node.', {
      details: [{ path: 'params.id', message: 'must be the UUID of a node' }],
    });
  return admitDevice(await deps.devices.authenticate(id, secret));
}

/** Verifies again that an authenticated device is paired. @throws AppError `device_secret_invalid`. */
export const confirmDevice = async ({ devices }: AuthDependencies, device: DeviceIdentity): Promise<Principal> =>
  admitDevice(await devices.confirm(device));

function admitDevice(device: DeviceIdentity | null): Principal {
  if (device === null)
    throw new AppError('device_secret_invalid', 'This device is not paired, or not any more; pair it again.');
  const { tenantId, nodeId, secretHash } = device;
  return { kind: 'device', tenantId, nodeId, secretHash };
}

/**
 * Protects changes by cookie against cross-site request forgery: the request must come from a page of this hub, under a
 * host name of this hub. A request with the origin `null` is refused, because any page can cause it.
 * @throws AppError `origin_not_allowed`.
 */
export function assertSameOrigin(request: IncomingMessage, hosts: OwnHosts): void {
  const { origin } = request.headers;
  const site = request.headers['sec-fetch-site'];
  const same = origin !== undefined ? hosts.isOriginOf(origin, request) : site === 'same-origin';
  if (!same)
    throw new AppError(
      'origin_not_allowed',
      'A change by cookie must come from a page of this hub. If its PUBLIC_URL is https, open the page with https.',
    );
  if (!hosts.isSafe(request))
    throw new AppError(
      'origin_not_allowed',
      'This hub does not know the host name of the request; its operator sets it as PUBLIC_URL.',
    );
}

/**
 * Returns the session cookie of a request; null without one, or with several, because another site may have set one of
 * them.
 */
export function sessionCookieOf({ headers }: IncomingMessage, { sessionCookie }: OwnHosts): string | null {
  const header = headers.cookie ?? '';
  const named = header.split(';').filter((pair) => pair.split('=', 1)[0]?.trim() === sessionCookie);
  return named.length === 1 ? parseCookie(header)[sessionCookie] || null : null;
}
