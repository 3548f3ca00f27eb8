import ipaddr from 'ipaddr.js';

/**
 * Whether a text is an IP address or a CIDR block in its usual form.
 * Short and octal forms are refused: parsers read `1.2.3` as 1.2.0.3 and `010.0.0.1` as 8.0.0.1.
 */
export const isAddressBlock = (text: string) =>
  text.includes('/')
    ? ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text)
    : ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
