import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Operation } from '../../../../shared/contract/define.ts';
import type { Logger } from '../../observability/logger.ts';
import { authenticate, cachedDevice } from '../auth/auth.ts';
import type { PrincipalOf } from '../auth/principal.ts';
import { errorResponseOf, parsePart } from '../routing/errors.ts';
import { limitCaller } from '../routing/limited-calls.ts';
import { parseQuery } from '../routing/parse-query.ts';
import { requestIdOf } from '../routing/request-id.ts';
import type { ServingOptions } from '../routing/serve-operation.ts';

/** What somebody asks to wait for, parsed by the contract. */
export interface AskedWait<Shape = Operation> {
  principal: PrincipalOf<Shape>;
  /** Whether it is sure who asks; if not, nothing is answered before it was confirmed. */
  isConfirmed: boolean;
  query: Shape extends { query: infer Query extends z.ZodType } ? z.output<Query> : undefined;
}

/** A request that waits for its answer. */
export interface WaitingRequest {
  /** Answers it; `onLost` is called once it is certain that the answer did not leave the hub whole. */
  send(body: unknown, onLost?: () => void): void;
  fail(error: unknown): void;
}

/** An operation of devices whose requests wait for most of their time: while one does, all that there is of it is its connection and what it asked for. */
export interface LongPollRoute<Shape = Operation, Wait = unknown> {
  operation: Operation;
  begin(asked: AskedWait<Shape>, request: WaitingRequest): Wait;
  /** Has it answered soon: the hub stops, or nobody listens any more. */
  end(wait: Wait): void;
}

/** Binds an operation to whoever has its requests wait. */
export const implementLongPoll = <Shape, Wait>(route: LongPollRoute<Shape, Wait>): LongPollRoute =>
  route as unknown as LongPollRoute;

export interface WaitsOptions {
  serving: ServingOptions;
  routes: readonly LongPollRoute[];
  logger: Logger;
  stopping: AbortSignal;
  /** Those that every answer has, names and values in turns. */
  headers: readonly string[];
  onFinished: (finished: FinishedRequest) => void;
}

/** A request that is over, as it is counted and logged. */
export interface FinishedRequest {
  requestId: string;
  operationId: string;
  method: string | undefined;
  /** The pattern of its path. */
  route: string;
  status: number;
  startedAt: number;
}

interface KnownRoute extends LongPollRoute {
  pattern: RegExp;
  /** As the log of requests names it. */
  path: string;
}

const waitingOf = Symbol('waiting');
type WaitingResponse = ServerResponse & { [waitingOf]?: Waiting };

/**
 * Serves plain requests of operations that wait, before they come to anything that would keep more of them. Whatever is unusual about one (another spelling,
 * a body, a trace) is left to the way that all operations go.
 */
export class LongPolls {
  readonly options: WaitsOptions;
  readonly #routes: readonly KnownRoute[];
  readonly #open = new Set<Waiting>();

  constructor(options: WaitsOptions) {
    this.options = options;
    this.#routes = options.routes.map((route) => {
      if (route.operation.callers.some((caller) => caller !== 'device'))
        throw new Error(`${route.operation.id} waits for callers that are no devices`);
      const { path } = route.operation;
      return {
        ...route,
        pattern: new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[\\w-]+)')}(?:\\?|$)`),
        path: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      };
    });
    options.stopping.addEventListener('abort', () => {
      for (const waiting of this.#open) waiting.end();
    });
  }

  /** Serves a request, or answers false when it is not one of these. */
  serve(request: IncomingMessage, response: ServerResponse): boolean {
    const { method, url = '', headers } = request;
    if (method !== 'GET' || headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined)
      return false;
    if (headers.traceparent !== undefined && this.options.serving.tracing !== null) return false;
    for (const route of this.#routes) {
      const match = route.pattern.exec(url);
      if (match === null) continue;
      const waiting = new Waiting(this, route, response, requestIdOf(request));
      this.#open.add(waiting);
      void this.#begin(route, request, { ...match.groups }, waiting);
      return true;
    }
    return false;
  }

  left(waiting: Waiting): void {
    this.#open.delete(waiting);
  }

  /** Never rejects. */
  async #begin(
    { operation, begin }: KnownRoute,
    request: IncomingMessage,
    given: Record<string, string>,
    waiting: Waiting,
  ): Promise<void> {
    const { serving, stopping } = this.options;
    let confirm: (() => Promise<unknown>) | undefined;
    try {
      const recalled = cachedDevice(serving.auth, request, given);
      if (recalled !== null) confirm = () => authenticate(serving.auth, operation, request, '', given);
      const principal = recalled ?? (await authenticate(serving.auth, operation, request, '', given));
      await limitCaller(serving, principal, () => undefined);
      const query = operation.query && parsePart('query', operation.query, parseQuery(request.url ?? ''));
      forget(request);
      waiting.wait = begin(
        { principal: principal as never, isConfirmed: recalled === null, query: query as never },
        waiting,
      );
      if (stopping.aborted || waiting.isOver) waiting.end();
    } catch (error) {
      // Whoever is not let in any more hears that, and nothing of what is wrong with the request.
      const refusal = await confirm?.().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      waiting.fail(refusal ?? error);
    }
  }
}

const noHeaders = Object.freeze({});
const noLines: string[] = [];

/** Lets go of what a request brought: for as long as it waits nobody asks for that. */
function forget(request: IncomingMessage): void {
  request.headers = noHeaders;
  request.rawHeaders = noLines;
  request.url = '';
}

class Waiting implements WaitingRequest {
  readonly #owner: LongPolls;
  readonly #route: KnownRoute;
  readonly #response: ServerResponse;
  readonly #requestId: string;
  readonly #startedAt = performance.now();
  #onLost: (() => void) | undefined;
  /** What the route began for it. */
  wait: unknown;
  isOver = false;

  constructor(owner: LongPolls, route: KnownRoute, response: ServerResponse, requestId: string) {
    this.#owner = owner;
    this.#route = route;
    this.#response = response;
    this.#requestId = requestId;
    (response as WaitingResponse)[waitingOf] = this;
    response.on('close', closed);
  }

  end(): void {
    if (this.wait !== undefined) this.#route.end(this.wait);
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
        this.fail(new Error(`the answer of ${operation.id} breaks its contract: ${parsed.error.message}`));
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

  /** When the connection is gone, or the answer left. */
  closed(): void {
    const { statusCode, writableFinished } = this.#response;
    this.isOver = true;
    this.#owner.left(this);
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
  (this as WaitingResponse)[waitingOf]?.closed();
}
