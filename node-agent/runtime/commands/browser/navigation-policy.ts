/** The hosts that an owner allows or blocks; with none allowed by name, all are that are not blocked. */
interface HostLists {
  allowHosts: readonly string[];
  blockHosts: readonly string[];
}

/** The host of a pattern as addresses name it, whichever way its owner wrote it (`Bücher.example`, `[::1]`); null when it is none. */
export function hostOfPattern(pattern: string): string | null {
  const name = pattern.replace(/^\*\./, '');
  const address = `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}`;
  return /[*/?#@\\\s]/.test(name) || !URL.canParse(address) ? null : plainHost(new URL(address));
}

const plainHost = ({ hostname }: URL) =>
  hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();

/** Whether a host is what a pattern names: itself, or for `*.example.org` any host below example.org. */
function matches(pattern: string, host: string): boolean {
  const wanted = hostOfPattern(pattern);
  return wanted !== null && (pattern.startsWith('*.') ? host.endsWith(`.${wanted}`) : host === wanted);
}

/** Whether the owner limits where the browser may go at all. */
export function hasHostLists({ allowHosts, blockHosts }: HostLists): boolean {
  return allowHosts.length > 0 || blockHosts.length > 0;
}

/** Why the browser may not go to an address, or null when it may. */
export function navigationProblem(address: string, { allowHosts, blockHosts }: HostLists): string | null {
  if (!URL.canParse(address))
    return `"${address.slice(0, 200)}" is not an absolute address; give one that begins with https:// or http://`;
  const url = new URL(address);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `${url.protocol} addresses are not opened; only http and https are`;
  const host = plainHost(url);
  if (blockHosts.some((pattern) => matches(pattern, host))) return `the owner of this machine blocks ${host}`;
  if (allowHosts.length > 0 && !allowHosts.some((pattern) => matches(pattern, host)))
    return `the owner of this machine allows only ${allowHosts.join(', ')}; ${host} is not among them`;
  return null;
}
