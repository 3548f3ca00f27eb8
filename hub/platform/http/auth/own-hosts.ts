import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

/** The host names of this hub. A client can send any Host header, so the header alone is not trusted. */
export interface OwnHosts {
  /**
   * Whether the Host header is safe against DNS rebinding: a host name of this hub, or any IP address, because a name
   * server cannot redirect an address.
   */
  isSafe(request: IncomingMessage): boolean;
  /**
   * Whether an `Origin` header names the host of its request, and not http where `PUBLIC_URL` gives this host https.
   * Under any other name, the hub does not know the scheme: a proxy or a tunnel may add TLS.
   */
  isOriginOf(origin: string, request: IncomingMessage): boolean;
  /** Whether the caller is on this machine, uses a loopback name and is not behind a proxy. */
  isLocal(request: IncomingMessage): boolean;
  /**
   * URL under which the caller reached this hub, for example `https://hub.example.org`. Uses the Host header only if it
   * names this hub.
   */
  baseUrlOf(request: Request): string;
  /**
   * Name of the session cookie. With https it has the prefix `__Host-`, so that no other host and no http page can set
   * it.
   */
  readonly sessionCookie: string;
}

const cookieName = 'outrigger_session';

export interface OwnHostsOptions {
  publicUrl: string | null;
  /** The address that the hub listens on. */
  host: string;
  /** URL of the address that the hub listens on. */
  listensAt: () => string;
}

const withoutBrackets = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1');

/** Maximum length of a parsed origin, in characters. Node.js takes quadratic time to parse some longer ones. */
const maxOriginLength = 300;

const parseOrigin = (origin: string): URL | null => (origin.length > maxOriginLength ? null : URL.parse(origin));

function hostnameOf({ headers: { host } }: IncomingMessage): string | null {
  const url = host === undefined ? null : parseOrigin(`http://${host}`);
  return url === null ? null : withoutBrackets(url.hostname);
}

/** Whether a host name or an address always refers to the machine itself. */
function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true;
  return ipaddr.isValid(hostname) && ipaddr.process(hostname).range() === 'loopback';
}

export function createOwnHosts({ publicUrl, host, listensAt }: OwnHostsOptions): OwnHosts {
  const publicAddress = publicUrl === null ? null : new URL(publicUrl);
  const publicHost = publicAddress?.host ?? null;
  const isOwn = (request: IncomingMessage): boolean => {
    const hostname = hostnameOf(request);
    if (hostname === null) return false;
    if (request.headers.host?.toLowerCase() === publicHost || isLoopback(hostname) || hostname === host.toLowerCase())
      return true;
    const { localAddress } = request.socket;
    return (
      ipaddr.isValid(hostname) &&
      localAddress !== undefined &&
      ipaddr.process(hostname).toString() === ipaddr.process(localAddress).toString()
    );
  };
  return {
    sessionCookie: publicUrl?.startsWith('https:') === true ? `__Host-${cookieName}` : cookieName,
    isSafe: (request) => isOwn(request) || ipaddr.isValid(hostnameOf(request) ?? ''),
    isOriginOf(origin, { headers: { host: named } }) {
      const url = parseOrigin(origin);
      if (url === null || named === undefined || url.host !== named) return false;
      // TLS protects an https page from changes in transit, so it is accepted if PUBLIC_URL is http.
      return named !== publicHost || publicAddress?.protocol !== 'https:' || url.protocol === 'https:';
    },
    isLocal: (request) =>
      isLoopback(request.socket.remoteAddress ?? '') &&
      isLoopback(hostnameOf(request) ?? '') &&
      request.headers['x-forwarded-for'] === undefined &&
      request.headers.forwarded === undefined,
    baseUrlOf: (request) =>
      publicUrl ?? (isOwn(request) ? `${request.protocol}://${request.headers.host}` : listensAt()),
  };
}
