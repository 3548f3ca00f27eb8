import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { ServerOptions, WebSocket } from 'ws';
import { z } from 'zod';
import { bearerProtocolPrefix } from '../../../../shared/contract/chat/live.ts';
import type { Operation } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Logger } from '../../observability/logger.ts';
import { background } from '../../process/background.ts';
import { authenticate } from '../auth/auth.ts';
import { clientAddress } from '../auth/client-address.ts';
import { foreignOriginOf, notAllowed, notOwnOrigin } from '../auth/cross-origin.ts';
import type { Principal } from '../auth/principal.ts';
import type { SocketRights } from '../auth/socket-rights.ts';
import { errorResponseOf, parsePart } from '../routing/errors.ts';
import type { Route } from '../routing/implement.ts';
import { authenticateLimited, limitCaller } from '../routing/limited-calls.ts';
import { requestIdOf } from '../routing/request-id.ts';
import type { ServingOptions } from '../routing/serve-operation.ts';
import { AuthenticatedSocket } from './opened-socket.ts';
import type { OpenedSocket } from './opened-socket.ts';
import { PartialMessages } from './partial-messages.ts';

export type { OpenedSocket, WebSocket };

export interface SocketRoute {
  operation: Operation & { socket: NonNullable<Operation['socket']> };
  open(opened: OpenedSocket): void;
}

/** Binds a WebSocket operation to its handler. */
export const implementSocket = <Shape extends SocketRoute['operation']>(
  operation: Shape,
  open: (opened: OpenedSocket<Shape>) => void,
): SocketRoute => ({ operation, open: open as unknown as SocketRoute['open'] });

export interface SocketsOptions {
  serving: ServingOptions;
  routes: readonly SocketRoute[];
  logger: Logger;
  stopping: AbortSignal;
  /** Monitors the access of users, visitors and API keys. Without it, only devices can open sockets. */
  rights?: SocketRights | undefined;
  /** Interval of the pings to each client. */
  pingMs?: number;
  onFinished: (operationId: string, status: number, seconds: number) => void;
}

const isMonitored = (principal: Principal) =>
  principal.kind === 'session' || principal.kind === 'visitor' || principal.kind === 'token';
const noParams = z.strictObject({});
/** Allowed fragments of a message, in addition to one per 2,048 bytes of the maximum frame size. */
const extraFragments = 32;
/** Allowed chunks of a message, in addition to one per 512 bytes of the maximum frame size. */
const extraChunks = 256;
const defaultPingMs = 20_000;
/** Pings are spread over this number of ticks of the ping interval. */
const slices = 20;
/** Time for the client to complete the closing handshake. */
const closeTimeoutMs = 2_000;
/** Maximum bytes that are buffered for a client that does not read. */
const maxUnsentBytes = 16 * 1024 * 1024;
/** Time for the client to read the response to a refused upgrade. */
const lingerMs = 1_000;

/** The state of the connection of a socket at its last tick. */
interface ConnectionState {
  connection: Socket;
  bytesRead: number;
  bytesWritten: number;
  /** Whether the client was pinged. */
  isPinged: boolean;
  /** Bytes that were buffered. */
  unsent: number;
}

interface CompiledRoute extends SocketRoute {
  pattern: RegExp;
  server: WebSocketServer;
}

/**
 * The WebSockets of a server. Opening one is authorized like any operation. Clients that do not respond to pings are
 * disconnected.
 */
export class Sockets implements Disposable {
  readonly #options: SocketsOptions;
  readonly #routes: readonly CompiledRoute[];
  /** The open sockets, by the slice in which they are pinged. */
  readonly #open = Array.from({ length: slices }, () => new Map<WebSocket, ConnectionState>());
  /** Connections whose upgrade is in progress. */
  readonly #upgrading = new Set<Duplex>();
  readonly #partial: PartialMessages;
  readonly #requestIds = new WeakMap<IncomingMessage, string>();
  readonly #timer: NodeJS.Timeout;
  readonly #onClose: (this: WebSocket) => void;
  #next = 0;
  #tick = 0;

  constructor(options: SocketsOptions) {
    this.#options = options;
    const open = this.#open;
    this.#onClose = function onClose(this: WebSocket) {
      for (const slice of open) slice.delete(this);
    };
    this.#routes = options.routes.map((route) => {
      // A socket must end when its caller loses access. Devices are verified with each of their requests instead.
      const monitored = options.rights === undefined ? ['device'] : ['device', 'session', 'visitor', 'token'];
      if (route.operation.callers.some((caller) => !monitored.includes(caller)))
        throw new Error(`the socket ${route.operation.id} allows callers whose access is not monitored`);
      const { protocol, otherProtocols = false, maxFrameBytes } = route.operation.socket;
      return {
        ...route,
        pattern: new RegExp(`^${route.operation.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`),
        server: new WebSocketServer({
          noServer: true,
          clientTracking: false,
          perMessageDeflate: false,
          maxPayload: maxFrameBytes,
          // Each fragment and chunk uses more memory than its bytes.
          maxFragments: extraFragments + Math.ceil(maxFrameBytes / 2_048),
          maxBufferedChunks: extraChunks + Math.ceil(maxFrameBytes / 512),
          // A client that offers subprotocols requires one of them in the response.
          handleProtocols: (offered) =>
            !otherProtocols || offered.has(protocol)
              ? protocol
              : ([...offered].find((name) => !name.startsWith(bearerProtocolPrefix)) ?? false),
          closeTimeout: closeTimeoutMs,
        } as ServerOptions),
      };
    });
    for (const { operation, server } of this.#routes)
      server.on('wsClientError', (_error, socket, request) => {
        const requestId = this.#requestIds.get(request) ?? requestIdOf(request);
        const { status, headers, body } = errorResponseOf(upgradeRequired(operation), requestId, options.logger);
        refuse(socket, status, { ...headers, 'X-Request-ID': requestId }, JSON.stringify(body));
        options.onFinished(operation.id, status, 0);
      });
    for (const { server } of this.#routes)
      server.on('headers', (headers, request) => {
        const requestId = this.#requestIds.get(request);
        if (requestId !== undefined) headers.push(`X-Request-ID: ${requestId}`);
      });
    this.#partial = new PartialMessages(options.serving.incomingMemory);
    this.#timer = setInterval(() => this.#pingSlice(), (options.pingMs ?? defaultPingMs) / slices);
    this.#timer.unref();
  }

  /** Routes for plain requests to the paths of sockets. They respond with `upgrade_required`. */
  get plainRoutes(): Route[] {
    return this.#routes.map(({ operation }) => ({
      operation,
      handle: () => Promise.reject(upgradeRequired(operation)),
    }));
  }

  /** Whether a request opens a WebSocket of this hub. Other `Upgrade` headers are ignored. */
  handlesUpgrade(request: IncomingMessage): boolean {
    return (
      request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket' && this.#find(request) !== null
    );
  }

  serve(server: Server): void {
    server.on('upgrade', (request, socket, head) => {
      // A disconnected client needs no response.
      socket.on('error', destroy);
      this.#upgrading.add(socket);
      const upgrade = this.#upgrade(request, socket as Socket, head).finally(() => this.#upgrading.delete(socket));
      background(upgrade, this.#options.logger, 'upgrade to a WebSocket');
    });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const slice of this.#open) for (const socket of slice.keys()) socket.terminate();
    for (const socket of this.#upgrading) socket.destroy();
  }

  #find(request: IncomingMessage): { route: CompiledRoute; params: Record<string, string> } | null {
    const path = (request.url ?? '').split('?', 1)[0] as string;
    for (const route of this.#routes) {
      const match = route.pattern.exec(path);
      if (match !== null) return { route, params: { ...match.groups } };
    }
    return null;
  }

  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { serving, logger, stopping, rights, onFinished } = this.#options;
    const startedAt = performance.now();
    const requestId = requestIdOf(request);
    this.#requestIds.set(request, requestId);
    const found = this.#find(request);
    if (found === null) {
      socket.destroy();
      return;
    }
    const { route } = found;
    const { operation } = route;
    const finished = (status: number) => onFinished(operation.id, status, (performance.now() - startedAt) / 1000);
    try {
      if (stopping.aborted)
        throw new AppError('unavailable', 'The hub is shutting down; try again shortly.', { retryAfterSeconds: 1 });
      const foreign = operation.callers.includes('device') ? null : foreignOriginOf(request, serving.auth.hosts);
      const isAllowed = async (origin: string, tenantId: string | null) =>
        operation.callers.includes('session') && (await serving.auth.identity.origins.isAllowed(origin, tenantId));
      if (operation.callers.includes('device') && request.headers.origin !== undefined)
        throw new AppError('origin_not_allowed', 'Pages cannot open this WebSocket; leave the Origin header out.');
      if (foreign !== null && !(await isAllowed(foreign, null))) throw notOwnOrigin();
      const address = clientAddress(request, serving.trustedProxies);
      const principal = await authenticateLimited(serving, operation, request, address, found.params, () => undefined);
      if (foreign !== null && !(principal.kind === 'session' && (await isAllowed(foreign, principal.tenantId))))
        throw notAllowed(foreign);
      await limitCaller(serving, principal, () => undefined);
      const params = parsePart('params', operation.params ?? noParams, found.params) as Record<string, string>;
      const { protocol, otherProtocols = false } = operation.socket;
      const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
      if (!otherProtocols && !offered.includes(protocol)) throw upgradeRequired(operation);
      const caller = isMonitored(principal) ? principal : null;
      if (caller !== null) rights?.assertBelowLimit(caller);
      route.server.handleUpgrade(request, socket, head, (opened) => {
        this.#watch(opened, socket);
        this.#partial.watch(opened, socket, principal);
        // Only the headers with the key are kept of the request.
        const { authorization, 'x-api-key': key } = request.headers;
        const credentials = { headers: { authorization, 'x-api-key': key } } as unknown as IncomingMessage;
        const check = () => authenticate(serving.auth, operation, credentials, address, params);
        if (caller !== null) {
          rights?.watch(opened, caller, operation, caller.kind === 'token' ? check : undefined);
          opened.on('close', () => rights?.unwatch(opened, caller));
        }
        finished(101);
        // The request is not passed on, so that it does not use memory while the socket is open.
        route.open(new AuthenticatedSocket(opened, operation, principal, requestId, { ...this.#options, check }));
      });
    } catch (error) {
      const { status, headers, body } = errorResponseOf(error, requestId, logger);
      refuse(socket, status, { ...headers, 'X-Request-ID': requestId }, JSON.stringify(body));
      finished(status);
    }
  }

  #watch(socket: WebSocket, connection: Socket): void {
    const slice = this.#open[this.#next] as Map<WebSocket, ConnectionState>;
    this.#next = (this.#next + 1) % slices;
    slice.set(socket, { connection, bytesRead: -1, bytesWritten: -1, isPinged: false, unsent: 0 });
    // The event `close` follows and reports the error.
    socket.on('error', ignore);
    socket.on('close', this.#onClose);
  }

  #pingSlice(): void {
    this.#tick = (this.#tick + 1) % slices;
    const slice = this.#open[this.#tick] as Map<WebSocket, ConnectionState>;
    for (const [socket, state] of slice) {
      const { bytesRead, bytesWritten, writableLength: unsent } = state.connection;
      const hasReceived = bytesRead !== state.bytesRead;
      // Any received or sent byte shows that the client is alive, also within a long frame. A paused socket receives
      // nothing.
      const isAlive = hasReceived || unsent < state.unsent || socket.isPaused || !state.isPinged;
      if (!isAlive || unsent > maxUnsentBytes || this.#partial.isOverdue(socket)) {
        socket.terminate();
        continue;
      }
      // No ping is needed when both sides have sent bytes since the last tick.
      state.isPinged = !hasReceived || bytesWritten === state.bytesWritten;
      state.bytesRead = bytesRead;
      state.unsent = unsent;
      if (state.isPinged) socket.ping();
      state.bytesWritten = state.connection.bytesWritten;
    }
  }
}

/** All sockets share these listeners, because a closure for each socket would use memory while the socket is open. */
const ignore = (): void => undefined;
function destroy(this: Duplex): void {
  this.destroy();
}

const upgradeRequired = ({ socket }: SocketRoute['operation']) =>
  new AppError(
    'upgrade_required',
    `This is a WebSocket: send Upgrade: websocket, Sec-WebSocket-Version: 13, a Sec-WebSocket-Key${socket.otherProtocols === true ? '' : ` and Sec-WebSocket-Protocol: ${socket.protocol}`}.`,
    { headers: { Upgrade: 'websocket' } },
  );

/** Responds to a refused upgrade. The HTTP server no longer manages the connection. */
function refuse(socket: Duplex, status: number, headers: Record<string, string>, body: string): void {
  if (socket.destroyed) return;
  const lines = Object.entries({
    ...headers,
    Connection: 'close',
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\n${lines.join('')}\r\n${body}`);
  socket.resume();
  const linger = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(linger));
}
