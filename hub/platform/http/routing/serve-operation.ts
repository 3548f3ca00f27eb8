import { isDeepStrictEqual } from 'node:util';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { allowsCaller } from '../../../../shared/contract/define.ts';
import type { Operation } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import type { Tracing } from '../../observability/tracing/tracing.ts';
import type { MemoryBudget } from '../../process/memory-budget.ts';
import type { RateLimiter } from '../../rate-limiter/rate-limiter.ts';
import type { AddressLimiter, GuessLimiter } from '../auth/address-limits.ts';
import { authenticate, cachedCaller, cachedDevice } from '../auth/auth.ts';
import type { AuthDependencies } from '../auth/auth.ts';
import { clientAddress } from '../auth/client-address.ts';
import { admitPage } from '../auth/cross-origin.ts';
import type { DeviceLimiter } from '../auth/device-limits.ts';
import { memoryOwnerOf } from '../auth/principal.ts';
import type { Principal } from '../auth/principal.ts';
import type { LiveStreams } from '../live/live-streams.ts';
import type { BodyTimeout } from './body-timeout.ts';
import { reserveReceivedBytes, mediaType, readJsonBody, reserveParsedBody, smallBodyBytes } from './body.ts';
import { callerDisconnected } from './caller-disconnected.ts';
import { sendCompressedJson } from './compressed-json.ts';
import { parsePart } from './errors.ts';
import { concludeWithoutKey, fingerprintOf, idempotencyKeyOf, idempotentCallerOf } from './idempotency.ts';
import type { Idempotency, IdempotentRequest, StoredResponse } from './idempotency.ts';
import type { OperationRequest, Route, UnparsedRequest } from './implement.ts';
import { authenticateLimited, limitCaller, setRateLimitHeaders } from './limited-calls.ts';
import { parseQuery } from './parse-query.ts';
import { sendJson } from './send-json.ts';
import { traceRequest } from './trace-request.ts';
import { countUnreadResponse, ownerOf } from './unread-responses.ts';

export interface ServingOptions {
  auth: AuthDependencies;
  idempotency: Idempotency;
  streams: LiveStreams;
  /** Memory for large responses, reserved until the client has read them. */
  answerMemory: MemoryBudget;
  /** Memory for the bytes of request bodies, reserved until they are parsed. */
  incomingMemory: MemoryBudget;
  /** Memory for parsed request bodies, reserved until the response is sent. */
  bodyMemory: MemoryBudget;
  rateLimiter: RateLimiter;
  /** Null when tracing is off. */
  tracing: Tracing | null;
  trustedProxies: string[];
  /** Counts a request of an unauthenticated caller. @throws AppError `rate_limited`. */
  limitAddress: AddressLimiter;
  /** Counts wrong platform admin keys. */
  adminKeyGuesses: GuessLimiter;
  /** Counts a request of a device. @throws AppError `rate_limited`. */
  limitDevice: DeviceLimiter;
  limits: { perKey: number };
  /** Also validates responses against the contract; for development and tests. */
  validateResponses: boolean;
}

const emptyQuery = z.strictObject({});

/** The state of a request that does not depend on its operation. */
interface ReceivedRequest {
  requestId: string;
  /** By the clock of `performance`. */
  startedAt: number;
  bodyTimeout: BodyTimeout;
  /** Aborts when the hub shuts down. */
  stopping: AbortSignal;
}

/** Serves a request as its operation declares: authenticates the caller, validates the input and sends the response. */
export async function serveOperation(
  options: ServingOptions,
  route: Route,
  request: Request,
  response: Response,
  received: ReceivedRequest,
): Promise<void> {
  const { operation } = route;
  const address = clientAddress(request, options.trustedProxies);
  const page = await admitPage(
    { origins: options.auth.identity.origins, hosts: options.auth.hosts },
    operation,
    request,
    response,
  );
  const setHeader = (name: string, value: string) => response.setHeader(name, value);
  // `limitCaller` replaces these headers with those of the caller's own limit.
  if (operation.ipLimit !== undefined)
    setRateLimitHeaders(await options.limitAddress(operation.ipLimit, address), setHeader);
  const rawParams = { ...request.params } as Record<string, string>;
  let authenticated: Promise<Principal> | undefined;
  const confirm = () => {
    authenticated ??= limitGuesses(options, operation, address, () =>
      authenticateLimited(options, operation, request, address, rawParams, setHeader),
    );
    authenticated.catch(() => undefined);
    return authenticated;
  };
  // A read by a cached caller starts while the credential is verified; the response waits for both.
  const isRead = isPlainRead(operation);
  const cached = isRead
    ? cachedCaller(options.auth, operation, request, address)
    : route.confirmsCaller === true
      ? cachedDevice(options.auth, request, rawParams)
      : null;
  const recheck = async () => {
    const principal = await authenticate(options.auth, operation, request, address, rawParams);
    await page?.assertAllowed(principal);
    return principal;
  };
  const headers = new Set(response.getHeaderNames());
  const confirmed = cached !== null && isRead ? confirm() : null;
  try {
    const principal = cached ?? (await confirm());
    const wasComplete = request.complete;
    // The handler verifies a cached caller after the body is read.
    const verifyAfterBody = async (bytes: number) =>
      cached !== null || (wasComplete && bytes <= smallBodyBytes) ? principal : recheck();
    await page?.assertAllowed(principal);
    await limitCaller(options, principal, setHeader);
    const work = () =>
      executeOperation(options, route, request, response, received, {
        principal,
        address,
        rawParams,
        confirmed,
        confirm,
        recheck,
        verifyAfterBody,
      });
    if (options.tracing === null) await work();
    else
      await traceRequest(
        options.tracing,
        { operation, principal, request, response, startedAt: received.startedAt },
        work,
      );
  } catch (error) {
    // A caller whose credential is no longer valid gets only that error: no validation errors and no headers that were
    // set meanwhile.
    await (cached === null ? undefined : confirm())?.catch((refusal: unknown) => {
      if (!response.headersSent)
        for (const name of response.getHeaderNames())
          if (!headers.has(name) && !name.startsWith('x-ratelimit-')) response.removeHeader(name);
      throw refusal;
    });
    throw error;
  }
}

/** Limits guesses of the platform admin key by address. @throws AppError `rate_limited`. */
async function limitGuesses(
  { adminKeyGuesses }: ServingOptions,
  operation: Operation,
  address: string,
  attempt: () => Promise<Principal>,
): Promise<Principal> {
  if (!allowsCaller(operation, 'platform')) return attempt();
  try {
    const principal = await attempt();
    await adminKeyGuesses.assertMayTry(address);
    return principal;
  } catch (error) {
    if (error instanceof AppError && error.code === 'unauthenticated') await adminKeyGuesses.countWrong(address);
    throw error;
  }
}

interface CallerContext {
  principal: Principal;
  address: string;
  /** The path parameters as sent, not validated. */
  rawParams: Record<string, string>;
  /** The verified caller, where `principal` comes from a cache; null where `principal` is verified. */
  confirmed: Promise<Principal> | null;
  confirm: () => Promise<Principal>;
  /** Authenticates and authorizes the caller again. @throws AppError 401, 403 or 404. */
  recheck: () => Promise<Principal>;
  /**
   * Returns the caller after a body was read. While a slow or large body arrives, the caller may lose the access or the
   * role, so the caller is authenticated again.
   */
  verifyAfterBody: (bytes: number) => Promise<Principal>;
}

/** Whether an operation only reads, and responds with JSON. */
const isPlainRead = ({ method, binaryResponse }: Operation) => method === 'GET' && binaryResponse === undefined;

async function executeOperation(
  options: ServingOptions,
  route: Route,
  request: Request,
  response: Response,
  received: ReceivedRequest,
  caller: CallerContext,
): Promise<void> {
  const { operation } = route;
  const { requestId, bodyTimeout, stopping } = received;
  const { address, rawParams, confirmed, confirm, recheck } = caller;
  const params = operation.params === undefined ? {} : parsePart('params', operation.params, rawParams);
  const query = parsePart('query', operation.query ?? emptyQuery, parseQuery(request.originalUrl));
  const isMultipart = operation.multipart === true && mediaType(request) === 'multipart/form-data';
  if (isMultipart || operation.upload === true) bodyTimeout.allowSlow();
  const disconnected = new AbortController();
  response.on('close', () => disconnected.abort(callerDisconnected));
  // The event `close` is not emitted again for a caller that disconnected before.
  if (response.destroyed) disconnected.abort(callerDisconnected);
  const owner = ownerOf(caller.principal, address);
  const { headers } = request;
  const verify = async (rawBody: Buffer | null) =>
    route.verifyCredential?.({ principal: caller.principal, params: rawParams, headers, rawBody } as UnparsedRequest);
  let incomingMemory = options.incomingMemory.open(memoryOwnerOf(caller.principal));
  using _incoming = { [Symbol.dispose]: () => incomingMemory[Symbol.dispose]() };
  using bodyMemory = options.bodyMemory.open(owner);
  const readsJson = operation.body !== undefined && !isMultipart;
  const read = !readsJson
    ? undefined
    : await readJsonBody(request, operation, {
        async beforeRead() {
          const workspace = await verify(null);
          if (workspace !== undefined) incomingMemory = options.incomingMemory.open(workspace);
        },
        reserve: (bytes) => reserveReceivedBytes(incomingMemory, bytes, disconnected.signal),
        async beforeParse(heapBytes, rawBody) {
          await verify(rawBody);
          await reserveParsedBody(bodyMemory, heapBytes, disconnected.signal);
        },
      });
  const principal = readsJson ? await caller.verifyAfterBody(read?.bytes.length ?? 0) : caller.principal;
  const input = read?.value;
  const rawBody = route.verifyCredential === undefined ? undefined : read?.bytes;
  if (rawBody === undefined) incomingMemory.tryResize(0);
  const body =
    operation.body === undefined || isMultipart
      ? undefined
      : parsePart('body', operation.body, input ?? (operation.bodyOptional === true ? {} : undefined));

  const isLongLived =
    operation.binaryResponse !== undefined &&
    (principal.kind === 'token' || principal.kind === 'session' || principal.kind === 'visitor');
  using stream = isLongLived
    ? options.streams.open(principal, {
        right: `${operation.id} ${address}`,
        isDownload: operation.binaryResponse !== 'text/event-stream',
        check: recheck,
      })
    : undefined;
  const accessRevoked = stream?.signal ?? new AbortController().signal;
  const operationRequest = {
    params,
    query,
    body,
    principal,
    confirm,
    conclude: concludeWithoutKey,
    recheck,
    requestId,
    signal: AbortSignal.any([disconnected.signal, stopping, accessRevoked]),
    accessRevoked,
    address,
    // Computed on demand, because few operations need it.
    get baseUrl() {
      return options.auth.hosts.baseUrlOf(request);
    },
    headers: request.headers,
    rawBody: rawBody ?? Buffer.alloc(0),
    incomingMemory,
    bodyMemory,
    raw: { request, response },
  } as unknown as OperationRequest<Operation>;

  const { answerMemory: memory } = options;
  // Only reads are refused: the response to a write must report what was written.
  const counted = { memory, owner, isRefusable: operation.method === 'GET' };
  const onLength = (bytes: number) => countUnreadResponse(response, { ...counted, bytes });
  // The response may hold a secret that is shown once, or data that the next user of the browser must not read from its
  // cache. Downloads set the header themselves.
  if (operation.method !== 'GET' || operation.binaryResponse === undefined)
    response.setHeader('Cache-Control', 'no-store');
  const idempotent = idempotentRequest(operation, request, principal, input);
  if (idempotent === null) {
    const handled = handle(options, route, operationRequest);
    if (confirmed !== null) {
      handled.catch(() => undefined);
      const verified = await confirmed;
      if (!isDeepStrictEqual(verified, principal))
        return await executeOperation(options, route, request, response, received, {
          ...caller,
          principal: verified,
          confirmed: null,
        });
    }
    const result = await handled;
    if (response.headersSent || response.writableEnded) return;
    if (result.status === 200 && (await sendCompressedJson(response, operation, principal, result.body, onLength)))
      return;
    send(response, result, onLength);
    return;
  }
  const tenantId = idempotent.tenantId ?? (await route.workspaceOf?.(operationRequest)) ?? null;
  const { response: stored, replayed } =
    operation.waitsForThirdParty === true && tenantId !== null
      ? await options.idempotency.onceWithoutTransaction({ ...idempotent, tenantId }, (conclude) =>
          handle(options, route, Object.assign(operationRequest, { conclude })),
        )
      : await options.idempotency.once({ ...idempotent, tenantId }, () => handle(options, route, operationRequest));
  if (replayed) response.setHeader('Idempotency-Replayed', 'true');
  send(response, stored, onLength);
}

function idempotentRequest(
  operation: Operation,
  request: Request,
  principal: Principal,
  input: unknown,
): IdempotentRequest | null {
  const given = request.headers['idempotency-key'];
  const caller = operation.method === 'POST' && given !== undefined ? idempotentCallerOf(principal) : null;
  const key = caller === null ? null : idempotencyKeyOf(given);
  if (caller === null || key === null) return null;
  return {
    caller,
    tenantId: principal.kind === 'token' || principal.kind === 'session' ? principal.tenantId : null,
    key,
    fingerprint: fingerprintOf(operation, request.originalUrl, input),
  };
}

/** Runs the handler of a route. The body is null when the handler sent the response itself. */
async function handle(
  options: ServingOptions,
  route: Route,
  request: OperationRequest<Operation>,
): Promise<StoredResponse> {
  const { operation } = route;
  const result = await route.handle(request);
  if (operation.binaryResponse !== undefined) return { status: 200, body: null };
  if (options.validateResponses) {
    const parsed = operation.response.safeParse(result);
    if (!parsed.success)
      throw new Error(`the response of ${operation.id} violates its contract: ${parsed.error.message}`);
  }
  return { status: request.raw.response.statusCode, body: result as JsonValue };
}

function send(response: Response, { status, body }: StoredResponse, onLength: (bytes: number) => void): void {
  if (response.headersSent || response.writableEnded) return;
  response.status(status);
  sendJson(response, body, { onLength });
}
