import { BlockList, isIP } from 'node:net';

/** A forward proxy that the environment names for an address. */
export interface Proxy {
  /** The variable that names it. */
  variable: string;
  /** Scheme, host and port, without credentials: the form that messages show. */
  origin: string;
  isTls: boolean;
  host: string;
  port: number;
  /** The value of `Proxy-Authorization`; null when the variable has no user name. */
  authorization: string | null;
}

/** A proxy variable is invalid. The message names the variable, not its value, which may hold a password. */
export class ProxySettingError extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for an address: `HTTPS_PROXY` for https and wss, `HTTP_PROXY` for http and ws, unless `NO_PROXY` lists the
 * host. The lower-case variable takes precedence. Addresses of this machine never use a proxy.
 * @throws ProxySettingError
 */
export function proxyFor(url: URL, env: Environment = process.env): Proxy | null {
  const isTls = url.protocol === 'https:' || url.protocol === 'wss:';
  const name = isTls ? 'https_proxy' : 'http_proxy';
  const variable = [name, name.toUpperCase()].find((one) => (env[one] ?? '').trim() !== '');
  if (variable === undefined || isLoopback(hostOf(url))) return null;
  if (isExcluded(url, env['no_proxy'] ?? env['NO_PROXY'] ?? '')) return null;
  return parseProxy(variable, (env[variable] as string).trim());
}

function parseProxy(variable: string, value: string): Proxy {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const parsed = URL.canParse(address) ? new URL(address) : null;
  if (parsed === null || parsed.hostname === '')
    throw new ProxySettingError(`${variable} must be the address of a proxy, such as http://proxy.example.org:3128`);
  const { protocol, host, port, username, password } = parsed;
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new ProxySettingError(
      `${variable} must begin with http:// or https://; other kinds of proxies are not supported`,
    );
  const isTls = protocol === 'https:';
  let authorization: string | null = null;
  if (username !== '' || password !== '') {
    try {
      const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
    } catch {
      throw new ProxySettingError(`${variable} has a user name or password that is not percent-encoded correctly`);
    }
  }
  return {
    variable,
    origin: `${protocol}//${host}`,
    isTls,
    host: hostOf(parsed),
    port: port === '' ? (isTls ? 443 : 80) : Number(port),
    authorization,
  };
}

/** The host of an address without the brackets of IPv6. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '').toLowerCase();

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  const family = isIP(host);
  return family !== 0 && loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/**
 * Whether an entry of `NO_PROXY` covers an address: `*`, a host with its subdomains, `host:port`, an IP address or a
 * range such as `10.0.0.0/8`.
 */
function isExcluded(url: URL, list: string): boolean {
  const host = hostOf(url).replace(/\.$/, '');
  const port = url.port === '' ? (url.protocol === 'https:' || url.protocol === 'wss:' ? '443' : '80') : url.port;
  return list.split(/[\s,]+/).some((raw) => {
    const entry = raw.toLowerCase();
    if (entry === '') return false;
    if (entry === '*') return true;
    if (entry.includes('/')) return isInRange(host, entry);
    if (isIP(entry.replace(/^\[|\]$/g, '')) !== 0) return entry.replace(/^\[|\]$/g, '') === host;
    const [, name = entry, wantedPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
    if (wantedPort !== undefined && wantedPort !== port) return false;
    const suffix = name.replace(/^\[|\]$/g, '').replace(/^\*?\./, '');
    return host === suffix || host.endsWith(`.${suffix}`);
  });
}

function isInRange(host: string, range: string): boolean {
  const [network = '', bits = ''] = range.split('/');
  const family = isIP(network);
  if (family === 0 || isIP(host) !== family || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
    return false;
  const block = new BlockList();
  const kind = family === 4 ? 'ipv4' : 'ipv6';
  block.addSubnet(network, Number(bits), kind);
  return block.check(host, kind);
}
