import ipaddr from 'ipaddr.js';

/** Whether it is an address or a CIDR block as everybody writes it: not `1.2.3`, which would be 1.2.0.3, nor `010.0.0.1`, which would be 8.0.0.1. */
export const isAddressBlock = (text: string) =>
  text.includes('/')
    ? ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text)
    : ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
