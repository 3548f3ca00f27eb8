import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from './addresses.ts';
import { EgressRefused } from './failure.ts';
import { resolveBySystem, resolvePublicName } from './resolve.ts';
import type { Resolve } from './resolve.ts';

/** Decides which hosts the hub may send requests to. */
export interface Guard {
  /** Parses and checks a URL without resolving its host. @throws EgressRefused. */
  check(text: string, base?: URL): URL;
  /** Like `check`, and refuses names that lead to this machine or its network. @throws EgressRefused. */
  checkPublic(text: string): URL;
  /** Whether EGRESS_ALLOW_HOSTS contains the host, which then may have any address. */
  isAllowed(url: URL): boolean;
  /** Resolves a host that is not in EGRESS_ALLOW_HOSTS. Fails unless all of its addresses are public. */
  lookup: LookupFunction;
  /** Checks a host without resolving it, and returns its normalized form for storage. @throws EgressRefused. */
  checkHost(host: string, port: number): string;
  /**
   * Resolves a host name. An IP address is returned unchanged.
   * @throws EgressRefused unless all addresses are public or EGRESS_ALLOW_HOSTS contains the host; the error of the
   * resolver.
   */
  resolve(host: string, port: number): Promise<LookupAddress[]>;
}

export interface GuardOptions {
  /** Exact `host` or `host:port` entries that may also use http and have any address. For development. */
  allowHosts: readonly string[];
  /** Replaces name resolution, for tests. */
  resolve?: Resolve;
}

export function createGuard({ allowHosts, resolve: resolveForTests }: GuardOptions): Guard {
  const resolvePublic = resolveForTests ?? ((name: string) => resolvePublicName(name));
  const resolveAllowed = resolveForTests ?? resolveBySystem;
  const allowed = new Set(allowHosts.map(normalizeHost));
  const isAllowedHost = (host: string, port: string) => allowed.has(host) || allowed.has(`${host}:${port}`);
  const isAllowed = (url: URL) => isAllowedHost(hostOf(url), url.port || (url.protocol === 'https:' ? '443' : '80'));
  const check = (text: string, base?: URL) => {
    let url: URL;
    try {
      url = new URL(text, base);
    } catch {
      throw new EgressRefused(`"${text.slice(0, 200)}" is not an absolute URL; use a URL that begins with https://.`);
    }
    if (url.username !== '' || url.password !== '')
      throw new EgressRefused('The URL must not contain a user name or a password; send them as a header.');
    if (isAllowed(url)) {
      if (url.protocol === 'http:' || url.protocol === 'https:') return url;
    } else if (url.protocol === 'https:') {
      const host = hostOf(url);
      // Node.js does not call `lookup` for a literal IP address.
      if (isIP(host) !== 0 && !isPublicAddress(host)) throw new EgressRefused(refusalMessage(host));
      return url;
    }
    throw new EgressRefused(
      `${url.protocol}//${url.host} is refused: only https is allowed (or name the host in EGRESS_ALLOW_HOSTS for development).`,
    );
  };
  const checkHost = (host: string, port: number) => {
    const url = parseHost(host);
    if (url === null) throw new EgressRefused(`"${host.slice(0, 200)}" is not a valid host.`);
    const name = hostOf(url);
    if (isIP(name) !== 0 && !isPublicAddress(name) && !isAllowedHost(name, String(port)))
      throw new EgressRefused(refusalMessage(name));
    return name;
  };
  return {
    isAllowed,
    checkHost,
    async resolve(host, port) {
      const name = checkHost(host, port);
      const family = isIP(name);
      if (family !== 0) return [{ address: name, family }];
      const isExempt = isAllowedHost(name, String(port));
      const addresses = await (isExempt ? resolveAllowed : resolvePublic)(name);
      if (isExempt || addresses.every(({ address }) => isPublicAddress(address))) return addresses;
      throw new EgressRefused(refusalMessage(name));
    },
    lookup(hostname, options, callback) {
      resolvePublic(hostname).then(
        (addresses) => {
          const [first] = addresses;
          const inside = addresses.find(({ address }) => !isPublicAddress(address));
          if (first === undefined || inside !== undefined) {
            callback(new EgressRefused(refusalMessage(hostname)), []);
          } else if (options.all === true) {
            callback(null, addresses);
          } else {
            callback(null, first.address, first.family);
          }
        },
        (error: Error) => callback(error, []),
      );
    },
    check,
    checkPublic(text) {
      const url = check(text);
      const host = hostOf(url);
      if (!isAllowed(url) && isLocalName(host)) throw new EgressRefused(refusalMessage(host));
      return url;
    },
  };
}

/** Normalizes a host or host:port like `hostOf`: without IPv6 brackets and without the trailing dot. */
const normalizeHost = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[(.*)\]/, '$1')
    .replace(/\.(?=:\d+$|$)/, '');

/** Parses a host as URLs do, so that `127.1` and `0x7f.1` are recognized as IP addresses. */
function parseHost(host: string): URL | null {
  return URL.parse(`http://${isIP(host) === 6 ? `[${host}]` : host}/`);
}

export function hostOf(url: URL): string {
  return url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
}

/** Names without a dot, and those that are reserved for a machine or its network (RFC 6761, RFC 6762, RFC 8375). */
const isLocalName = (host: string) =>
  isIP(host) === 0 && (!host.includes('.') || /\.(?:localhost|local|internal|home\.arpa)$/.test(host));

function refusalMessage(host: string): string {
  return `${host} is refused: it leads to a private, local or reserved address (name it in EGRESS_ALLOW_HOSTS for development).`;
}
