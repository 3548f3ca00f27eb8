/** A host that the guard does not let requests to. The message names it and the setting that would allow it. */
export class EgressRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EgressRefused';
  }
}

/**
 * What became of a request that went out: `refused`, `unresolved`, `unreachable`, `tls`, `no_tls` and `connect_timeout` before there was a connection; `reset` by
 * the other side, whenever; `first_byte_timeout`, `idle_timeout` and `timeout` by our own bounds; `too_large` and `malformed` for an answer that can't be used.
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

/** A request that went out and had no usable answer. */
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

/** The failure that an error of a socket, of TLS or of the HTTP parser amounts to. @param host as people know it. */
export function toEgressFailed(error: unknown, host: string): EgressFailed {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const reason = typeof code === 'string' ? code : typeof message === 'string' ? message : String(error);
  // Of what OpenSSL says, nothing but the text tells an answer in another protocol from a handshake that failed.
  if (/^EPROTO$|^ERR_SSL_/.test(reason) && typeof message === 'string' && noTls.test(message))
    return new EgressFailed(`${host} speaks no TLS there.`, { failure: 'no_tls', cause: error });
  const failure = failures.find(([pattern]) => pattern.test(reason))?.[1] ?? 'other';
  return new EgressFailed(`${host} could not be reached: ${reason}.`, { failure, cause: error });
}
