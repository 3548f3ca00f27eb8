import { isAllowedPrivate, isListedAddress, isMetadataAddress, isPublicAddress, knownAddresses } from './addresses.ts';
import type { Destination } from './addresses.ts';
import { matchesHost, plainHost } from './host-patterns.ts';

/** Where the owner lets the browser go; with no host allowed by name, all are that are not blocked. */
export interface HostRules {
  readonly allowHosts: readonly string[];
  readonly blockHosts: readonly string[];
  /** Private destinations that may be reached; a host that `allowHosts` names may be, too. */
  readonly privateHosts: readonly string[];
}

const blockedMessage = (host: string) => `The owner of this machine blocks ${host}`;

/** Why the owner's lists of names refuse a host, or null. */
export function nameProblem(host: string, { allowHosts, blockHosts }: HostRules): string | null {
  if (blockHosts.some((pattern) => matchesHost(pattern, host)) || isListedAddress(blockHosts, host))
    return blockedMessage(host);
  if (allowHosts.length > 0 && !allowHosts.some((pattern) => matchesHost(pattern, host)))
    return `The owner of this machine allows only ${allowHosts.join(', ')}; ${host} is not among them`;
  return null;
}

/** Why a host may not be reached at an IP address, or null: the owner can block an address, and must name private, local and reserved ones. */
export function addressProblem(destination: Destination, address: string, rules: HostRules): string | null {
  if (isListedAddress(rules.blockHosts, address))
    return destination.host === address
      ? blockedMessage(address)
      : `${blockedMessage(address)}, to which ${destination.host} leads`;
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

/** The host and port that an address of a page leads to. */
export function destinationOf(url: URL): Destination {
  const isSecure = url.protocol === 'https:' || url.protocol === 'wss:';
  return { host: plainHost(url), port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port) };
}

/** Why the browser may not go to an address, as far as that is known without a look-up of its name; null when it may. */
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
  // A name with several addresses may be reached at those that are allowed.
  return problems.length > 0 && problems.every((problem) => problem !== null) ? (problems[0] ?? null) : null;
}
