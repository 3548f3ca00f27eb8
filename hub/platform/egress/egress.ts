import { Agent, request } from 'undici';
import { systemClock } from '../clock.ts';
import type { Clock } from '../clock.ts';
import { createConnections } from './connect.ts';
import type { EgressConnection, EgressConnectRequest, ResolveSrv } from './connect.ts';
import { EgressFailed, EgressRefused, toEgressFailed } from './failure.ts';
import { createGuard, hostOf } from './guard.ts';
import type { GuardOptions } from './guard.ts';
import { createStreams, flattenHeaders } from './stream.ts';
import type { EgressStream, EgressStreamRequest } from './stream.ts';

export { EgressFailed, EgressRefused } from './failure.ts';
export type { EgressConnection } from './connect.ts';

export interface EgressRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers: Record<string, string>;
  body?: string | Buffer;
  signal: AbortSignal;
  /** Limit of the whole exchange including redirects, in milliseconds. */
  timeoutMs: number;
  maxResponseBytes: number;
  /** Whether a larger response is truncated instead of failing with `too_large`. */
  truncatesResponse?: boolean;
  /** Whether redirects are followed; true by default. When false, the redirect itself is returned. */
  followsRedirects?: boolean;
}

export interface EgressResponse {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Sends all requests of the hub to hosts that users or third parties chose. */
export interface Egress extends AsyncDisposable {
  /** Checks a URL without resolving its host. @throws EgressRefused. */
  check(url: string): void;
  /**
   * Like `check`, and refuses names that lead to this machine or its network, which no request could reach. @throws
   * EgressRefused.
   */
  checkPublic(url: string): void;
  /**
   * Checks a host for `connect` without resolving it, and returns its normalized form for storage. @throws
   * EgressRefused.
   */
  checkHost(host: string, port: number): string;
  /** @throws EgressRefused, EgressFailed, or the signal's reason. */
  fetch(url: string, request: EgressRequest): Promise<EgressResponse>;
  /**
   * Returns a response that is read while it arrives. Redirects are not followed. @throws EgressRefused, EgressFailed,
   * or the signal's reason.
   */
  stream(url: string, request: EgressStreamRequest): Promise<EgressStream>;
  /**
   * Opens a connection by UDP, TCP or TLS for a protocol other than HTTP. The host is resolved and checked once, and
   * stays fixed for the connection.
   * @throws EgressRefused, EgressFailed, or the signal's reason.
   */
  connect(request: EgressConnectRequest): Promise<EgressConnection>;
}

export interface EgressOptions extends GuardOptions {
  /** Clock of the limits of streams. */
  clock?: Clock;
  /** Looks up SRV records, such as `_sip._udp.example.com`. */
  resolveSrv?: ResolveSrv;
}

const maxRedirects = 5;

/**
 * Creates the guarded client: https only, and only public addresses. The address is checked when the connection is made
 * and at each redirect. So a name gains nothing by resolving to another address the second time (DNS rebinding).
 */
export function createEgress({ clock = systemClock, resolveSrv, ...guardOptions }: EgressOptions): Egress {
  const guard = createGuard(guardOptions);
  const { check, isAllowed } = guard;
  const guarded = new Agent({
    connections: 64,
    keepAliveTimeout: 4_000,
    connect: { timeout: 10_000, lookup: guard.lookup },
  });
  const open = new Agent({ connections: 64, keepAliveTimeout: 4_000, connect: { timeout: 10_000 } });
  const streams = createStreams(guard, clock);
  const connections = createConnections(guard, resolveSrv);

  return {
    check(address) {
      check(address);
    },
    checkPublic(address) {
      guard.checkPublic(address);
    },
    checkHost: guard.checkHost,

    async fetch(address, options) {
      const timeout = AbortSignal.timeout(options.timeoutMs);
      const signal = AbortSignal.any([options.signal, timeout]);
      let url = check(address);
      let { method, body } = options;
      let headers = options.headers;
      try {
        for (let redirects = 0; ; redirects += 1) {
          const response = await request(url, {
            method,
            headers,
            body: body ?? null,
            signal,
            dispatcher: isAllowed(url) ? open : guarded,
            headersTimeout: options.timeoutMs,
            bodyTimeout: options.timeoutMs,
          });
          const location = response.headers['location'];
          const isRedirect =
            options.followsRedirects !== false &&
            response.statusCode >= 300 &&
            response.statusCode <= 399 &&
            typeof location === 'string';
          if (!isRedirect) {
            return {
              status: response.statusCode,
              headers: flattenHeaders(response.headers),
              body: await readBounded(response.body, options.maxResponseBytes, options.truncatesResponse === true),
            };
          }
          await response.body.dump();
          if (redirects === maxRedirects)
            throw new EgressFailed(`${hostOf(url)} redirected more than ${maxRedirects} times.`);
          const next = check(location, url);
          // Custom headers can contain credentials for the first host.
          if (next.origin !== url.origin) headers = crossOriginHeaders(headers);
          if (
            response.statusCode === 303 ||
            ((response.statusCode === 301 || response.statusCode === 302) && method === 'POST')
          ) {
            method = 'GET';
            body = undefined;
          }
          url = next;
        }
      } catch (error) {
        if (options.signal.aborted) throw options.signal.reason;
        if (error instanceof EgressRefused || error instanceof EgressFailed) throw error;
        if (error instanceof Error && error.cause instanceof EgressRefused) throw error.cause;
        if (timeout.aborted)
          throw new EgressFailed(`${hostOf(url)} did not answer within ${options.timeoutMs / 1000} s.`, {
            failure: 'timeout',
            cause: error,
          });
        throw toEgressFailed(error, hostOf(url));
      }
    },

    stream: async (address, options) => streams.open(check(address), options),

    connect: (options) => connections.connect(options),

    async [Symbol.asyncDispose]() {
      streams[Symbol.dispose]();
      await Promise.all([guarded.destroy(), open.destroy()]);
    },
  };
}

function crossOriginHeaders(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => ['content-type', 'user-agent', 'accept'].includes(name.toLowerCase())),
  );
}

async function readBounded(
  body: AsyncIterable<Buffer> & { destroy(): unknown },
  maxBytes: number,
  truncates: boolean,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) {
      // Leaving the loop closes the connection.
      if (truncates) return Buffer.concat([...chunks, chunk]).subarray(0, maxBytes);
      body.destroy();
      throw new EgressFailed(`The response has more than ${maxBytes} bytes.`, { failure: 'too_large' });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
