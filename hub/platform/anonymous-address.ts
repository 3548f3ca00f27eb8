import ipaddr from 'ipaddr.js';

/** How much of an IPv6 address is that of a network rather than of a household, in parts of 16 bits. */
const keptParts = 3;

/** An address without what tells its machine from those beside it: the last byte of IPv4, all but the first 48 bits of IPv6; null for what is none. */
export function anonymizeAddress(address: string): string | null {
  if (!ipaddr.isValid(address)) return null;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return [...parsed.octets.slice(0, 3), 0].join('.');
  return new ipaddr.IPv6([...parsed.parts.slice(0, keptParts), ...Array<number>(8 - keptParts).fill(0)]).toString();
}
