import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import express from 'express';
import type { Request, Response } from 'express';
import helmet from 'helmet';
import { AppError } from '../../../shared/errors.ts';
import type { Logger } from '../observability/logger.ts';
import { background } from '../process/background.ts';
import { clientAddress } from './auth/client-address.ts';
import { respondToPreflight } from './auth/cross-origin.ts';
import type { SocketRights } from './auth/socket-rights.ts';
import { listen } from './listen.ts';
import { LongPolls } from './live/long-polls.ts';
import type { FinishedRequest, LongPollRoute } from './live/long-polls.ts';
import { Sockets } from './live/sockets.ts';
import type { SocketRoute } from './live/sockets.ts';
import { startBodyTimeout } from './routing/body-timeout.ts';
import type { BodyLimits, BodyTimeout } from './routing/body-timeout.ts';
import { callerDisconnected } from './routing/caller-disconnected.ts';
import { closeWithoutRequest, guardConnections, limitPipelining } from './routing/connections.ts';
import { sendError } from './routing/errors.ts';
import type { Route } from './routing/implement.ts';
import { newRequestId, requestIdOf } from './routing/request-id.ts';
import { setLingerLimits } from './routing/send-json.ts';
import type { LingerLimits } from './routing/send-json.ts';
import { serveOperation } from './routing/serve-operation.ts';
import type { ServingOptions } from './routing/serve-operation.ts';

export interface HttpServerOptions extends ServingOptions {
  routes: readonly Route[];
  sockets: readonly SocketRoute[];
  /** Operations among `routes` that are long polls, served without the overhead of Express. */
  longPolls: readonly LongPollRoute[];
  /** Pages beside the API: the status page, the reference, the metrics. */
  pages: express.Router;
  socketRights: SocketRights;
  logger: Logger;
  publicUrl: string | null;
  /** Time limits for request bodies; set by tests. */
  bodyLimits?: BodyLimits;
  /** Time limits for the rest of a request body after an early response; set by tests. */
  lingerLimits?: LingerLimits;
  onFinished: (operationId: string, status: number, seconds: number) => void;
}

/** The HTTP server of the hub. */
export interface HttpServer {
  /** @throws AppError when the port is in use. */
  listen(host: string, port: number): Promise<string>;
  /** Accepts no more connections, ends long polls, and waits for other requests until the deadline. */
  drain(deadlineMs: number): Promise<void>;
}

/** Time to send the error response for a request body that timed out, before its connection is destroyed. */
const errorFlushMs = 1_000;
const defaultBodyLimits: BodyLimits = { totalMs: 120_000, idleMs: 30_000 };

interface RequestState {
  requestId: string;
  startedAt: number;
  bodyTimeout: BodyTimeout;
  operationId: string;
}

/** Creates the server of the routes, WebSockets and pages. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  if (options.lingerLimits !== undefined) setLingerLimits(app, options.lingerLimits);
  const states = new WeakMap<Request, RequestState>();
  const stopping = new AbortController();
  const headers = securityHeaders(options.publicUrl?.startsWith('https:') === true);
  const finished = ({ requestId, operationId, method, route, status, startedAt }: FinishedRequest) => {
    const seconds = (performance.now() - startedAt) / 1000;
    options.onFinished(operationId, status, seconds);
    options.logger.debug({ requestId, method, route, status, ms: Math.round(seconds * 1000) }, 'request');
  };

  app.use((request, response, next) => {
    const requestId = requestIdOf(request);
    const bodyTimeout = startBodyTimeout(request, options.bodyLimits ?? defaultBodyLimits, () =>
      endOnBodyTimeout(request, response, requestId, options.logger),
    );
    const state: RequestState = { requestId, startedAt: performance.now(), bodyTimeout, operationId: 'none' };
    states.set(request, state);
    response.setHeader('X-Request-ID', state.requestId);
    for (const [name, value] of headers) response.setHeader(name, value);
    response.on('close', () =>
      finished({ ...state, method: request.method, route: routeOf(request), status: response.statusCode }),
    );
    next();
  });

  const sockets = new Sockets({
    serving: options,
    routes: options.sockets,
    logger: options.logger,
    stopping: stopping.signal,
    rights: options.socketRights,
    onFinished: options.onFinished,
  });
  const longPolls = new LongPolls({
    serving: options,
    routes: options.longPolls,
    logger: options.logger,
    stopping: stopping.signal,
    headers: headers.flat(),
    onFinished: finished,
  });
  const byPath = Map.groupBy([...options.routes, ...sockets.plainRoutes], (route) => route.operation.path);
  for (const [path, routes] of byPath) {
    app.all(path.replaceAll(/\{(\w+)\}/g, ':$1'), async (request, response) => {
      const state = states.get(request) as RequestState;
      if (request.method === 'OPTIONS') {
        const { auth, limitAddress } = options;
        const crossOrigin = { origins: auth.identity.origins, hosts: auth.hosts, limitAddress };
        const operations = routes.map(({ operation }) => operation);
        const address = clientAddress(request, options.trustedProxies);
        if (await respondToPreflight(crossOrigin, operations, request, response, address)) return;
      }
      const method = request.method === 'HEAD' ? 'GET' : request.method;
      const route = routes.find((candidate) => candidate.operation.method === method);
      if (route === undefined) {
        const allow = routes.map((candidate) => candidate.operation.method).join(', ');
        sendError(
          response,
          new AppError('method_not_allowed', `${request.method} is not supported here; allowed: ${allow}.`, {
            headers: { Allow: allow },
          }),
          state.requestId,
          options.logger,
        );
        return;
      }
      state.operationId = route.operation.id;
      serveOperation(options, route, request, response, { ...state, stopping: stopping.signal }).catch(
        (error: unknown) => {
          // The caller disconnected, which is not a failure.
          if (error === callerDisconnected) response.destroy();
          else sendError(response, error, state.requestId, options.logger);
        },
      );
    });
  }
  app.use(options.pages);
  app.use((request, response) => {
    sendError(
      response,
      new AppError('not_found', `There is nothing at ${request.path.slice(0, 200)}; /docs lists every operation.`),
      (states.get(request) as RequestState).requestId,
      options.logger,
    );
  });
  app.use((error: unknown, request: Request, response: Response, _next: express.NextFunction) => {
    // Express throws when a path cannot be decoded.
    const known =
      error instanceof URIError || (error as { status?: number }).status === 400
        ? new AppError('validation_failed', 'The path is not valid percent-encoding.', { cause: error })
        : error;
    sendError(response, known, states.get(request)?.requestId ?? newRequestId(), options.logger);
  });

  const isWithinPipeline = limitPipelining();
  // `requestTimeout` is off because the limit for a body depends on the operation: `startBodyTimeout` enforces it.
  const server = createServer(
    {
      maxHeaderSize: 32 * 1024,
      requestTimeout: 0,
      headersTimeout: 20_000,
      connectionsCheckingInterval: 5_000,
      keepAliveTimeout: 65_000,
      // Node.js would respond to requests without a Host header before `limitPipelining` counts them.
      requireHostHeader: false,
      shouldUpgradeCallback: (request) => sockets.handlesUpgrade(request),
    },
    (request, response) => {
      if (!isWithinPipeline(request, response)) return;
      if (request.headers.host === undefined && request.httpVersion !== '1.0') {
        response.writeHead(400, { Connection: 'close' }).end();
        return;
      }
      if (!longPolls.serve(request, response)) app(request, response);
    },
  );
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    if (isWithinPipeline(request, response)) response.writeHead(417).end();
  });
  sockets.serve(server);
  guardConnections(server);
  const closeRest = closeWithoutRequest(server);

  return {
    listen: (host, port) => listen(server, host, port),
    async drain(deadlineMs) {
      stopping.abort();
      // Connections that have arrived and are not accepted yet would be reset.
      await delay(acceptGraceMs);
      await acceptPending(server, deadlineMs / 2);
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeIdleConnections();
      const timer = setTimeout(() => {
        sockets[Symbol.dispose]();
        server.closeAllConnections();
      }, deadlineMs);
      // Busy connections become idle one by one, and would otherwise be kept alive.
      const startedAt = performance.now();
      const closeIdle = async () => {
        // On a busy machine, timers fire before received requests are read from the kernel.
        await setImmediate();
        server.closeIdleConnections();
        // A partial request has had the time to arrive completely.
        if (performance.now() - startedAt > partialRequestGraceMs) closeRest();
      };
      const sweep = setInterval(() => background(closeIdle(), options.logger, 'closing idle connections'), 100);
      await closed;
      clearTimeout(timer);
      clearInterval(sweep);
      sockets[Symbol.dispose]();
    },
  };
}

/** Time for which a shutdown continues to accept connections. */
const acceptGraceMs = 100;

/**
 * Waits until the event loop has accepted the pending connections of the kernel and has read their requests. One turn
 * of the loop accepts a connection, the next turn reads its request, and on a busy machine timers fire before either.
 */
async function acceptPending(server: Server, deadlineMs: number): Promise<void> {
  let accepted = 0;
  const count = () => {
    accepted += 1;
  };
  server.on('connection', count);
  const startedAt = performance.now();
  for (let quietTurns = 0; quietTurns < 3 && performance.now() - startedAt < deadlineMs; quietTurns += 1) {
    const before = accepted;
    await setImmediate();
    if (accepted > before) quietTurns = 0;
  }
  server.off('connection', count);
}

/** Time for which a shutdown waits for the rest of a partial request. */
const partialRequestGraceMs = 1_000;

/** Security headers for browsers, the same for every response. */
function securityHeaders(isHttps: boolean): [name: string, value: string][] {
  const found: [string, string][] = [];
  const setHeader = (name: string, value: string) => {
    found.push([name, value]);
  };
  const set = helmet({
    strictTransportSecurity: isHttps,
    contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
  });
  set({} as IncomingMessage, { setHeader, removeHeader: () => undefined } as unknown as ServerResponse, (error) => {
    if (error !== undefined) throw error as Error;
  });
  return found;
}

/** The path pattern that a request matched. Logs must not contain paths, because some paths contain tokens of links. */
function routeOf(request: Request): string {
  return (request.route as { path?: string } | undefined)?.path ?? 'none';
}

/**
 * Sends an error response for a body that timed out, and destroys the connection, also when the response is not read.
 */
function endOnBodyTimeout(request: Request, response: Response, requestId: string, logger: Logger): void {
  // The request is destroyed as well, because a destroyed socket alone does not notify a handler that still reads the
  // body.
  const end = () => {
    request.destroy();
    request.socket.destroy();
  };
  setTimeout(end, errorFlushMs).unref();
  if (response.headersSent) return;
  response.once('finish', end);
  response.setHeader('Connection', 'close');
  sendError(
    response,
    new AppError('request_timeout', 'The body took too long to arrive; send it again.'),
    requestId,
    logger,
  );
}
