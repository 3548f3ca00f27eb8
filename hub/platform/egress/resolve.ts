import { lookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { setTimeout as delay } from 'node:timers/promises';

export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Timeout of one DNS query, in milliseconds, and the number of tries. */
const queryTimeoutMs = 2_000;
const tries = 2;
/** How long to wait for the addresses of the other family when those of one are known, in milliseconds. */
const otherFamilyMs = 250;

/** Resolves a name like other programs of this machine: with its hosts file, search domains and name servers. */
export const resolveBySystem: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    lookup(hostname, { all: true, verbatim: true }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    );
  });

/**
 * Resolves a public name with the name servers of this machine.
 * `getaddrinfo` occupies one of four threads until a name server answers. This function occupies none,
 * so names whose name servers do not answer cannot delay the look-ups of other workspaces.
 * @param servers replaces the name servers of the machine, for tests.
 */
export async function resolvePublicName(hostname: string, servers?: readonly string[]): Promise<LookupAddress[]> {
  // Names without a dot, such as `localhost`, belong to this machine or its network.
  if (!hostname.includes('.')) return resolveBySystem(hostname);
  // A new resolver reads the current name servers, which change when a laptop changes networks.
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries });
  if (servers !== undefined) resolver.setServers(servers);
  const families = ([4, 6] as const).map(async (family) => {
    const addresses = family === 4 ? await resolver.resolve4(hostname) : await resolver.resolve6(hostname);
    return addresses.map((address) => ({ address, family }));
  });
  const settled = Promise.allSettled(families);
  try {
    const first = await Promise.any(families);
    const timer = new AbortController();
    const all = await Promise.race([settled, delay(otherFamilyMs, null, { signal: timer.signal }).catch(() => null)]);
    timer.abort();
    if (all === null) return first;
    return all.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  } catch (error) {
    const errors = error instanceof AggregateError ? (error.errors as NodeJS.ErrnoException[]) : [];
    // A machine without a name server can still resolve names by other means.
    // A name server that refuses only TCP must not lead here: its next query could hang.
    const hasNoServer = resolver.getServers().every((server) => server === '127.0.0.1' || server === '::1');
    if (hasNoServer && errors.some(({ code }) => code === 'ECONNREFUSED')) return await resolveBySystem(hostname);
    throw errors.find(({ code }) => code !== 'ENODATA') ?? errors[0] ?? error;
  } finally {
    resolver.cancel();
  }
}
