import { BlockList, isIP } from 'node:net';
import { hostOfPattern, matchesHost } from './host-patterns.ts';

/** IPv4 ranges that do not belong to the public internet (IANA special-purpose registry, multicast and reserved). */
const privateIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/**
 * Ranges inside 2000::/3 that are not public: Teredo and other protocols, documentation, 6to4. Only 2000::/3 is public.
 */
const privateIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const notPublic4 = blockListOf(privateIpv4);
const notPublic6 = blockListOf(privateIpv6);
const global6 = blockListOf(['2000::/3']);
const mapped = blockListOf(['::ffff:0:0/96']);
/** NAT64: networks without IPv4 resolve every IPv4 host to an address in this range. */
const nat64 = blockListOf(['64:ff9b::/96']);
/** IPv6 ranges with an IPv4 address in the last 32 bits, except `::` and `::1`. */
const embedsIpv4 = blockListOf(['::ffff:0:0/96', '::/96', '64:ff9b::/96', '64:ff9b:1::/48']);
const unspecifiedOrLoopback6 = blockListOf(['::/127']);
/** 6to4: these addresses contain an IPv4 address after the first 16 bits. */
const sixToFour = blockListOf(['2002::/16']);
const loopback = blockListOf(['127.0.0.0/8', '::1/128']);
/** Link-local addresses, and the other addresses at which clouds run metadata services. */
const metadata4 = blockListOf(['169.254.0.0/16', '100.100.100.200/32', '192.0.0.192/32']);
const metadata6 = blockListOf(['fe80::/10', 'fd00:ec2::254/128']);

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits = ''] = range.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** The eight 16-bit groups of an IPv6 address without a zone. */
function groupsOf(address: string): number[] {
  const { hostname } = new URL(`http://[${address}]/`);
  const [head = [], tail = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
}

const ipv4Of = (...groups: number[]) => groups.flatMap((group) => [group >> 8, group & 0xff]).join('.');
const lastFourBytes = (address: string): string => ipv4Of(...groupsOf(address).slice(-2));

/**
 * Returns the canonical form of an IP address: for IPv4-mapped, IPv4-compatible, NAT64 and 6to4 addresses the IPv4
 * address that they contain.
 */
function plainAddress(address: string): string {
  const plain = address.split('%', 1)[0] as string;
  if (isIP(plain) !== 6) return plain;
  if (embedsIpv4.check(plain, 'ipv6') && !unspecifiedOrLoopback6.check(plain, 'ipv6')) return lastFourBytes(plain);
  const groups = groupsOf(plain);
  if (sixToFour.check(plain, 'ipv6')) return ipv4Of(...groups.slice(1, 3));
  return groups.map((group) => group.toString(16)).join(':');
}

/** Whether a list of host patterns contains an IP address, in any notation. */
export function isListedAddress(patterns: readonly string[], address: string): boolean {
  if (isIP(address) === 0) return false;
  const plain = plainAddress(address);
  return patterns.some((pattern) => {
    const named = hostOfPattern(pattern);
    if (named === null || pattern.startsWith('*.')) return false;
    return isIP(named) !== 0 && plainAddress(named) === plain;
  });
}

/** Whether an IP address is public. For an IPv4-mapped or NAT64 address, the IPv4 address decides. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !notPublic4.check(address, 'ipv4');
  const plain = address.split('%', 1)[0] as string;
  if (isIP(plain) !== 6) return false;
  if (mapped.check(plain, 'ipv6') || nat64.check(plain, 'ipv6')) return isPublicAddress(lastFourBytes(plain));
  return global6.check(plain, 'ipv6') && !notPublic6.check(plain, 'ipv6');
}

/** Whether a cloud may have a metadata service at an IP address. */
export function isMetadataAddress(address: string): boolean {
  if (isIP(address) === 4) return metadata4.check(address, 'ipv4');
  const plain = address.split('%', 1)[0] as string;
  if (isIP(plain) !== 6) return false;
  if (mapped.check(plain, 'ipv6') || nat64.check(plain, 'ipv6')) return isMetadataAddress(lastFourBytes(plain));
  return metadata6.check(plain, 'ipv6');
}

/** A private destination that the owner allows: a host, its subdomains, or a range, on one port or on every port. */
interface PrivateEntry {
  /** `example.lan`, `*.example.lan`, `10.0.0.5`, or null for a range. */
  host: string | null;
  range: BlockList | null;
  port: number | null;
}

/** Parses `host`, `*.host`, `host:port`, `http://host[:port]` or a range such as `10.0.0.0/8`; null for other texts. */
export function parsePrivateEntry(text: string): PrivateEntry | null {
  const [, network, bits] = /^\[?([0-9a-fA-F:.]+)\]?\/(\d{1,3})$/.exec(text) ?? [];
  if (network !== undefined) {
    const family = isIP(network);
    if (family === 0 || Number(bits) > (family === 6 ? 128 : 32)) return null;
    return { host: null, range: blockListOf([`${network}/${bits}`]), port: null };
  }
  const [, scheme, rest = ''] = /^(https?:\/\/)?(.*)$/i.exec(text) ?? [];
  const authority = scheme === undefined ? rest : rest.replace(/\/$/, '');
  const [, host = authority, port] = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(authority) ?? [];
  if (hostOfPattern(host) === null || Number(port ?? 1) > 65_535 || Number(port ?? 1) < 1) return null;
  const schemePort = scheme === undefined ? null : scheme.toLowerCase() === 'https://' ? 443 : 80;
  return { host, range: null, port: port === undefined ? schemePort : Number(port) };
}

export interface Destination {
  host: string;
  port: number;
}

/** Whether an IP address is a loopback address. */
export const isLoopback = (address: string): boolean => loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

const isLoopbackName = (host: string) => host === 'localhost' || host.endsWith('.localhost');

/**
 * Whether the owner allows a private address. The entry `localhost` allows every loopback address.
 * @param host The host in the address of the page, without brackets.
 */
export function isAllowedPrivate(entries: readonly string[], { host, port }: Destination, address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  return entries.some((text) => {
    const entry = parsePrivateEntry(text);
    if (entry === null || (entry.port !== null && entry.port !== port)) return false;
    if (entry.range !== null) return entry.range.check(address, family);
    if (matchesHost(entry.host as string, host)) return true;
    const named = hostOfPattern(entry.host as string);
    return named === address || (named === 'localhost' && isLoopback(address));
  });
}

/** Returns the addresses of an IP address or of a loopback name, which need no DNS look-up; null for other hosts. */
export function knownAddresses(host: string): string[] | null {
  if (isIP(host) !== 0) return [host];
  return isLoopbackName(host) ? ['127.0.0.1', '::1'] : null;
}
