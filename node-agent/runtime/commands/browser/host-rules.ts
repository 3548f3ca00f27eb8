import { isAllowedPrivate, isListedAddress, isMetadataAddress, isPublicAddress, knownAddresses } from './addresses.ts';
import type { Destination } from './addresses.ts';
import { matchesHost, plainHost } from './host-patterns.ts';

/** The hosts that the owner lets the browser reach. An empty `allowHosts` allows every host that is not blocked. */
export interface HostRules {
  readonly allowHosts: readonly string[];
  readonly blockHosts: readonly string[];
  /** Private destinations that are allowed. Hosts in `allowHosts` may have private addresses too. */
  readonly privateHosts: readonly string[];
}

const blockedMessage = (host: string) => `The owner of this machine blocks ${host}`;

/** Why `allowHosts` or `blockHosts` refuses a host name, or null. */
export function nameProblem(host: string, { allowHosts, blockHosts }: HostRules): string | null {
  if (blockHosts.some((pattern) => matchesHost(pattern, host)) || isListedAddress(blockHosts, host))
    return blockedMessage(host);
  if (allowHosts.length > 0 && !allowHosts.some((pattern) => matchesHost(pattern, host)))
    return `The owner of this machine allows only ${allowHosts.join(', ')}; ${host} is not among them`;
  return null;
}

/**
 * Why a host must not be reached at an IP address, or null. The owner can block addresses. Private, local and reserved
 * addresses are refused unless the owner allows them.
 */
export function addressProblem(destination: Destination, address: string, rules: HostRules): string | null {
  if (isListedAddress(rules.blockHosts, address))
    return destination.host === address
      ? blockedMessage(address)
      : `${blockedMessage(address)}, which is an address of ${destination.host}`;
  if (isPublicAddress(address)) return null;
  const { host, port } = destination;
  if (rules.allowHosts.some((pattern) => matchesHost(pattern, host))) return null;
  if (isAllowedPrivate(rules.privateHosts, destination, address)) return null;
  const leadsTo = host === address ? 'is' : `leads to ${address}, which is`;
  const warning = isMetadataAddress(address)
    ? ' (warning: this may be a cloud metadata service, which gives out credentials of this machine)'
    : '';
  return `${host} ${leadsTo} a private or local address, and the owner of this machine does not let the browser reach it; the owner adds it with${warning}: outrigger-companion hosts --private ${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Returns the host and port of an address. */
export function destinationOf(url: URL): Destination {
  const isSecure = url.protocol === 'https:' || url.protocol === 'wss:';
  return { host: plainHost(url), port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port) };
}

/** Why the browser must not open an address, or null. Checks everything that is known without a DNS look-up. */
export function navigationProblem(address: string, rules: HostRules): string | null {
  if (!URL.canParse(address))
    return `"${address.slice(0, 200)}" is not an absolute address; give one that begins with https:// or http://`;
  const url = new URL(address);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `${url.protocol} addresses are not opened; only http and https are`;
  const destination = destinationOf(url);
  const refused = nameProblem(destination.host, rules);
  if (refused !== null) return refused;
  const problems = (knownAddresses(destination.host) ?? []).map((knownAddress) =>
    addressProblem(destination, knownAddress, rules),
  );
  // A name with several addresses can be reached if at least one address is allowed.
  return problems.length > 0 && problems.every((problem) => problem !== null) ? (problems[0] ?? null) : null;
}
