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
import { Opened } from './opened-socket.ts';
import type { OpenedSocket } from './opened-socket.ts';
import { PartialMessages } from './partial-messages.ts';

export type { OpenedSocket, WebSocket };

export interface SocketRoute {
  operation: Operation & { socket: NonNullable<Operation['socket']> };
  open(opened: OpenedSocket): void;
}

/** Binds an operation that becomes a WebSocket to whoever serves it. */
export const implementSocket = <Shape extends SocketRoute['operation']>(
  operation: Shape,
  open: (opened: OpenedSocket<Shape>) => void,
): SocketRoute => ({ operation, open: open as unknown as SocketRoute['open'] });

export interface SocketsOptions {
  serving: ServingOptions;
  routes: readonly SocketRoute[];
  logger: Logger;
  stopping: AbortSignal;
  /** Who watches the rights of people; without it only devices can open sockets. */
  rights?: SocketRights | undefined;
  /** How often whoever is connected is asked for a sign of life, in milliseconds. */
  pingMs?: number;
  onFinished: (operationId: string, status: number, seconds: number) => void;
}

const isWatched = (principal: Principal) =>
  principal.kind === 'session' || principal.kind === 'visitor' || principal.kind === 'token';
const noParams = z.strictObject({});
/** Fragments of one message, and pieces in which one may arrive, besides one for each 2,048 and each 512 bytes that it may have. */
const spareFragments = 32;
const spareChunks = 256;
const defaultPingMs = 20_000;
/** Pings are spread over so many moments of their period. */
const slices = 20;
/** How long the other side has to close, too, in milliseconds. */
const closeTimeoutMs = 2_000;
/** What may wait for a reader that takes nothing, in bytes. */
const maxUnsentBytes = 16 * 1024 * 1024;
/** A request that was refused has so long to take its answer, in milliseconds. */
const lingerMs = 1_000;

/** A socket under watch, and how its connection stood at the last look. */
interface Watched {
  connection: Socket;
  bytesRead: number;
  bytesWritten: number;
  /** Whether it was pinged then. */
  isAsked: boolean;
  /** What waited to be taken. */
  unsent: number;
}

interface KnownRoute extends SocketRoute {
  pattern: RegExp;
  server: WebSocketServer;
}

/** The WebSockets of a server: who may open one is decided as for every operation, and whoever shows no life loses it. */
export class Sockets implements Disposable {
  readonly #options: SocketsOptions;
  readonly #routes: readonly KnownRoute[];
  /** All that are open, by the slice in which they are pinged. */
  readonly #open = Array.from({ length: slices }, () => new Map<WebSocket, Watched>());
  /** Connections of which it is not known yet whether they become one. */
  readonly #asking = new Set<Duplex>();
  readonly #partial: PartialMessages;
  readonly #requestIds = new WeakMap<IncomingMessage, string>();
  readonly #timer: NodeJS.Timeout;
  readonly #forget: (this: WebSocket) => void;
  #next = 0;
  #tick = 0;

  constructor(options: SocketsOptions) {
    this.#options = options;
    const open = this.#open;
    this.#forget = function forget(this: WebSocket) {
      for (const slice of open) slice.delete(this);
    };
    this.#routes = options.routes.map((route) => {
      // What lasts must end when its caller loses the right to it; devices ask for what they get.
      const watched = options.rights === undefined ? ['device'] : ['device', 'session', 'visitor', 'token'];
      if (route.operation.callers.some((caller) => !watched.includes(caller)))
        throw new Error(`the socket ${route.operation.id} is open to callers whose rights nobody watches`);
      const { protocol, otherProtocols = false, maxFrameBytes } = route.operation.socket;
      return {
        ...route,
        pattern: new RegExp(`^${route.operation.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`),
        server: new WebSocketServer({
          noServer: true,
          clientTracking: false,
          perMessageDeflate: false,
          maxPayload: maxFrameBytes,
          // Each piece uses more memory than its bytes.
          maxFragments: spareFragments + Math.ceil(maxFrameBytes / 2_048),
          maxBufferedChunks: spareChunks + Math.ceil(maxFrameBytes / 512),
          // A client that offers subprotocols needs one of them in the answer.
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

  /** What answers a request that does not ask for what the operation is. */
  get plainRoutes(): Route[] {
    return this.#routes.map(({ operation }) => ({
      operation,
      handle: () => Promise.reject(upgradeRequired(operation)),
    }));
  }

  /** Whether a request asks for a WebSocket of this hub; whatever else somebody wants to upgrade to is answered as if they did not. */
  isFor(request: IncomingMessage): boolean {
    return (
      request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket' && this.#find(request) !== null
    );
  }

  serve(server: Server): void {
    server.on('upgrade', (request, socket, head) => {
      // Whoever is gone needs no answer.
      socket.on('error', destroy);
      this.#asking.add(socket);
      void this.#upgrade(request, socket as Socket, head).finally(() => this.#asking.delete(socket));
    });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const slice of this.#open) for (const socket of slice.keys()) socket.terminate();
    for (const socket of this.#asking) socket.destroy();
  }

  #find(request: IncomingMessage): { route: KnownRoute; params: Record<string, string> } | null {
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
        throw new AppError('unavailable', 'The hub stops; come back shortly.', { retryAfterSeconds: 1 });
      const foreign = operation.callers.includes('device') ? null : foreignOriginOf(request, serving.auth.hosts);
      const isAllowed = async (origin: string, tenantId: string | null) =>
        operation.callers.includes('session') && (await serving.auth.identity.origins.isAllowed(origin, tenantId));
      if (operation.callers.includes('device') && request.headers.origin !== undefined)
        throw new AppError('origin_not_allowed', 'This WebSocket is not for pages: leave Origin out.');
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
      const caller = isWatched(principal) ? principal : null;
      if (caller !== null) rights?.assertBelowLimit(caller);
      route.server.handleUpgrade(request, socket, head, (opened) => {
        this.#watch(opened, socket);
        this.#partial.watch(opened, socket, principal);
        // Only what authenticates the key is kept of the request.
        const { authorization, 'x-api-key': key } = request.headers;
        const again = { headers: { authorization, 'x-api-key': key } } as unknown as IncomingMessage;
        const check = () => authenticate(serving.auth, operation, again, address, params);
        if (caller !== null) {
          rights?.watch(opened, caller, operation, caller.kind === 'token' ? check : undefined);
          opened.on('close', () => rights?.unwatch(opened, caller));
        }
        finished(101);
        // As long as the socket is open nothing of its request is kept.
        route.open(new Opened(opened, operation, principal, requestId, { ...this.#options, check }));
      });
    } catch (error) {
      const { status, headers, body } = errorResponseOf(error, requestId, logger);
      refuse(socket, status, { ...headers, 'X-Request-ID': requestId }, JSON.stringify(body));
      finished(status);
    }
  }

  #watch(socket: WebSocket, connection: Socket): void {
    const slice = this.#open[this.#next] as Map<WebSocket, Watched>;
    this.#next = (this.#next + 1) % slices;
    slice.set(socket, { connection, bytesRead: -1, bytesWritten: -1, isAsked: false, unsent: 0 });
    // What went wrong is told by the close that follows.
    socket.on('error', ignore);
    socket.on('close', this.#forget);
  }

  #pingSlice(): void {
    this.#tick = (this.#tick + 1) % slices;
    const slice = this.#open[this.#tick] as Map<WebSocket, Watched>;
    for (const [socket, watched] of slice) {
      const { bytesRead, bytesWritten, writableLength: unsent } = watched.connection;
      const hasSpoken = bytesRead !== watched.bytesRead;
      // Any byte is a sign of life, also one of a frame that takes long, either way; and nobody is heard who is not listened to.
      const isAlive = hasSpoken || unsent < watched.unsent || socket.isPaused || !watched.isAsked;
      if (!isAlive || unsent > maxUnsentBytes || this.#partial.isOverdue(socket)) {
        socket.terminate();
        continue;
      }
      // Where both sides have spoken since, neither needs a ping to know of the other.
      watched.isAsked = !hasSpoken || bytesWritten === watched.bytesWritten;
      watched.bytesRead = bytesRead;
      watched.unsent = unsent;
      if (watched.isAsked) socket.ping();
      watched.bytesWritten = watched.connection.bytesWritten;
    }
  }
}

/** Listeners are the same for all sockets: each of its own would stay as long as its socket is open. */
const ignore = (): void => undefined;
function destroy(this: Duplex): void {
  this.destroy();
}

const upgradeRequired = ({ socket }: SocketRoute['operation']) =>
  new AppError(
    'upgrade_required',
    `This is a WebSocket: ask with Upgrade: websocket, Sec-WebSocket-Version: 13, a Sec-WebSocket-Key${socket.otherProtocols === true ? '' : ` and Sec-WebSocket-Protocol: ${socket.protocol}`}.`,
    { headers: { Upgrade: 'websocket' } },
  );

/** Answers a request whose connection no server reads any more. */
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
