import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { AgentOptions, ClientRequestArgs, IncomingMessage, RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { hostOf, proxyFor } from './proxy.ts';
import type { Proxy } from './proxy.ts';

/** How long a proxy may take to open a tunnel, in milliseconds. */
const tunnelTimeoutMs = 15_000;
const keepAlive: AgentOptions = { keepAlive: true, keepAliveMsecs: 20_000 };
const redirects = new Set([301, 302, 303, 307, 308]);

/** A proxy did not open a tunnel. The message names the proxy and the variable, without credentials. */
export class ProxyError extends Error {
  readonly code: string | undefined;

  constructor({ origin, variable }: Proxy, reason: string, { cause }: ErrorOptions = {}) {
    super(`the proxy ${origin} (${variable}) ${reason}`, cause === undefined ? undefined : { cause });
    this.name = 'ProxyError';
    this.code = (cause as { code?: string } | undefined)?.code;
  }
}

type Created = (error: Error | null, socket: Duplex) => void;

/** Connects to http servers through a proxy. It uses CONNECT like https, because a WebSocket needs the tunnel. */
class TunnelHttpAgent extends HttpAgent {
  readonly #proxy: Proxy;

  constructor(proxy: Proxy) {
    super(keepAlive);
    this.#proxy = proxy;
  }

  override createConnection(options: ClientRequestArgs, created?: Created): undefined {
    openTunnel(this.#proxy, options).then(
      (socket) => created?.(null, socket),
      (error: Error) => created?.(error, undefined as never),
    );
  }
}

/** Connects to https servers through a proxy. TLS is end to end with the server, so the proxy cannot read the data. */
class TunnelHttpsAgent extends HttpsAgent {
  readonly #proxy: Proxy;

  constructor(proxy: Proxy) {
    super(keepAlive);
    this.#proxy = proxy;
  }

  override createConnection(options: RequestOptions, created?: Created): undefined {
    openTunnel(this.#proxy, options).then(
      (socket) => created?.(null, super.createConnection({ ...options, socket } as RequestOptions) as Duplex),
      (error: Error) => created?.(error, undefined as never),
    );
  }
}

/** Opens a tunnel through a proxy. @throws ProxyError */
function openTunnel(
  proxy: Proxy,
  { host, port }: { host?: string | null; port?: number | string | null },
): Promise<Socket> {
  const authority = `${host?.includes(':') === true ? `[${host}]` : host}:${port}`;
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const request = (proxy.isTls ? httpsRequest : httpRequest)({
    method: 'CONNECT',
    host: proxy.host,
    port: proxy.port,
    path: authority,
    agent: false,
    headers: {
      host: authority,
      ...(proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization }),
    },
  });
  const timer = setTimeout(
    () =>
      request.destroy(new ProxyError(proxy, `opened no connection to ${authority} within ${tunnelTimeoutMs / 1000} s`)),
    tunnelTimeoutMs,
  );
  request.once('connect', (answer, socket, head) => {
    clearTimeout(timer);
    if (answer.statusCode === 200 && head.length === 0) {
      resolve(socket as Socket);
      return;
    }
    socket.destroy();
    reject(new ProxyError(proxy, describeRefusal(answer, proxy, authority)));
  });
  request.once('response', (answer) => {
    clearTimeout(timer);
    request.destroy();
    reject(new ProxyError(proxy, describeRefusal(answer, proxy, authority)));
  });
  request.once('error', (error: NodeJS.ErrnoException) => {
    clearTimeout(timer);
    reject(
      error instanceof ProxyError
        ? error
        : new ProxyError(proxy, `can't be reached: ${error.code ?? error.message}`, { cause: error }),
    );
  });
  request.end();
  return promise;
}

function describeRefusal(
  { statusCode = 0 }: IncomingMessage,
  { authorization, variable }: Proxy,
  authority: string,
): string {
  if (statusCode === 407)
    return authorization === null
      ? `requires a user name and a password (HTTP 407); add them to ${variable}, as http://USER:PASSWORD@HOST:PORT`
      : `does not accept the user name and the password in ${variable} (HTTP 407)`;
  return `opens no connection to ${authority} (HTTP ${statusCode}); allow CONNECT to this port there, or list the host in NO_PROXY`;
}

const agents = new Map<string, HttpAgent>();

/**
 * The agent for connections to an address: direct, or through the proxy that the environment names. These agents ignore
 * `NODE_USE_ENV_PROXY`.
 * @throws ProxySettingError
 */
export function agentFor(url: URL): HttpAgent {
  const proxy = proxyFor(url);
  const isTls = url.protocol === 'https:' || url.protocol === 'wss:';
  const key = JSON.stringify([isTls, proxy]);
  let agent = agents.get(key);
  if (agent === undefined) {
    agent =
      proxy === null
        ? isTls
          ? new HttpsAgent(keepAlive)
          : new HttpAgent(keepAlive)
        : isTls
          ? new TunnelHttpsAgent(proxy)
          : new TunnelHttpAgent(proxy);
    agents.set(key, agent);
  }
  return agent;
}

export interface HttpRequest {
  method: string;
  headers: Record<string, string>;
  /** Text, or bytes that are read from their source as fast as they are sent. */
  body: string | AsyncIterable<Uint8Array> | null;
  signal: AbortSignal;
}

/** An answer whose body is read in chunks. */
export interface HttpResponse extends Disposable {
  status: number;
  headers: Headers;
  body: AsyncIterable<Uint8Array>;
  /** Target of a redirect; null for other answers. Redirects are not followed. */
  location: string | null;
}

/**
 * Sends a request, through a proxy if the environment names one. Dispose the answer to end a request or an answer that
 * is not complete. @throws Error
 */
export async function sendRequest(url: URL, { method, headers, body, signal }: HttpRequest): Promise<HttpResponse> {
  signal.throwIfAborted();
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)({
    protocol: url.protocol,
    host: hostOf(url),
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    method,
    headers: typeof body === 'string' ? { ...headers, 'content-length': String(Buffer.byteLength(body)) } : headers,
    agent: agentFor(url),
    signal,
  });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.once('response', resolve);
  // The listener stays, because an error after the answer would otherwise end the process.
  request.on('error', reject);
  if (body === null || typeof body === 'string') request.end(body ?? undefined);
  else pipeline(body, request).catch(reject);
  const answer = await promise;
  answer.on('error', () => undefined);
  const status = answer.statusCode ?? 0;
  return {
    status,
    headers: headersOf(answer),
    body: answer,
    location: redirects.has(status) ? (answer.headers.location ?? null) : null,
    [Symbol.dispose]() {
      // A connection can be reused only when both the request and the answer are complete.
      if (!answer.complete || !request.writableFinished) request.destroy();
    },
  };
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] as string, rawHeaders[at + 1] as string);
  return headers;
}
