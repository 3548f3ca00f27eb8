import { AppError } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Speech, SpeechBindings, SpeechToText, TextToSpeech } from '../speech/index.ts';
import { todayStart } from './today.ts';

/** Daily speech limits per workspace. A workspace can set lower ones. */
export interface SpeechLimits {
  dailySeconds: number;
  dailyCharacters: number;
}

interface MeterRow {
  is_counted: boolean;
  is_used_up: boolean;
  seconds_left: number;
}

/**
 * Counts speech per workspace and day and rejects calls above a limit before the provider is called.
 * Transcription is also rejected when the daily budget for models is used up, because no model could answer it.
 */
export class SpeechMeter {
  readonly #db: Database;
  readonly #speech: SpeechBindings;
  readonly #limits: SpeechLimits;

  constructor(dependencies: { db: Database; speech: SpeechBindings; limits: SpeechLimits }) {
    this.#db = dependencies.db;
    this.#speech = dependencies.speech;
    this.#limits = dependencies.limits;
  }

  /** The speech bindings of the hub for one workspace. Calls above a limit reject with `ai_budget_used_up`. */
  bindingsOf(tenantId: string): SpeechBindings {
    const { speechToText, textToSpeech } = this.#speech;
    return {
      speechToText: speechToText === null ? null : this.#meteredSpeechToText(tenantId, speechToText),
      textToSpeech: textToSpeech === null ? null : this.#meteredTextToSpeech(tenantId, textToSpeech),
    };
  }

  #meteredSpeechToText(tenantId: string, speechToText: SpeechToText): SpeechToText {
    return {
      transcribe: async (request) => {
        await this.#count(tenantId, { transcribedMs: durationMs(request), characters: 0 });
        request.signal.throwIfAborted();
        return speechToText.transcribe(request);
      },
    };
  }

  #meteredTextToSpeech(tenantId: string, textToSpeech: TextToSpeech): TextToSpeech {
    const count = (characters: number) => this.#count(tenantId, { transcribedMs: 0, characters });
    // Count in sequence, so that sentences reach the provider in the order of the answer.
    let last: Promise<unknown> = Promise.resolve();
    return {
      async *speak(request) {
        const counted = last.then(() => count([...request.text].length));
        last = counted.catch(() => undefined);
        await counted;
        request.signal.throwIfAborted();
        yield* textToSpeech.speak(request);
      },
      ...(textToSpeech.hasVoice === undefined ? {} : { hasVoice: textToSpeech.hasVoice.bind(textToSpeech) }),
    };
  }

  /** @throws AppError `ai_budget_used_up`. */
  async #count(
    tenantId: string,
    { transcribedMs, characters }: { transcribedMs: number; characters: number },
  ): Promise<void> {
    const { dailySeconds, dailyCharacters } = this.#limits;
    const rows = await this.#db.workspace(
      tenantId,
      async (tx) =>
        (
          await tx.query<MeterRow>(
            'count_speech',
            `WITH budget AS (
               SELECT least($4::bigint, (SELECT daily_speech_seconds FROM ai_budgets WHERE tenant_id = $1)) * 1000 AS most_ms,
                 least($5::bigint, (SELECT daily_speech_characters FROM ai_budgets WHERE tenant_id = $1)) AS most_characters,
                 $2::bigint > 0 AND EXISTS (
                   SELECT FROM ai_budgets b WHERE b.tenant_id = $1 AND (
                     (SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM ai_usage WHERE tenant_id = $1 AND hour >= ${todayStart}) >= b.daily_tokens
                     OR (SELECT coalesce(sum(cost_micros), 0) FROM ai_usage WHERE tenant_id = $1 AND hour >= ${todayStart} AND currency = b.currency) >= b.daily_cost_micros
                   )
                 ) AS is_used_up
             ), counted AS (
               INSERT INTO ai_speech_usage AS s (tenant_id, day, transcribed_ms, spoken_characters)
               SELECT $1, (now() AT TIME ZONE 'UTC')::date, $2, $3 FROM budget WHERE NOT is_used_up AND $2 <= most_ms AND $3 <= most_characters
               ON CONFLICT (tenant_id, day) DO UPDATE SET transcribed_ms = s.transcribed_ms + excluded.transcribed_ms, spoken_characters = s.spoken_characters + excluded.spoken_characters
               WHERE s.transcribed_ms + excluded.transcribed_ms <= (SELECT most_ms FROM budget) AND s.spoken_characters + excluded.spoken_characters <= (SELECT most_characters FROM budget)
               RETURNING 1
             )
             SELECT EXISTS (SELECT FROM counted) AS is_counted, is_used_up, extract(epoch FROM ${todayStart} + interval '1 day' - now())::float8 AS seconds_left FROM budget`,
            [tenantId, transcribedMs, characters, dailySeconds, dailyCharacters],
          )
        ).rows,
      { durable: false },
    );
    const { is_counted: isCounted, is_used_up: isUsedUp, seconds_left: secondsLeft } = rows[0] as MeterRow;
    if (isCounted) return;
    const what = isUsedUp
      ? 'The budget of this workspace for models is used up for today, so nothing is transcribed'
      : `The daily limit of this workspace for ${transcribedMs > 0 ? 'seconds of transcription' : 'spoken characters'} is reached`;
    throw new AppError(
      'ai_budget_used_up',
      `${what}; it resets at 00:00 UTC. GET /tenants/{tenantId}/ai/budget shows the limits, and an admin can change them with PUT.`,
      { retryAfterSeconds: Math.max(1, Math.ceil(secondsLeft)) },
    );
  }
}

/** Duration in whole milliseconds, rounded up. */
const durationMs = ({ pcm, sampleRate }: Speech) => Math.ceil((pcm.length / 2 / sampleRate) * 1_000);
