import { createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Headers that belong to one connection and not to what goes over it. */
const hopHeaders = new Set([
  'connection',
  'proxy-connection',
  'proxy-authorization',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
]);

/** Why the browser may not go to an address, or null when it may. */
export type AddressProblem = (address: string) => string | null;

/**
 * A proxy on this machine that the browser sends everything through: pages and what they load, beacons, sockets, service workers,
 * prefetched and preconnected hosts alike. To a host that its owner does not allow it opens no connection, nor looks its name up.
 */
export class HostFilter implements AsyncDisposable {
  readonly #server = createServer();
  readonly #problemOf: AddressProblem;
  /** Connections of the browser, and where those go that are tunnels or wait for an answer. */
  readonly #sockets = new Map<Duplex, string | null>();

  private constructor(problemOf: AddressProblem) {
    this.#problemOf = problemOf;
    this.#server.on('connection', (socket: Socket) => this.#own(socket, null));
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) =>
      this.#forward(request, response),
    );
    this.#server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#tunnel(request, socket, head),
    );
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  /** Listens on a free port of the loopback; `problemOf` is asked for every request. */
  static async listen(problemOf: AddressProblem): Promise<HostFilter> {
    const filter = new HostFilter(problemOf);
    await new Promise<void>((done, reject) => {
      filter.#server.once('error', reject);
      filter.#server.listen(0, '127.0.0.1', done);
    });
    return filter;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends tunnels to hosts that are not allowed any more, and answers from them. */
  recheck(): void {
    for (const [socket, address] of this.#sockets)
      if (address !== null && this.#problemOf(address) !== null) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    for (const socket of this.#sockets.keys()) socket.destroy();
    await closed;
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    const address = request.url ?? '';
    if (!URL.canParse(address) || this.#problemOf(address) !== null) {
      request.resume();
      response.writeHead(403, { connection: 'close' }).end();
      return;
    }
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !hopHeaders.has(name)));
    // Held to the owner's word for as long as it is answered, and the next on this connection anew.
    this.#own(request.socket, address);
    response.on('close', () => request.socket.destroyed || this.#own(request.socket, null));
    // What can't be reached looks to the browser as it would without a proxy: no answer at all.
    const end = () => request.socket.destroy();
    const upstream = httpRequest(address, { method: request.method ?? 'GET', headers, agent: false }, (answer) => {
      const kept = Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !hopHeaders.has(name)));
      response.writeHead(answer.statusCode ?? 502, kept);
      answer.on('error', end);
      answer.pipe(response);
    });
    upstream.on('error', end);
    response.on('close', () => upstream.destroy());
    request.pipe(upstream);
  }

  #tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const address = `https://${request.url ?? ''}/`;
    if (!URL.canParse(address) || this.#problemOf(address) !== null) {
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const { hostname, port } = new URL(address);
    this.#own(socket, address);
    const upstream = connect(Number(port === '' ? 443 : port), hostname.replace(/^\[|\]$/g, ''), () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on('error', () => socket.destroy());
    upstream.on('close', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
  }

  #own(socket: Duplex, address: string | null): void {
    if (!this.#sockets.has(socket)) {
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#sockets.delete(socket));
    }
    this.#sockets.set(socket, address);
  }
}
