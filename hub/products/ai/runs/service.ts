import type { z } from 'zod';
import { metadataOf } from '../../../../shared/contract/ai/runs.ts';
import type { AiRun, aiRuns as resource, createAiRunBody } from '../../../../shared/contract/ai/runs.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { callerDisconnected } from '../../../platform/http/routing/caller-disconnected.ts';
import type { Conclude } from '../../../platform/http/routing/idempotency.ts';
import { newId } from '../../../platform/ids.ts';
import { ModelsFailed } from '../models/index.ts';
import type { Answering } from '../prompt/index.ts';
import type { FairSemaphore } from './fair-semaphore.ts';
import { assertKeyIsValid, insertRun, listRuns, readRun } from './store.ts';

export interface AiRunsDependencies {
  db: Database;
  cursors: Cursors;
  answering: Answering;
  slots: FairSemaphore;
}

/** The request of a run. */
export interface RunRequest {
  tenantId: string;
  /** ID of the API key. */
  tokenId: string;
  environment: 'live' | 'test';
  /** Aborts when the client disconnects or the hub stops. */
  signal: AbortSignal;
  conclude: Conclude;
}

const task =
  'You answer the questions of people for a business, on its behalf. Take the facts from what is quoted. Where it does not hold the answer, say that you do not know, and do not guess. Be short and friendly.';

/**
 * Runs of the API: questions answered within the request.
 * A run is inserted once, at its end. Its ID is unknown before, so a client that loses the connection repeats the
 * question. A row inserted at the start would need a further state and a sweep for processes that crash.
 */
export class AiRuns {
  readonly #deps: AiRunsDependencies;

  constructor(dependencies: AiRunsDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Asks the models and stores the result.
   * @throws AppError `ai_binding_not_configured` and `rate_limited`, which store no run; `inference_failed` and
   * `unavailable` with the ID of the failed run; `token_revoked`, `token_expired` and `product_not_entitled` if the key
   * lost its access meanwhile. Then the answer is neither stored nor sent.
   */
  async create(body: z.output<typeof createAiRunBody>, request: RunRequest): Promise<AiRun> {
    const { tenantId, tokenId, signal, conclude } = request;
    using _slot = await this.#deps.slots.acquire(tenantId, signal);
    const startedAt = performance.now();
    const run: AiRun = {
      id: newId(),
      status: 'failed',
      outputText: null,
      input: body.input,
      context: body.context ?? null,
      metadata: body.metadata ?? {},
      mode: 'text',
      locale: body.locale ?? null,
      environment: request.environment,
      model: null,
      attempts: [],
      usage: { inputTokens: 0, outputTokens: 0 },
      latencyMs: 0,
      truncated: false,
      truncation: null,
      sources: [],
      error: null,
      createdAt: new Date().toISOString(),
    };
    const timing = (): Pick<AiRun, 'latencyMs'> => ({ latencyMs: Math.round(performance.now() - startedAt) });
    const { input, context, locale } = body;
    const answer = await this.#deps.answering
      .ask({ tenantId, task, input, context, locale, signal })
      .catch(async (error: unknown) => {
        const failure = failureOf(error, signal);
        if (failure === null) throw error;
        const { code, message, attempts } = failure;
        await this.#write(tenantId, { ...run, ...timing(), attempts, error: { code, message } });
        if (signal.aborted && signal.reason === callerDisconnected) throw callerDisconnected;
        throw new AppError(code, message, {
          runId: run.id,
          ...(code === 'unavailable' ? { retryAfterSeconds: 1 } : {}),
        });
      });
    const { text: outputText, model, attempts, usage, truncation, sources } = answer;
    const answered = { ...run, ...timing(), model, attempts, usage };
    try {
      return await conclude(async () => {
        const truncated = truncation !== null;
        const done: AiRun = { ...answered, status: 'succeeded', outputText, truncated, truncation, sources };
        await this.#deps.db.workspace(tenantId, (tx) =>
          Promise.all([assertKeyIsValid(tx, tenantId, tokenId), insertRun(tx, tenantId, done)]),
        );
        return done;
      });
    } catch (error) {
      if (!(error instanceof AppError) || !keyErrors.has(error.code)) throw error;
      const { code, message } = error;
      await this.#write(tenantId, { ...answered, error: { code, message } });
      throw new AppError(error.code, message, { runId: run.id });
    }
  }

  /** @throws AppError `not_found`. */
  async get(tenantId: string, id: string): Promise<AiRun> {
    const run = await this.#deps.db.read(tenantId, (tx) => readRun(tx, tenantId, id));
    if (run === null) throw notFound('run', id);
    return run;
  }

  list(tenantId: string, query: z.output<typeof resource.listAiRuns.query>) {
    const { db, cursors } = this.#deps;
    const { status, environment } = query;
    const metadata = query.metadata === undefined ? null : metadataOf(query.metadata);
    const scope = `ai-runs:${tenantId}:${JSON.stringify([status, environment, metadata])}`;
    const read = (limit: number, before: string | undefined) =>
      db.read(tenantId, (tx) => listRuns(tx, tenantId, { status, environment, metadata, before, limit }));
    return readPage(cursors, scope, query, read, (run) => run);
  }

  #write(tenantId: string, run: AiRun): Promise<void> {
    return this.#deps.db.workspace(tenantId, (tx) => insertRun(tx, tenantId, run));
  }
}

const keyErrors: ReadonlySet<string> = new Set(['token_revoked', 'token_expired', 'product_not_entitled']);

/**
 * The stored error of a failed run. Null if the run is not stored.
 * Messages of providers may repeat the question, so only the log contains them.
 */
function failureOf(
  error: unknown,
  signal: AbortSignal,
): { code: 'inference_failed' | 'unavailable'; message: string; attempts: AiRun['attempts'] } | null {
  if (signal.aborted)
    return {
      code: 'unavailable',
      message:
        signal.reason === callerDisconnected
          ? 'The client disconnected before the answer was complete.'
          : 'The hub stopped before the answer was complete; ask again.',
      attempts: [],
    };
  if (!(error instanceof ModelsFailed)) return null;
  const attempts = [...error.attempts];
  const tried = attempts.map(
    ({ model, outcome, ms, detail }) =>
      `${model}: ${outcome} after ${ms} ms${detail === undefined ? '' : `, "${detail}"`}`,
  );
  return {
    code: 'inference_failed',
    message: `No model answered (${tried.join('; ').slice(0, 800)}). Try again, or check the models of the workspace.`,
    attempts,
  };
}
