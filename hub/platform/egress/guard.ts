import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from './addresses.ts';
import { EgressRefused } from './failure.ts';

export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Decides where requests may go. */
export interface Guard {
  /** The address of a request, as far as it can be judged without asking for the name of its host. @throws EgressRefused. */
  check(text: string, base?: URL): URL;
  /** Whether the operator named the host, so that it may be any. */
  isAllowed(url: URL): boolean;
  /** Resolves a name for a connection to a host that nobody named: fails unless all that it leads to is public. */
  lookup: LookupFunction;
}

const resolveBySystem: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true, verbatim: true }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    );
  });

export interface GuardOptions {
  /** `host` or `host:port`, exact: may be reached by http too, and at any address. For development. */
  allowHosts: readonly string[];
  resolve?: Resolve;
}

export function createGuard({ allowHosts, resolve = resolveBySystem }: GuardOptions): Guard {
  const allowed = new Set(allowHosts.map((host) => host.toLowerCase()));
  const isAllowed = (url: URL) =>
    allowed.has(hostOf(url)) || allowed.has(`${hostOf(url)}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`);
  return {
    isAllowed,
    lookup(hostname, options, callback) {
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
    },
  };
}

export function hostOf(url: URL): string {
  return url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
}

function refusal(host: string): string {
  return `${host} is refused: it leads to a private, local or reserved address (name it in EGRESS_ALLOW_HOSTS for development).`;
}
