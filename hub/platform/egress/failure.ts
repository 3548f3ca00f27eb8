/** The egress guard refused a host. The message names the host and the setting that would allow it. */
export class EgressRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EgressRefused';
  }
}

/**
 * Why a request failed:
 * - Before a connection existed: `refused`, `unresolved`, `unreachable`, `tls`, `no_tls` and `connect_timeout`.
 * - At any time: `reset` when the other side closed the connection.
 * - By limits of the hub: `first_byte_timeout`, `idle_timeout` and `timeout`.
 * - For an unusable response: `too_large` and `malformed`.
 */
export type EgressFailure =
  | 'refused'
  | 'unresolved'
  | 'unreachable'
  | 'tls'
  | 'no_tls'
  | 'connect_timeout'
  | 'reset'
  | 'first_byte_timeout'
  | 'idle_timeout'
  | 'timeout'
  | 'too_large'
  | 'malformed'
  | 'other';

/** A request was sent and got no usable response. */
export class EgressFailed extends Error {
  readonly failure: EgressFailure;

  constructor(message: string, { failure = 'other', ...options }: ErrorOptions & { failure?: EgressFailure } = {}) {
    super(message, options);
    this.name = 'EgressFailed';
    this.failure = failure;
  }
}

const failures: readonly (readonly [RegExp, EgressFailure])[] = [
  [/^ECONNREFUSED$/, 'refused'],
  [/^(ENOTFOUND$|ENODATA$|ESERVFAIL$|EREFUSED$|EFORMERR$|EBADRESP$|ETIMEOUT$|ECANCELLED$|EAI_)/, 'unresolved'],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|EADDRNOTAVAIL)$/, 'unreachable'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'reset'],
  [/^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|EPROTO$)/, 'tls'],
  [/^HPE_/, 'malformed'],
];

const noTls = /wrong version number|packet length too long|http request/i;

/** Converts an error of a socket, of TLS or of the HTTP parser. @param host is shown in the message. */
export function toEgressFailed(error: unknown, host: string): EgressFailed {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const reason = typeof code === 'string' ? code : typeof message === 'string' ? message : String(error);
  // Only the message of OpenSSL distinguishes a response in another protocol from a failed handshake.
  if (/^EPROTO$|^ERR_SSL_/.test(reason) && typeof message === 'string' && noTls.test(message))
    return new EgressFailed(`${host} does not use TLS on this port.`, { failure: 'no_tls', cause: error });
  const failure = failures.find(([pattern]) => pattern.test(reason))?.[1] ?? 'other';
  return new EgressFailed(`${host} could not be reached: ${reason}.`, { failure, cause: error });
}
