import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

/** The names under which people reach this hub. A Host header is what its sender likes, so that alone it proves nothing. */
export interface OwnHosts {
  /** Whether a page of another site can't have this Host header: a name that leads here, or any address, which no name server can bend. */
  isSafe(request: IncomingMessage): boolean;
  /** Whether the caller is on this machine, speaks to it by its loopback name and came through no proxy. */
  isLocal(request: IncomingMessage): boolean;
  /** Where the caller reaches this hub, such as `https://hub.example.org`: by its own words only when they name this hub for sure. */
  baseUrlOf(request: Request): string;
  /** The name of the session cookie. On https its prefix lets no other host and no http page set it. */
  readonly sessionCookie: string;
}

const cookieName = 'outrigger_session';

export interface OwnHostsOptions {
  publicUrl: string | null;
  /** The address to listen on. */
  host: string;
  /** Where the hub listens, as a URL. */
  listensAt: () => string;
}

const withoutBrackets = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1');

/** Characters of a scheme, a host name and a port. Node.js takes quadratic time to parse some longer ones. */
const maxOriginLength = 300;

const parseOrigin = (origin: string): URL | null => (origin.length > maxOriginLength ? null : URL.parse(origin));

/** Whether an `Origin` header names the host of its request. */
export const isOriginOfHost = (origin: string, { headers }: IncomingMessage): boolean =>
  headers.host !== undefined && parseOrigin(origin)?.host === headers.host;

function hostnameOf({ headers: { host } }: IncomingMessage): string | null {
  const url = host === undefined ? null : parseOrigin(`http://${host}`);
  return url === null ? null : withoutBrackets(url.hostname);
}

/** Whether a name or an address always leads to the machine itself. */
function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true;
  return ipaddr.isValid(hostname) && ipaddr.process(hostname).range() === 'loopback';
}

export function createOwnHosts({ publicUrl, host, listensAt }: OwnHostsOptions): OwnHosts {
  const publicHost = publicUrl === null ? null : new URL(publicUrl).host;
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
    isLocal: (request) =>
      isLoopback(request.socket.remoteAddress ?? '') &&
      isLoopback(hostnameOf(request) ?? '') &&
      request.headers['x-forwarded-for'] === undefined &&
      request.headers.forwarded === undefined,
    baseUrlOf: (request) =>
      publicUrl ?? (isOwn(request) ? `${request.protocol}://${request.headers.host}` : listensAt()),
  };
}
