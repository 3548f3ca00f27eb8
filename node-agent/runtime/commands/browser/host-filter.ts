import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage, RequestOptions, ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, isIP } from 'node:net';
import type { AddressInfo, LookupFunction, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { isLoopback, knownAddresses } from './addresses.ts';
import type { Destination } from './addresses.ts';
import { addressProblem, destinationOf, nameProblem } from './host-rules.ts';
import type { HostRules } from './host-rules.ts';
import { ownerProxyFor, ProxySettingsError } from './owner-proxy.ts';
import type { OwnerProxy } from './owner-proxy.ts';

/** Headers that apply to one connection. A proxy does not forward them. */
const hopByHopHeaders = new Set([
  'connection',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'proxy-authentication-info',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
]);

/** Time limit for a connection to a server or a proxy. */
const connectTimeoutMs = 30_000;
/** Destinations whose last problem is kept, so that a command can report it. */
const maxProblems = 200;
/** Error codes of Node for a response that it cannot parse or forward. */
const invalidResponse = /^(HPE_|ERR_HTTP_|ERR_INVALID_CHAR)/;
/** Size limit of the response of the owner's proxy to CONNECT. */
const maxProxyHeadBytes = 16 * 1024;

export type Resolve = (host: string) => Promise<string[]>;

const resolveBySystem: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);

/** Why a destination could not be reached. */
export interface DestinationProblem {
  /** Whether the owner's rules refuse the destination; false for a failure of the network. */
  isRefused: boolean;
  message: string;
}

/** The route to a destination: direct, at addresses that the rules allow, or through the owner's proxy. */
type Route = { addresses: string[] } | { proxy: OwnerProxy };

/** The server to which a connection of the browser is forwarded. */
interface ConnectionTarget {
  destination: Destination;
  /** The address of the server; null through a proxy, or before the filter is connected. */
  address: string | null;
}

/** The reason why a destination cannot be reached. */
class Unreachable extends Error {
  readonly isRefused: boolean;

  constructor(message: string, isRefused: boolean) {
    super(message);
    this.isRefused = isRefused;
  }
}

const challenge = 'Basic realm="outrigger-companion"';
const sha256 = (text: string) => createHash('sha256').update(text).digest();

/**
 * An HTTP proxy on this machine for all traffic of the browser: pages and their resources, beacons, WebSockets, service
 * workers, prefetches and preconnects. The filter resolves each name once per connection, checks the addresses, and
 * connects only to checked addresses. Therefore a name that later resolves to another address (DNS rebinding) has no
 * effect.
 *
 * Every user of the machine can connect to the port, so the filter serves only requests with its credentials. They are
 * random, and only the browser gets them.
 */
export class HostFilter implements AsyncDisposable {
  readonly #server = createServer();
  readonly #rules: () => HostRules;
  readonly #resolve: Resolve;
  /** Connections of the browser. The target is set for tunnels and during a request; else null. */
  readonly #sockets = new Map<Duplex, ConnectionTarget | null>();
  readonly #problems = new Map<string, DestinationProblem>();
  readonly credentials = { username: 'browser', password: randomBytes(32).toString('base64url') };
  readonly #authorizationHash = sha256(
    `Basic ${Buffer.from(`${this.credentials.username}:${this.credentials.password}`).toString('base64')}`,
  );
  /** Called when a request without the credentials was refused. */
  onUnauthorized: () => void = () => undefined;

  private constructor(rules: () => HostRules, resolve: Resolve) {
    this.#rules = rules;
    this.#resolve = resolve;
    this.#server.on('connection', (socket: Socket) => this.#trackConnection(socket, null));
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#forward(request, response).catch(() => request.socket.destroy());
    });
    this.#server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#tunnel(request, socket, head).catch(() => socket.destroy());
    });
    this.#server.on('clientError', (_error, socket) => socket.destroy());
    // The server emits an error for each connection that it cannot accept, such as when no file descriptor is free.
    this.#server.on('error', () => undefined);
  }

  /** Starts a filter on a free port of 127.0.0.1. `rules` is called for every request. */
  static async listen(rules: () => HostRules, resolve: Resolve = resolveBySystem): Promise<HostFilter> {
    const filter = new HostFilter(rules, resolve);
    await new Promise<void>((done, reject) => {
      filter.#server.once('error', reject);
      filter.#server.listen(0, '127.0.0.1', done);
    });
    return filter;
  }

  /** The address of the proxy. The filter itself answers a request for it, with 204. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Why the last connection to the host and port of an address failed; null if it did not fail. */
  problemOf(address: string): DestinationProblem | null {
    return URL.canParse(address) ? (this.#problems.get(keyOf(destinationOf(new URL(address)))) ?? null) : null;
  }

  /** Closes the connections that the rules no longer allow. */
  recheck(): void {
    const rules = this.#rules();
    for (const [socket, target] of this.#sockets) {
      if (target === null) continue;
      const { destination, address } = target;
      const isRefused =
        nameProblem(destination.host, rules) !== null ||
        (address !== null && addressProblem(destination, address, rules) !== null);
      if (isRefused) socket.destroy();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    for (const socket of this.#sockets.keys()) socket.destroy();
    await closed;
  }

  /** Whether a request has the credentials. The hashes have equal lengths, so the time does not depend on the header. */
  #isAuthorized({ headers }: IncomingMessage): boolean {
    const isEqual = timingSafeEqual(sha256(headers['proxy-authorization'] ?? ''), this.#authorizationHash);
    if (!isEqual) this.onUnauthorized();
    return isEqual;
  }

  /** Checks a destination against the rules and returns the route to it. @throws Unreachable, ProxySettingsError. */
  async #route(destination: Destination, isTunnel: boolean): Promise<Route> {
    const { host, port } = destination;
    const rules = this.#rules();
    const refused = nameProblem(host, rules);
    if (refused !== null) throw new Unreachable(refused, true);
    const known = knownAddresses(host);
    const proxy =
      known !== null && known.every(isLoopback) ? null : ownerProxyFor({ host, port, isTunnel }, process.env);
    const addresses = known ?? (await this.#resolve(host).catch(() => []));
    const problems = addresses.map((address) => addressProblem(destination, address, rules));
    const usable = addresses.filter((_address, index) => problems[index] === null);
    if (addresses.length > 0 && usable.length === 0) throw new Unreachable(problems[0] as string, true);
    // A machine behind a proxy may be unable to resolve names. Then the proxy resolves the name.
    if (proxy !== null) return { proxy };
    if (usable.length === 0) throw new Unreachable(`the name ${host} can't be resolved`, false);
    return { addresses: usable };
  }

  /** Stores why a connection to a destination failed. */
  #failed(destination: Destination, error: unknown): void {
    const key = keyOf(destination);
    const code = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    this.#problems.delete(key);
    this.#problems.set(key, {
      isRefused: error instanceof Unreachable && error.isRefused,
      message:
        error instanceof Unreachable || error instanceof ProxySettingsError
          ? error.message
          : `${key} ${invalidResponse.test(code) ? 'sent a response that is not valid HTTP' : "can't be reached"} (${code})`,
    });
    for (const oldest of this.#problems.keys()) {
      if (this.#problems.size <= maxProblems) break;
      this.#problems.delete(oldest);
    }
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#isAuthorized(request)) {
      response.writeHead(407, { 'proxy-authenticate': challenge, 'content-length': 0, connection: 'close' }).end();
      return;
    }
    // The response to TRACE repeats the request, with the credentials for the owner's proxy. Pages cannot send it.
    if (request.method === 'TRACE') {
      response.writeHead(405, { 'content-length': 0, connection: 'close' }).end();
      return;
    }
    const address = request.url ?? '';
    if (address === `${this.url}/`) {
      response.writeHead(204).end();
      return;
    }
    // Closes the connection without a response, as a server that cannot be reached would.
    const end = () => request.socket.destroy();
    if (!URL.canParse(address)) {
      end();
      return;
    }
    const url = new URL(address);
    const destination = destinationOf(url);
    try {
      const route = await this.#route(destination, false);
      if (request.socket.destroyed) return;
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !hopByHopHeaders.has(name)),
      );
      this.#trackConnection(request.socket, { destination, address: null });
      response.on('close', () => request.socket.destroyed || this.#trackConnection(request.socket, null));
      const send = 'proxy' in route && route.proxy.isSecure ? httpsRequest : httpRequest;
      const upstream = send(requestOptions(url, route, request.method, headers), (upstreamResponse) => {
        upstreamResponse.on('error', end);
        // The browser would take status 407 for an answer of this filter, and forget its credentials.
        if (upstreamResponse.statusCode === 407) {
          if ('proxy' in route) {
            upstream.destroy(new Unreachable(describeRefusal(route.proxy, 407, url.host), false));
            return;
          }
          upstreamResponse.resume();
          response
            .writeHead(502, { 'content-type': 'text/plain; charset=utf-8' })
            .end(`${keyOf(destination)} answered with status 407, which only a proxy may send.\n`);
          return;
        }
        const responseHeaders = Object.fromEntries(
          Object.entries(upstreamResponse.headers).filter(([name]) => !hopByHopHeaders.has(name)),
        );
        try {
          response.writeHead(upstreamResponse.statusCode ?? 502, responseHeaders);
        } catch (error) {
          // The parser accepts status codes that `writeHead` refuses, such as 042.
          upstream.destroy(error as Error);
          return;
        }
        this.#problems.delete(keyOf(destination));
        upstreamResponse.pipe(response);
      });
      upstream.on('socket', (socket) => {
        if (socket.connecting) {
          const timer = setTimeout(
            () => socket.destroy(Object.assign(new Error('it does not respond'), { code: 'ETIMEDOUT' })),
            connectTimeoutMs,
          );
          socket.once('connect', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
        }
        if ('addresses' in route)
          socket.once('connect', () =>
            this.#trackConnection(request.socket, { destination, address: socket.remoteAddress ?? null }),
          );
      });
      upstream.on('error', (error) => {
        this.#failed(destination, error);
        end();
      });
      // A response with an upgrade that the browser did not request ends without a response event and without an error.
      upstream.on('close', () => response.headersSent || end());
      response.on('error', end).on('close', () => upstream.destroy());
      request.pipe(upstream);
    } catch (error) {
      this.#failed(destination, error);
      end();
    }
  }

  async #tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    if (!this.#isAuthorized(request)) {
      socket.end(
        `HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: ${challenge}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      );
      return;
    }
    const address = `https://${request.url ?? ''}/`;
    if (!URL.canParse(address)) {
      socket.destroy();
      return;
    }
    const destination = destinationOf(new URL(address));
    try {
      const route = await this.#route(destination, true);
      if (socket.destroyed) return;
      const { upstream, early } = await connectTo(destination, route);
      this.#problems.delete(keyOf(destination));
      if (socket.destroyed) {
        upstream.destroy();
        return;
      }
      this.#trackConnection(socket, {
        destination,
        address: 'proxy' in route ? null : (upstream.remoteAddress ?? null),
      });
      upstream.on('error', () => socket.destroy());
      upstream.on('close', () => socket.destroy());
      socket.on('close', () => upstream.destroy());
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      if (early.length > 0) socket.write(early);
      upstream.write(head);
      socket.pipe(upstream).pipe(socket);
    } catch (error) {
      this.#failed(destination, error);
      const status = error instanceof Unreachable && error.isRefused ? '403 Forbidden' : '502 Bad Gateway';
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    }
  }

  #trackConnection(socket: Duplex, target: ConnectionTarget | null): void {
    if (!this.#sockets.has(socket)) {
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#sockets.delete(socket));
    }
    this.#sockets.set(socket, target);
  }
}

const keyOf = ({ host, port }: Destination) => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** A DNS look-up that returns the checked addresses instead of resolving the name again. */
const pinnedLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_host, options, callback) => {
    const all = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first] = all;
    if (options.all === true) callback(null, all);
    else callback(null, first?.address ?? '', first?.family ?? 4);
  };

function requestOptions(url: URL, route: Route, method: string | undefined, headers: RequestOptions['headers']) {
  const common = { method: method ?? 'GET', agent: false as const };
  if ('proxy' in route) {
    const { host, port, authorization } = route.proxy;
    return {
      ...common,
      host,
      port,
      path: url.href,
      headers: { ...headers, ...(authorization === null ? {} : { 'proxy-authorization': authorization }) },
    };
  }
  const { host, port } = destinationOf(url);
  return {
    ...common,
    host,
    port,
    path: `${url.pathname}${url.search}`,
    headers,
    lookup: pinnedLookup(route.addresses),
    autoSelectFamily: true,
  };
}

/**
 * Connects to a destination directly or through the owner's proxy. `early` contains the bytes after the response of the
 * proxy.
 */
async function connectTo({ host, port }: Destination, route: Route): Promise<{ upstream: Socket; early: Buffer }> {
  if ('addresses' in route) {
    const upstream = connect({ host, port, lookup: pinnedLookup(route.addresses), autoSelectFamily: true });
    await connected(upstream, 'connect');
    return { upstream, early: Buffer.alloc(0) };
  }
  const { proxy } = route;
  const upstream = proxy.isSecure
    ? connectTls({ host: proxy.host, port: proxy.port, ...(isIP(proxy.host) === 0 ? { servername: proxy.host } : {}) })
    : connect({ host: proxy.host, port: proxy.port });
  await connected(upstream, proxy.isSecure ? 'secureConnect' : 'connect');
  const target = keyOf({ host, port });
  const authorization = proxy.authorization === null ? '' : `Proxy-Authorization: ${proxy.authorization}\r\n`;
  upstream.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`);
  const { status, early } = await readConnectResponse(upstream);
  if (status === 200) return { upstream, early };
  upstream.destroy();
  throw new Unreachable(describeRefusal(proxy, status, target), false);
}

/** What the owner's proxy answered instead of forwarding a request. */
function describeRefusal({ host, port, authorization, variable }: OwnerProxy, status: number, target: string): string {
  const name = `the proxy ${host}:${port} (${variable})`;
  if (status !== 407) return `${name} answered ${status} for ${target}`;
  return authorization === null
    ? `${name} requires a user name and a password (HTTP 407); add them to ${variable}, as http://USER:PASSWORD@HOST:PORT`
    : `${name} does not accept the user name and the password in ${variable} (HTTP 407)`;
}

async function connected(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  const timer = setTimeout(
    () => socket.destroy(Object.assign(new Error('it does not respond'), { code: 'ETIMEDOUT' })),
    connectTimeoutMs,
  );
  try {
    await new Promise<void>((done, reject) => {
      socket.once(event, () => done());
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('it closed the connection')));
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the response to CONNECT. @throws Unreachable if the proxy does not respond. */
function readConnectResponse(socket: Socket): Promise<{ status: number; early: Buffer }> {
  return new Promise((done, reject) => {
    let head = Buffer.alloc(0);
    const fail = () => finish(() => reject(new Unreachable('the proxy does not respond', false)));
    const timer = setTimeout(() => {
      socket.destroy();
      fail();
    }, connectTimeoutMs);
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      socket.off('data', onData).off('close', fail);
      settle();
    };
    const onData = (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n');
      if (end === -1 && head.length <= maxProxyHeadBytes) return;
      socket.pause();
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head.toString('latin1', 0, 20))?.[1] ?? 0);
      finish(() => done({ status: end === -1 ? 0 : status, early: head.subarray(end + 4) }));
    };
    socket.on('data', onData).once('close', fail);
  });
}
