import { isIP } from 'node:net';

/** The proxy for a destination, from the environment of the companion. */
export interface OwnerProxy {
  host: string;
  port: number;
  /** Whether the connection to the proxy itself is TLS. */
  isSecure: boolean;
  /** The value of the header `Proxy-Authorization`; null if the address contains no user. */
  authorization: string | null;
  /** The environment variable with its address. */
  variable: string;
}

/** The environment contains a proxy address that is not valid. The message says what to do. */
export class ProxySettingsError extends Error {}

type Environment = Readonly<Record<string, string | undefined>>;

const read = (environment: Environment, name: string) => {
  const value = environment[name.toLowerCase()] ?? environment[name];
  return value === undefined || value.trim() === '' ? undefined : value.trim();
};

/**
 * Whether `NO_PROXY` exempts a host. Entries are `*`, `host`, `.host`, `*.host` or `host:port`. A name also exempts its
 * subdomains.
 */
function isExempt(list: string, host: string, port: number): boolean {
  return list
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = entry, entryPort] = isIP(entry) === 6 ? [] : (/^(.*):(\d+)$/.exec(entry) ?? []);
      if (entryPort !== undefined && Number(entryPort) !== port) return false;
      const wanted = name
        .toLowerCase()
        .replace(/^\[|\]$/g, '')
        .replace(/^\*?\./, '');
      return host === wanted || (isIP(host) === 0 && host.endsWith(`.${wanted}`));
    });
}

/**
 * Returns the proxy for a destination from `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`; null for a direct connection.
 * Variables with lower-case names take precedence.
 * @throws ProxySettingsError if the address of the proxy is not valid.
 */
export function ownerProxyFor(
  { host, port, isTunnel }: { host: string; port: number; isTunnel: boolean },
  environment: Environment = process.env,
): OwnerProxy | null {
  const name = isTunnel ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const address = read(environment, name);
  if (address === undefined || isExempt(read(environment, 'NO_PROXY') ?? '', host, port)) return null;
  const text = address.includes('://') ? address : `http://${address}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new ProxySettingsError(
      `${name} must be the address of an HTTP proxy, such as http://proxy.example:3128; start the companion with a usable one`,
    );
  const isSecure = url.protocol === 'https:';
  const user = decodeURIComponent(url.username);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    isSecure,
    authorization:
      user === '' ? null : `Basic ${Buffer.from(`${user}:${decodeURIComponent(url.password)}`).toString('base64')}`,
    variable: name,
  };
}
