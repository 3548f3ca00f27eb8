import ipaddr from 'ipaddr.js';

/** Ranges, as ipaddr.js names them, that a stranger's URL may lead to. Everything else is refused. */
const publicRange = 'unicast';

/**
 * Whether an address belongs to the public internet. IPv4 addresses that hide in IPv6 (mapped, NAT64, 6to4, Teredo) are not
 * public, whatever they hold: no web hook needs them, and each has carried somebody past a filter.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv6') {
    const ipv6 = parsed as ipaddr.IPv6;
    return (
      !ipv6.isIPv4MappedAddress() &&
      ipv6.range() === publicRange &&
      ipv6.match(ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number])
    );
  }
  return parsed.range() === publicRange;
}
