import ipaddr from 'ipaddr.js';

/** The only range of ipaddr.js that untrusted URLs may lead to. */
const publicRange = 'unicast';

/**
 * Whether an address belongs to the public internet. IPv6 addresses that embed an IPv4 address (mapped, NAT64, 6to4,
 * Teredo) count as not public. Webhooks do not need them, and each form has been used to bypass such filters.
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
