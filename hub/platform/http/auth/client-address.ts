import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { all as proxyAddresses } from 'proxy-addr';

/** Whether an address is in a CIDR block, or equals a single address. */
export function contains(block: string, address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  const [range, bits] = rangeOf(block);
  if (range.kind() !== parsed.kind()) return false;
  return parsed.match(range as ipaddr.IPv6, bits);
}

/** Parses a block into its first address and prefix length. An IPv4-mapped IPv6 block counts as the IPv4 block. */
function rangeOf(block: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const [range, bits] = block.includes('/') ? ipaddr.parseCIDR(block) : ([ipaddr.parse(block), null] as const);
  if (range instanceof ipaddr.IPv6 && range.isIPv4MappedAddress() && (bits ?? 128) >= 96)
    return [range.toIPv4Address(), (bits ?? 128) - 96];
  return [range, bits ?? (range.kind() === 'ipv4' ? 32 : 128)];
}

/** The address of the client: that of the connection, or of `X-Forwarded-For` as far as trusted proxies wrote it. */
export function clientAddress(request: IncomingMessage, trustedProxies: readonly string[]): string {
  const isTrusted = (address: string) => trustedProxies.some((proxy) => contains(proxy, address));
  const address = proxyAddresses(request, isTrusted).findLast((part) => ipaddr.isValid(part));
  return address === undefined ? (request.socket.remoteAddress ?? '') : ipaddr.process(address).toString();
}
