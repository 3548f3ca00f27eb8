import { maxRefusedCredentials } from '../../../../shared/contract/calls/own-trunk.ts';
import { EgressFailed, EgressRefused } from '../../../platform/egress/egress.ts';
import { SipSyntaxError, SipTimeout } from '../sip/index.ts';
import type { RegisterOutcome } from '../sip/index.ts';
import { backOffMs, renewalMs } from './back-off.ts';
import type { AttemptResult, ClaimedTrunk } from './store.ts';

/** Upper bound of the Retry-After of a carrier, in milliseconds. */
const maxRetryAfterMs = 3_600_000;

/** Failure counters of a trunk. */
export type TrunkCounts = Pick<ClaimedTrunk, 'failures' | 'refused_credentials'>;

/** The reason in the trunk status when no SIP response arrived. Null if the remote side did not cause the error. */
export function unreachableReason(error: unknown): string | null {
  if (error instanceof SipTimeout) return 'timeout';
  // The hub closed the connection after invalid data.
  if (error instanceof SipSyntaxError) return 'refused';
  if (error instanceof EgressRefused) return 'address_refused';
  if (!(error instanceof EgressFailed)) return null;
  const { code } = (error.cause ?? {}) as { code?: unknown };
  switch (error.failure) {
    case 'unresolved':
      return 'dns';
    case 'tls':
      if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'tls_name';
      // Other TLS errors happen before the certificate check.
      return /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_|CRL_)/.test(String(code))
        ? 'tls_untrusted'
        : 'refused';
    case 'connect_timeout':
    case 'timeout':
    case 'unreachable':
      return 'timeout';
    default:
      return 'refused';
  }
}

/** The result of an attempt without a response. */
export const unreachable = (
  { failures, refused_credentials: refused }: TrunkCounts,
  reason: string,
): AttemptResult => ({
  state: 'unreachable',
  lastCode: null,
  lastReason: reason,
  failures: failures + 1,
  refusedCredentials: refused,
  expiresMs: null,
  nextMs: backOffMs(failures + 1),
});

/** The result for a password sealed with another key. The user must set the password again. */
export const unreadable = ({ failures, refused_credentials: refused }: TrunkCounts): AttemptResult => ({
  state: 'stopped',
  lastCode: null,
  lastReason: 'password_unreadable',
  failures,
  refusedCredentials: refused,
  expiresMs: null,
  nextMs: null,
});

/** The result of an attempt with a final response. */
export function answered(counts: TrunkCounts, outcome: RegisterOutcome): AttemptResult {
  if (outcome.kind === 'registered' && outcome.expiresSeconds > 0)
    return {
      state: 'registered',
      lastCode: outcome.code,
      lastReason: outcome.reason,
      failures: 0,
      refusedCredentials: 0,
      expiresMs: outcome.expiresSeconds * 1000,
      nextMs: renewalMs(outcome.expiresSeconds),
    };
  const failures = counts.failures + 1;
  const isCredentials = outcome.kind === 'refused' && outcome.isCredentials;
  const refusedCredentials = counts.refused_credentials + (isCredentials ? 1 : 0);
  const isStopped = refusedCredentials >= maxRefusedCredentials;
  const retryAfterMs = outcome.kind === 'refused' ? (outcome.retryAfterSeconds ?? 0) * 1000 : 0;
  return {
    state: isStopped ? 'stopped' : 'rejected',
    lastCode: outcome.code,
    lastReason: isStopped
      ? 'credentials_rejected'
      : outcome.kind === 'refused'
        ? outcome.reason
        : 'registration_not_kept',
    failures,
    refusedCredentials,
    expiresMs: null,
    nextMs: isStopped ? null : Math.max(backOffMs(failures), Math.min(maxRetryAfterMs, retryAfterMs)),
  };
}
