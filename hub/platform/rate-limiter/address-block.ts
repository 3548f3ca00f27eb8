import ipaddr from 'ipaddr.js';

/** What of an address is limited: an IPv4 address, however it is written, or the /64 of IPv6, which is what one customer gets. */
export function addressBlock(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
