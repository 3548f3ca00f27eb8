/** Returns the canonical host of a pattern such as `Bücher.example` or `[::1]`; null if the pattern is not valid. */
export function hostOfPattern(pattern: string): string | null {
  const name = pattern.replace(/^\*\./, '');
  const address = `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}`;
  return /[*/?#@\\\s]/.test(name) || !URL.canParse(address) ? null : plainHost(new URL(address));
}

/** The host of an address, without the brackets of IPv6 and without a trailing dot. */
export const plainHost = ({ hostname }: URL) =>
  hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();

/**
 * Whether a host matches a pattern. `*.example.org` matches the subdomains of example.org, other patterns match one
 * host.
 */
export function matchesHost(pattern: string, host: string): boolean {
  const wanted = hostOfPattern(pattern);
  return wanted !== null && (pattern.startsWith('*.') ? host.endsWith(`.${wanted}`) : host === wanted);
}
