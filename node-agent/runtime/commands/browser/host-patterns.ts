/** The host of a pattern as addresses name it, whichever way its owner wrote it (`Bücher.example`, `[::1]`); null when it is none. */
export function hostOfPattern(pattern: string): string | null {
  const name = pattern.replace(/^\*\./, '');
  const address = `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}`;
  return /[*/?#@\\\s]/.test(name) || !URL.canParse(address) ? null : plainHost(new URL(address));
}

/** The host of an address without the brackets of IPv6 and the dot at its end. */
export const plainHost = ({ hostname }: URL) =>
  hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();

/** Whether a host is what a pattern names: itself, or for `*.example.org` any host below example.org. */
export function matchesHost(pattern: string, host: string): boolean {
  const wanted = hostOfPattern(pattern);
  return wanted !== null && (pattern.startsWith('*.') ? host.endsWith(`.${wanted}`) : host === wanted);
}
