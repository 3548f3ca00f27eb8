import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { Agent, request } from 'undici';
import { isPublicAddress } from './addresses.ts';

/** A host that the guard does not let requests to. The message names it and the setting that would allow it. */
export class EgressRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EgressRefused';
  }
}

/** A request that went out and had no usable answer. */
export class EgressFailed extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EgressFailed';
  }
}

export interface EgressRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
  /** For everything, redirects included. */
  timeoutMs: number;
  maxResponseBytes: number;
  /** Whether an answer that has more is cut there, instead of being a failure. */
  cutsResponse?: boolean;
  /** False for an answer that is a redirect to be answered as it is; true when left out. */
  followsRedirects?: boolean;
}

export interface EgressResponse {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** The way out of the hub: every request to an address that somebody else chose goes through here. */
export interface Egress extends AsyncDisposable {
  /** Whether a request to an address would be let go, as far as that can be told without asking for the name of its host. @throws EgressRefused. */
  check(url: string): void;
  /** @throws EgressRefused, EgressFailed, or the signal's reason. */
  fetch(url: string, request: EgressRequest): Promise<EgressResponse>;
}

export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

export interface EgressOptions {
  /** `host` or `host:port`, exact: may be reached by http too, and at any address. For development. */
  allowHosts: readonly string[];
  resolve?: Resolve;
}

const maxRedirects = 5;

const resolveBySystem: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true, verbatim: true }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    );
  });

/**
 * Guards outgoing requests: https only, no address that is not public. The address is judged where the connection is made, so
 * that a name which resolves differently the second time gains nothing, and anew at each redirect.
 */
export function createEgress({ allowHosts, resolve = resolveBySystem }: EgressOptions): Egress {
  const allowed = new Set(allowHosts.map((host) => host.toLowerCase()));
  const isAllowed = (url: URL) =>
    allowed.has(hostOf(url)) || allowed.has(`${hostOf(url)}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`);

  const guarded = new Agent({
    connections: 64,
    keepAliveTimeout: 4_000,
    connect: {
      timeout: 10_000,
      lookup: (hostname, options, callback) => {
        resolve(hostname).then(
          (addresses) => {
            const [first] = addresses;
            const inside = addresses.find(({ address }) => !isPublicAddress(address));
            if (first === undefined || inside !== undefined) {
              callback(new EgressRefused(refusal(hostname)), []);
            } else if (options.all === true) {
              callback(null, addresses);
            } else {
              callback(null, first.address, first.family);
            }
          },
          (error: Error) => callback(error, []),
        );
      },
    },
  });
  const open = new Agent({ connections: 64, keepAliveTimeout: 4_000, connect: { timeout: 10_000 } });

  const check = (text: string, base?: URL): URL => {
    let url: URL;
    try {
      url = new URL(text, base);
    } catch {
      throw new EgressRefused(
        `"${text.slice(0, 200)}" is not an absolute address; give one that begins with https://.`,
      );
    }
    if (url.username !== '' || url.password !== '')
      throw new EgressRefused('The address must not hold a user name or a password; send them as a header.');
    if (isAllowed(url)) {
      if (url.protocol === 'http:' || url.protocol === 'https:') return url;
    } else if (url.protocol === 'https:') {
      const host = hostOf(url);
      // Node connects to a literal address without asking the lookup.
      if (isIP(host) !== 0 && !isPublicAddress(host)) throw new EgressRefused(refusal(host));
      return url;
    }
    throw new EgressRefused(
      `${url.protocol}//${url.host} is refused: only https is allowed (or name the host in EGRESS_ALLOW_HOSTS for development).`,
    );
  };

  return {
    check: (address) => void check(address),

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
              headers: flatten(response.headers),
              body: await readBounded(response.body, options.maxResponseBytes, options.cutsResponse === true),
            };
          }
          await response.body.dump();
          if (redirects === maxRedirects)
            throw new EgressFailed(`${hostOf(url)} redirected more than ${maxRedirects} times.`);
          const next = check(location, url);
          // Whoever is redirected to must not learn what was meant for the first host.
          if (next.origin !== url.origin) headers = withoutCustom(headers);
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
            cause: error,
          });
        const reason =
          error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error);
        throw new EgressFailed(`${hostOf(url)} could not be reached: ${reason}.`, { cause: error });
      }
    },

    async [Symbol.asyncDispose]() {
      await Promise.all([guarded.destroy(), open.destroy()]);
    },
  };
}

function hostOf(url: URL): string {
  return url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
}

function refusal(host: string): string {
  return `${host} is refused: it leads to a private, local or reserved address (name it in EGRESS_ALLOW_HOSTS for development).`;
}

function withoutCustom(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => ['content-type', 'user-agent', 'accept'].includes(name.toLowerCase())),
  );
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

async function readBounded(
  body: AsyncIterable<Buffer> & { destroy(): unknown },
  maxBytes: number,
  cuts: boolean,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) {
      // Leaving the loop ends the connection.
      if (cuts) return Buffer.concat([...chunks, chunk]).subarray(0, maxBytes);
      body.destroy();
      throw new EgressFailed(`The answer has more than ${maxBytes} bytes.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
