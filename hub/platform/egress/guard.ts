import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from './addresses.ts';
import { EgressRefused } from './failure.ts';
import { resolveBySystem, resolvePublicName } from './resolve.ts';
import type { Resolve } from './resolve.ts';

/** Decides where requests may go. */
export interface Guard {
  /** The address of a request, as far as it can be judged without asking for the name of its host. @throws EgressRefused. */
  check(text: string, base?: URL): URL;
  /** Whether the operator named the host, so that it may be any. */
  isAllowed(url: URL): boolean;
  /** Resolves a name for a connection to a host that nobody named: fails unless all that it leads to is public. */
  lookup: LookupFunction;
  /** A host for a connection of any kind, as it is to be kept, judged as far as that can be without asking for its name. @throws EgressRefused. */
  checkHost(host: string, port: number): string;
  /**
   * Resolves a name, or takes an address, for a connection of any kind.
   * @throws EgressRefused unless all that it leads to is public, or the operator named the host; whatever the resolver throws.
   */
  resolve(host: string, port: number): Promise<LookupAddress[]>;
}

export interface GuardOptions {
  /** `host` or `host:port`, exact: may be reached by http too, and at any address. For development. */
  allowHosts: readonly string[];
  /** Resolves all names, for tests. */
  resolve?: Resolve;
}

export function createGuard({ allowHosts, resolve: resolveForTests }: GuardOptions): Guard {
  const resolvePublic = resolveForTests ?? ((name: string) => resolvePublicName(name));
  const resolveAllowed = resolveForTests ?? resolveBySystem;
  const allowed = new Set(allowHosts.map(normalizeHost));
  const isAllowedHost = (host: string, port: string) => allowed.has(host) || allowed.has(`${host}:${port}`);
  const isAllowed = (url: URL) => isAllowedHost(hostOf(url), url.port || (url.protocol === 'https:' ? '443' : '80'));
  const checkHost = (host: string, port: number) => {
    const url = parseHost(host);
    if (url === null) throw new EgressRefused(`"${host.slice(0, 200)}" is no host.`);
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
    check(text, base) {
      let url: URL;
      try {
        url = new URL(text, base);
      } catch {
        throw new EgressRefused(
          `"${text.slice(0, 200)}" is not an absolute address; give one that begins with https://.`,
        );
      }
      if (url.username !== '' || url.password !== '')
        throw new EgressRefused('The address must not contain a user name or a password; send them as a header.');
      if (isAllowed(url)) {
        if (url.protocol === 'http:' || url.protocol === 'https:') return url;
      } else if (url.protocol === 'https:') {
        const host = hostOf(url);
        // Node connects to a literal address without asking the lookup.
        if (isIP(host) !== 0 && !isPublicAddress(host)) throw new EgressRefused(refusalMessage(host));
        return url;
      }
      throw new EgressRefused(
        `${url.protocol}//${url.host} is refused: only https is allowed (or name the host in EGRESS_ALLOW_HOSTS for development).`,
      );
    },
  };
}

/** A host, or host and port, as `hostOf` has hosts: without the brackets of IPv6 and the dot at the end that addresses may have. */
const normalizeHost = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[(.*)\]/, '$1')
    .replace(/\.(?=:\d+$|$)/, '');

/** A host as the parser of addresses understands it: `127.1` and `0x7f.1` are addresses, too. */
function parseHost(host: string): URL | null {
  return URL.parse(`http://${isIP(host) === 6 ? `[${host}]` : host}/`);
}

export function hostOf(url: URL): string {
  return url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
}

function refusalMessage(host: string): string {
  return `${host} is refused: it leads to a private, local or reserved address (name it in EGRESS_ALLOW_HOSTS for development).`;
}
