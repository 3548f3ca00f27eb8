import { AppError } from '../../../../shared/errors.ts';
import type { ErrorCode } from '../../../../shared/errors.ts';
import { EgressFailed, EgressRefused } from '../../../platform/egress/egress.ts';
import type { EgressFailure } from '../../../platform/egress/failure.ts';

export type SpeechStage = 'speech_to_text' | 'text_to_speech';

/**
 * Why speech failed.
 * - Connection: `address_refused` by the egress guard, `connect_refused`, `connect_timeout`, `connect_failed`, `tls`,
 *   `no_tls`, `reset`, `stalled_before_first_byte`, `stalled_after_first_byte`, `timeout`.
 * - Response: `status` for an HTTP status other than 200, `empty` for a response without sound, `rubbish` for an
 *   invalid response, such as HTML, incomplete JSON or another format.
 * - Program: `program_missing`, `program_failed`, `voice_unknown` for a voice that does not exist.
 */
export type SpeechFailure =
  | 'address_refused'
  | 'connect_refused'
  | 'connect_timeout'
  | 'connect_failed'
  | 'tls'
  | 'no_tls'
  | 'reset'
  | 'stalled_before_first_byte'
  | 'stalled_after_first_byte'
  | 'timeout'
  | 'status'
  | 'empty'
  | 'rubbish'
  | 'program_missing'
  | 'program_failed'
  | 'voice_unknown';

const names: Readonly<Record<SpeechStage, string>> = {
  speech_to_text: 'Speech-to-text',
  text_to_speech: 'Text-to-speech',
};

/**
 * Speech failed. The message names the stage, the provider and the failure. It never contains the provider's own
 * message, which may quote the speech.
 */
export class SpeechFailed extends AppError {
  readonly stage: SpeechStage;
  readonly kind: SpeechFailure;
  /** The HTTP status of the response, or null. */
  readonly answeredStatus: number | null;
  /** The delay that the provider requests before a retry. */
  readonly retryAfterMs: number | null;

  /**
   * @param what What happened, as a sentence after the stage and a colon.
   * @param code An error code other than `speech_failed`, for a failure that the caller can correct.
   */
  constructor(
    stage: SpeechStage,
    kind: SpeechFailure,
    what: string,
    {
      status = null,
      retryAfterMs = null,
      code = 'speech_failed',
    }: { status?: number | null; retryAfterMs?: number | null; code?: ErrorCode } = {},
  ) {
    super(
      code,
      `${names[stage]}: ${what}`,
      retryAfterMs === null ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)) },
    );
    this.name = 'SpeechFailed';
    this.stage = stage;
    this.kind = kind;
    this.answeredStatus = status;
    this.retryAfterMs = retryAfterMs;
  }
}

const kindOfEgress: Readonly<Record<EgressFailure, SpeechFailure>> = {
  refused: 'connect_refused',
  unresolved: 'connect_failed',
  unreachable: 'connect_failed',
  connect_timeout: 'connect_timeout',
  tls: 'tls',
  no_tls: 'no_tls',
  reset: 'reset',
  first_byte_timeout: 'stalled_before_first_byte',
  idle_timeout: 'stalled_after_first_byte',
  timeout: 'timeout',
  too_large: 'rubbish',
  malformed: 'rubbish',
  other: 'connect_failed',
};

/** Converts an egress error. Other errors are returned unchanged. */
export function toSpeechFailed(error: unknown, stage: SpeechStage): unknown {
  if (error instanceof EgressRefused) return new SpeechFailed(stage, 'address_refused', error.message);
  if (error instanceof EgressFailed) return new SpeechFailed(stage, kindOfEgress[error.failure], error.message);
  return error;
}

const retryableKinds: ReadonlySet<SpeechFailure> = new Set([
  'connect_refused',
  'connect_timeout',
  'connect_failed',
  'reset',
  'stalled_before_first_byte',
  'stalled_after_first_byte',
  'empty',
  'rubbish',
  'program_failed',
]);
const retryableStatuses = new Set([408, 409, 425, 429]);

/** Whether an immediate retry may succeed. */
export const isRetryable = ({ kind, answeredStatus }: SpeechFailed): boolean =>
  kind === 'status'
    ? retryableStatuses.has(answeredStatus ?? 0) || (answeredStatus ?? 0) >= 500
    : retryableKinds.has(kind);

/** The metric label of a failed call. */
export const outcomeOf = ({ kind, answeredStatus }: SpeechFailed): string =>
  kind === 'status' ? `http_${Math.floor((answeredStatus ?? 0) / 100)}xx` : kind;
