import ipaddr from 'ipaddr.js';

/**
 * Returns the unit by which addresses are limited: a normalized IPv4 address, or the /64 block of an IPv6 address,
 * which one customer has.
 */
export function addressBlock(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
