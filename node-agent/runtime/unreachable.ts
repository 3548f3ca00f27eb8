import { ProxyError } from './http-agent.ts';

const checkAddress = 'check the address and its port, and whether the hub runs';
const untrusted =
  'its certificate is not signed by an authority that this machine trusts; install that authority here, or give the hub a certificate of a public one';
const closedEarly = `it ended the connection before it answered; ${checkAddress}`;
const noRoute = `nothing answered there; check the address, a firewall, and whether this machine is on the network`;

/** Explanations of system and TLS error codes, with what to do, for the person who entered the address. */
const explanations: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no host has this name; check the spelling of the address, and whether this machine is on the network',
  EAI_AGAIN: 'its name cannot be looked up now; check whether this machine is on the network',
  ECONNREFUSED: `nothing listens there; ${checkAddress}`,
  ECONNRESET: closedEarly,
  EPIPE: closedEarly,
  ETIMEDOUT: noRoute,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: 'no network leads there; check whether this machine is on the network',
  EHOSTDOWN: noRoute,
  EACCES: 'this system does not let the companion connect to it; check its firewall',
  EPERM: 'this system does not let the companion connect to it; check its firewall',
  CERT_HAS_EXPIRED:
    'its certificate has expired; it must be renewed at the hub (or the clock of this machine is wrong)',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; check the clock of this machine',
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_UNTRUSTED: untrusted,
  CERT_REVOKED: 'its certificate was revoked; the hub needs another one',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another name; use the address that the certificate names, or give the hub one for this address',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not use https there; check the port, or whether the address needs http',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not use https there; check the port, or whether the address needs http',
  EPROTO: 'it does not use https there; check the port, or whether the address needs http',
};

/** Failures that are recognised by their message, because they have no code or a code of the HTTP parser. */
const messagePatterns: readonly (readonly [pattern: RegExp, explanations: string])[] = [
  [/redirect/i, 'it redirects to another address; use that address'],
  [/HTTP\/1\.1 protocol|parse error/i, 'what answers there is not a web server; check the address and its port'],
];

interface Cause {
  code?: unknown;
  message?: unknown;
  errors?: unknown;
}

/** Explains why a request got no answer, and what to do. Unknown errors keep their own message. */
export function describeFailure(error: unknown): string {
  // The connection to the proxy failed, not the one to the hub. The message names the proxy.
  if (error instanceof ProxyError) return error.message;
  const { code, message, errors } = ((error as { cause?: unknown }).cause ?? error) as Cause;
  // The connection was tried with several addresses of the name.
  const first = Array.isArray(errors) ? (errors[0] as Cause | undefined)?.code : undefined;
  const known = [code, first].find((one) => typeof one === 'string' && Object.hasOwn(explanations, one)) as
    | string
    | undefined;
  if (known !== undefined) return explanations[known] as string;
  const text = typeof message === 'string' && message !== '' ? message : (error as Error).message;
  const refusal = messagePatterns.find(([pattern]) => pattern.test(text));
  if (refusal !== undefined) return refusal[1];
  return typeof code === 'string' ? `${text} (${code})` : text;
}

/** Explains an answer that did not come from a hub, by its HTTP status. */
export function describeForeignAnswer(status: number): string {
  if (status === 401 || status === 403 || status === 407)
    return `The answer did not come from a hub (HTTP ${status}): a proxy requires its own sign-in, or the address is wrong.`;
  if (status === 429) return `The answer did not come from a hub (HTTP ${status}): a proxy receives too many requests.`;
  if (status >= 500)
    return `The answer did not come from a hub (HTTP ${status}): a proxy cannot reach the hub now, or the address is wrong.`;
  return `The answer did not come from a hub (HTTP ${status}); is the address right?`;
}
