import { AppError } from '../../../../shared/errors.ts';
import type { ErrorCode } from '../../../../shared/errors.ts';
import { EgressFailed, EgressRefused } from '../../../platform/egress/egress.ts';
import type { EgressFailure } from '../../../platform/egress/failure.ts';

export type SpeechStage = 'speech_to_text' | 'text_to_speech';

/**
 * Why there are no words, or no sound. Of the way: `address_refused` by the egress guard, `connect_refused`, `connect_timeout`, `connect_failed`, `tls`, `no_tls`, `reset`;
 * `stalled_before_first_byte`, `stalled_after_first_byte` and `timeout`. Of the answer: `status` for an HTTP status that is no success, `empty` for one without sound and
 * `rubbish` for what is none: HTML, cut JSON, another format. Of a program: `program_missing`, `program_failed`, and `voice_unknown` for a voice that it does not have.
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

/** Speech that could not be had. The message names the stage, whose it is and what happened, and nothing of what was said: a provider's own words may quote it. */
export class SpeechFailed extends AppError {
  readonly stage: SpeechStage;
  readonly kind: SpeechFailure;
  /** The HTTP status, where one was the answer. */
  readonly answeredStatus: number | null;
  /** For how long the other side asks to be left alone, in milliseconds. */
  readonly retryAfterMs: number | null;

  /**
   * @param what happened, as the end of a sentence that begins with the stage and a colon.
   * @param code another than `speech_failed` for what the caller can put right.
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

/** What an error of the way out amounts to; other errors stay as they are. */
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

/** Whether the same may succeed at once. */
export const isRetryable = ({ kind, answeredStatus }: SpeechFailed): boolean =>
  kind === 'status'
    ? retryableStatuses.has(answeredStatus ?? 0) || (answeredStatus ?? 0) >= 500
    : retryableKinds.has(kind);

/** The stable word of how a call ended that failed. */
export const outcomeOf = ({ kind, answeredStatus }: SpeechFailed): string =>
  kind === 'status' ? `http_${Math.floor((answeredStatus ?? 0) / 100)}xx` : kind;
