import { lookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { setTimeout as delay } from 'node:timers/promises';

export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** How long a name server may take for its first answer, in milliseconds, and how often it is asked. */
const queryTimeoutMs = 2_000;
const tries = 2;
/** How long the addresses of the other family are waited for once those of one are known, in milliseconds. */
const otherFamilyMs = 250;

/** Resolves a name as other programs of this machine do: from its hosts file, search domains and name servers. */
export const resolveBySystem: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    lookup(hostname, { all: true, verbatim: true }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    );
  });

/**
 * Resolves a public name by asking the name servers of this machine. Unlike `getaddrinfo`, which occupies one of a few threads until the
 * name server answers, it occupies none: names whose name servers are silent must not delay the look-ups of other workspaces.
 * @param servers for tests; else those of the machine at that moment.
 */
export async function resolvePublicName(hostname: string, servers?: readonly string[]): Promise<LookupAddress[]> {
  // Names without a dot, such as `localhost`, are names of this machine or its network.
  if (!hostname.includes('.')) return resolveBySystem(hostname);
  // A new one knows the present name servers, which change when a laptop changes networks.
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries });
  if (servers !== undefined) resolver.setServers(servers);
  const families = ([4, 6] as const).map(async (family) => {
    const addresses = family === 4 ? await resolver.resolve4(hostname) : await resolver.resolve6(hostname);
    return addresses.map((address) => ({ address, family }));
  });
  const settled = Promise.allSettled(families);
  try {
    const first = await Promise.any(families);
    const late = new AbortController();
    const all = await Promise.race([settled, delay(otherFamilyMs, null, { signal: late.signal }).catch(() => null)]);
    late.abort();
    if (all === null) return first;
    return all.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  } catch (error) {
    const errors = error instanceof AggregateError ? (error.errors as NodeJS.ErrnoException[]) : [];
    // Some machines have no name server, and know other ways. A name server that refuses only TCP must not lead there: it may be silent next.
    const hasNoServer = resolver.getServers().every((server) => server === '127.0.0.1' || server === '::1');
    if (hasNoServer && errors.some(({ code }) => code === 'ECONNREFUSED')) return resolveBySystem(hostname);
    throw errors.find(({ code }) => code !== 'ENODATA') ?? errors[0] ?? error;
  } finally {
    resolver.cancel();
  }
}
