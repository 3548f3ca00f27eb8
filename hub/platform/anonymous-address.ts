import ipaddr from 'ipaddr.js';

/** Number of 16-bit groups of an IPv6 address that are kept: 48 bits usually identify a provider, not a household. */
const keptParts = 3;

/**
 * Removes the part of an address that identifies a device: the last byte of IPv4, all but the first 48 bits of IPv6.
 * Returns null for invalid input.
 */
export function anonymizeAddress(address: string): string | null {
  if (!ipaddr.isValid(address)) return null;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return [...parsed.octets.slice(0, 3), 0].join('.');
  return new ipaddr.IPv6([...parsed.parts.slice(0, keptParts), ...Array<number>(8 - keptParts).fill(0)]).toString();
}
