import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Operation } from '../../../../shared/contract/define.ts';
import type { Logger } from '../../observability/logger.ts';
import { background } from '../../process/background.ts';
import { authenticate, cachedDevice } from '../auth/auth.ts';
import type { PrincipalOf } from '../auth/principal.ts';
import { errorResponseOf, parsePart } from '../routing/errors.ts';
import { limitCaller } from '../routing/limited-calls.ts';
import { parseQuery } from '../routing/parse-query.ts';
import { requestIdOf } from '../routing/request-id.ts';
import type { ServingOptions } from '../routing/serve-operation.ts';

/** The validated input of a long poll. */
export interface LongPollInput<Shape = Operation> {
  principal: PrincipalOf<Shape>;
  /** Whether the caller is verified. Otherwise the handler verifies it before it responds. */
  isConfirmed: boolean;
  query: Shape extends { query: infer Query extends z.ZodType } ? z.output<Query> : undefined;
}

/** A request that waits for its response. */
export interface WaitingRequest {
  /** Sends the response. `onLost` is called when the response was not sent completely. */
  send(body: unknown, onLost?: () => void): void;
  fail(error: unknown): void;
}

/**
 * An operation of devices whose requests wait most of their time. A waiting request uses little memory: only its
 * connection, its input and the state of its handler are kept.
 */
export interface LongPollRoute<Shape = Operation, Poll = unknown> {
  operation: Operation;
  /** Starts to wait for the result. Returns the state that `end` receives. */
  begin(input: LongPollInput<Shape>, request: WaitingRequest): Poll;
  /** Ends a poll early: the hub shuts down, or the device disconnected. */
  end(poll: Poll): void;
}

/** Binds an operation to its long-poll handler. */
export const implementLongPoll = <Shape, Poll>(route: LongPollRoute<Shape, Poll>): LongPollRoute =>
  route as unknown as LongPollRoute;

export interface LongPollsOptions {
  serving: ServingOptions;
  routes: readonly LongPollRoute[];
  logger: Logger;
  stopping: AbortSignal;
  /** Headers of every response, as alternating names and values. */
  headers: readonly string[];
  onFinished: (finished: FinishedRequest) => void;
}

/** A finished request, for metrics and the log. */
export interface FinishedRequest {
  requestId: string;
  operationId: string;
  method: string | undefined;
  /** The pattern of its path. */
  route: string;
  status: number;
  startedAt: number;
}

interface CompiledRoute extends LongPollRoute {
  pattern: RegExp;
  /** Path pattern as the request log shows it. */
  path: string;
}

const pollOfResponse = Symbol('poll');
type WaitingResponse = ServerResponse & { [pollOfResponse]?: PendingPoll };

/**
 * Serves the requests of long-poll operations before they reach Express, which would keep more memory for each.
 * Unusual requests (another spelling of the path, a body, a trace) are left to Express.
 */
export class LongPolls {
  readonly options: LongPollsOptions;
  readonly #routes: readonly CompiledRoute[];
  readonly #open = new Set<PendingPoll>();

  constructor(options: LongPollsOptions) {
    this.options = options;
    this.#routes = options.routes.map((route) => {
      if (route.operation.callers.some((caller) => caller !== 'device'))
        throw new Error(`the long poll ${route.operation.id} allows callers other than devices`);
      const { path } = route.operation;
      return {
        ...route,
        pattern: new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[\\w-]+)')}(?:\\?|$)`),
        path: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      };
    });
    options.stopping.addEventListener('abort', () => {
      for (const poll of this.#open) poll.end();
    });
  }

  /** Serves a request. Returns false when it is not a long poll that this class serves. */
  serve(request: IncomingMessage, response: ServerResponse): boolean {
    const { method, url = '', headers } = request;
    if (method !== 'GET' || headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined)
      return false;
    if (headers.traceparent !== undefined && this.options.serving.tracing !== null) return false;
    for (const route of this.#routes) {
      const match = route.pattern.exec(url);
      if (match === null) continue;
      const poll = new PendingPoll(this, route, response, requestIdOf(request));
      this.#open.add(poll);
      background(this.#begin(route, request, { ...match.groups }, poll), this.options.logger, 'start of a long poll');
      return true;
    }
    return false;
  }

  remove(poll: PendingPoll): void {
    this.#open.delete(poll);
  }

  /** Never rejects. */
  async #begin(
    { operation, begin }: CompiledRoute,
    request: IncomingMessage,
    params: Record<string, string>,
    poll: PendingPoll,
  ): Promise<void> {
    const { serving, stopping } = this.options;
    let confirm: (() => Promise<unknown>) | undefined;
    try {
      const cached = cachedDevice(serving.auth, request, params);
      if (cached !== null) confirm = () => authenticate(serving.auth, operation, request, '', params);
      const principal = cached ?? (await authenticate(serving.auth, operation, request, '', params));
      await limitCaller(serving, principal, () => undefined);
      const query = operation.query && parsePart('query', operation.query, parseQuery(request.url ?? ''));
      dropRequestData(request);
      poll.state = begin({ principal: principal as never, isConfirmed: cached === null, query: query as never }, poll);
      if (stopping.aborted || poll.isClosed) poll.end();
    } catch (error) {
      // A device whose secret is no longer valid gets only that error, and no validation errors.
      const refusal = await confirm?.().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      poll.fail(refusal ?? error);
    }
  }
}

const noHeaders = Object.freeze({});
const noRawHeaders: string[] = [];

/** Drops the headers and the URL of a request, which would use memory while it waits. */
function dropRequestData(request: IncomingMessage): void {
  request.headers = noHeaders;
  request.rawHeaders = noRawHeaders;
  request.url = '';
}

class PendingPoll implements WaitingRequest {
  readonly #owner: LongPolls;
  readonly #route: CompiledRoute;
  readonly #response: ServerResponse;
  readonly #requestId: string;
  readonly #startedAt = performance.now();
  #onLost: (() => void) | undefined;
  /** The state that `begin` of the route returned. */
  state: unknown;
  isClosed = false;

  constructor(owner: LongPolls, route: CompiledRoute, response: ServerResponse, requestId: string) {
    this.#owner = owner;
    this.#route = route;
    this.#response = response;
    this.#requestId = requestId;
    (response as WaitingResponse)[pollOfResponse] = this;
    response.on('close', closed);
  }

  end(): void {
    if (this.state !== undefined) this.#route.end(this.state);
  }

  send(body: unknown, onLost?: () => void): void {
    if (this.#response.destroyed) {
      onLost?.();
      return;
    }
    const { operation } = this.#route;
    if (this.#owner.options.serving.validateResponses) {
      const parsed = operation.response.safeParse(body);
      if (!parsed.success) {
        onLost?.();
        this.fail(new Error(`the response of ${operation.id} violates its contract: ${parsed.error.message}`));
        return;
      }
    }
    this.#onLost = onLost;
    this.#write(200, {}, body);
  }

  fail(error: unknown): void {
    const { status, headers, body } = errorResponseOf(error, this.#requestId, this.#owner.options.logger);
    this.#write(status, headers, body);
  }

  /** Called when the response was sent or the connection ended. */
  closed(): void {
    const { statusCode, writableFinished } = this.#response;
    this.isClosed = true;
    this.#owner.remove(this);
    if (!writableFinished || statusCode !== 200) this.#onLost?.();
    this.end();
    const { operation, path } = this.#route;
    this.#owner.options.onFinished({
      requestId: this.#requestId,
      operationId: operation.id,
      method: operation.method,
      route: path,
      status: statusCode,
      startedAt: this.#startedAt,
    });
  }

  #write(status: number, headers: Record<string, string>, body: unknown): void {
    if (this.#response.headersSent || this.#response.destroyed) return;
    const text = JSON.stringify(body);
    this.#response.writeHead(status, [
      'X-Request-ID',
      this.#requestId,
      ...this.#owner.options.headers,
      ...Object.entries(headers).flat(),
      'Content-Type',
      'application/json; charset=utf-8',
      'Content-Length',
      String(Buffer.byteLength(text)),
    ]);
    this.#response.end(text);
  }
}

function closed(this: ServerResponse): void {
  (this as WaitingResponse)[pollOfResponse]?.closed();
}
