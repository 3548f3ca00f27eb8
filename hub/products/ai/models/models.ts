import type { z } from 'zod';
import { modelConfigurations as resource } from '../../../../shared/contract/ai/models.ts';
import type { ModelTest } from '../../../../shared/contract/ai/models.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { ModelAnswer, ModelRequest } from '../../../engine/index.ts';
import type { Clock } from '../../../platform/clock.ts';
import { eq, sql } from '../../../platform/db/orm.ts';
import { assertVersion } from '../../../platform/http/routing/if-match.ts';
import type { ExpectedVersion } from '../../../platform/http/routing/if-match.ts';
import type { ModelBinding } from '../../../platform/inference/inference.ts';
import { changesOf, recordAudit } from '../../core/audit/index.ts';
import { costMicrosOf, readAnsweredConnections, reserve } from '../usage/index.ts';
import type { Tokens, UsageLedger } from '../usage/index.ts';
import { promptTokens } from './call-usage.ts';
import { Candidates, keyPurpose } from './candidates.ts';
import type { CandidatesDependencies, ModelsRow, OwnModel, PricedCandidate } from './candidates.ts';
import { failOver, ModelsFailed } from './failover.ts';
import type { EndedCall } from './failover.ts';
import { authorsOfModels } from './model-authors.ts';
import { modelBreakers, modelConfigs } from './schema.ts';

type PutBody = z.output<typeof resource.putAutomationModels.body>;
type ModelsResponse = z.input<typeof resource.getAutomationModels.response>;

interface ConfiguredModels {
  row: ModelsRow | undefined;
  models: NonNullable<ModelsRow['models']>;
  /** Ids of models, in the order in which they are tried. */
  order: string[];
  fallback: OwnModel | null;
}

export interface AiDependencies extends CandidatesDependencies {
  ledger: Pick<UsageLedger, 'add' | 'release' | 'written'>;
  clock: Clock;
  /** Called with the result of each model call. */
  onCall: (call: ModelCall) => void;
}

/** An ended model call, for metrics. */
export interface ModelCall {
  provider: ModelBinding['provider'];
  /** Owner of the model. */
  owner: 'hub' | 'workspace';
  outcome: string;
  ms: number;
  usage: Tokens;
  /** Null without prices. */
  cost: { currency: string; micros: number } | null;
}

/** The request of a test. Models that reason need tokens before they answer. */
const testRequest = {
  instructions: 'Answer with the word OK.',
  messages: [{ role: 'user' as const, content: 'OK?' }],
  maxOutputTokens: 256,
};

/** The fields of models by `<id>.<field>`, for the audit log. Keys are never part of it. */
const fieldsOfModels = (models: ModelsRow['models']) =>
  Object.fromEntries(
    (models ?? []).flatMap(({ id, provider, model, baseUrl, prices = null }) =>
      Object.entries({ provider, model, baseUrl, prices }).map(([name, value]) => [`${id}.${name}`, value] as const),
    ),
  );

/** Assumed output tokens of a request without a limit. */
const defaultOutputTokens = 4_096;

/** Configures and calls the models of workspaces. */
export class Ai {
  readonly #deps: AiDependencies;
  readonly #candidates: Candidates;

  constructor(dependencies: AiDependencies) {
    this.#deps = dependencies;
    this.#candidates = new Candidates(dependencies);
  }

  /** The models of a workspace without their health. `fallback` is the model of the hub if it is used. */
  async configuredModels(tenantId: string): Promise<ConfiguredModels> {
    const row = await this.#candidates.read(tenantId);
    const { own } = this.#deps;
    const models = row?.models ?? [];
    const order = row?.order ?? [];
    // After a workspace has chosen models, its requests go to no other model.
    return { row, models, order, fallback: order.length > 0 ? null : own };
  }

  async getModels(tenantId: string): Promise<ModelsResponse> {
    const [{ row, models, order, fallback }, answered] = await Promise.all([
      this.configuredModels(tenantId),
      this.#deps.db.read(tenantId, (tx) => readAnsweredConnections(tx, tenantId)),
    ]);
    return {
      models: models.map((stored) => {
        const { sealedKey, prices = null, ...model } = stored;
        const health = this.#candidates.healthOf(row, tenantId, stored, answered);
        return { ...model, prices, apiKeySet: sealedKey !== null, health };
      }),
      order,
      fallback: fallback && {
        model: fallback.binding.model,
        prices: fallback.prices,
        health: this.#candidates.healthOfOwn(row, fallback, answered),
      },
      version: row?.version ?? 0,
      updatedAt: row?.updated_at?.toISOString() ?? null,
    };
  }

  /** @throws AppError `version_conflict`. */
  async putModels(tenantId: string, body: PutBody, actor: string, expected: ExpectedVersion): Promise<ModelsResponse> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      // Without a row, two first changes at the same time would not see each other.
      await tx.insert(modelConfigs).values({ tenantId, models: [], order: [], version: 0 }).onConflictDoNothing();
      const [before] = await tx.select().from(modelConfigs).where(eq(modelConfigs.tenantId, tenantId)).for('update');
      const version = before?.version ?? 0;
      assertVersion(expected, version, 'list of models');
      const models = body.models.map(({ apiKey, baseUrl, prices = null, ...model }) => {
        // A key is reused only for the same provider and address, so that it is never sent elsewhere.
        const known = before?.models.find(
          ({ id, provider, baseUrl: url }) =>
            id === model.id && provider === model.provider && url === (baseUrl ?? null),
        );
        return {
          ...model,
          prices,
          baseUrl: baseUrl ?? null,
          sealedKey: apiKey === undefined ? (known?.sealedKey ?? null) : this.#deps.secrets.seal(keyPurpose, apiKey),
        };
      });
      const authors = authorsOfModels(before, { models, order: body.order }, actor);
      await tx
        .update(modelConfigs)
        .set({ models, order: body.order, authors, version: version + 1, updatedAt: sql`now()` })
        .where(eq(modelConfigs.tenantId, tenantId));
      // Reset the breakers, because the change may fix the failures.
      await tx.delete(modelBreakers).where(eq(modelBreakers.tenantId, tenantId));
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'models.updated',
        targetType: 'models',
        targetId: tenantId,
        details: {
          models: models.map(({ id }) => id),
          order: body.order,
          prices: Object.fromEntries(models.map(({ id, prices }) => [id, prices])),
          changes: changesOf(
            { order: before?.order ?? [], ...fieldsOfModels(before?.models ?? []) },
            { order: body.order, ...fieldsOfModels(models) },
          ),
          keysChanged: models
            .filter(
              ({ id, sealedKey }) => sealedKey !== (before?.models.find((known) => known.id === id)?.sealedKey ?? null),
            )
            .map(({ id }) => id),
        },
      });
    });
    return this.getModels(tenantId);
  }

  /** Lists all models that can be called, with prices. A step can name a model that is not in the order. */
  async pricedModels(tenantId: string) {
    const { models, fallback } = await this.configuredModels(tenantId);
    return [
      ...models.map(({ id, prices = null }) => ({ id, prices })),
      ...(fallback === null ? [] : [{ id: fallback.binding.model, prices: fallback.prices }]),
    ];
  }

  /** Whether the workspace has a model. */
  async isConfigured(tenantId: string): Promise<boolean> {
    return this.#candidates.list(await this.#candidates.read(tenantId), tenantId, null).length > 0;
  }

  /**
   * Calls the models in order until one answers (see `failOver`).
   * @throws AppError `ai_binding_not_configured`; ModelsFailed; the reason of the signal.
   */
  async generate(request: ModelRequest): Promise<ModelAnswer> {
    // With `holdsParts` the generator yields nothing before its result.
    const { value } = await this.#ask(request, true).next();
    return value as ModelAnswer;
  }

  /**
   * Streams the parts of the answer, then an empty part, and returns the answer after its usage is written.
   * A failure after the first part is final. If the caller stops early, the connection to the model is closed.
   */
  stream(request: ModelRequest): AsyncGenerator<string, ModelAnswer, undefined> {
    return this.#ask(request, false);
  }

  /**
   * Sends one short request to a stored model, even while its breaker is open. The result does not change the breaker.
   * @throws AppError `not_found`, `ai_budget_used_up`; the reason of the signal.
   */
  async test(tenantId: string, id: string, signal: AbortSignal): Promise<ModelTest> {
    const row = await this.#candidates.read(tenantId);
    const candidate = this.#candidates.find(row, tenantId, id);
    if (candidate === null) throw notFound('model', id);
    const { model } = candidate.binding;
    const tested: PricedCandidate = {
      ...candidate,
      pausedMs: 0,
      // A probe is a single call.
      admit: async () => ({ kind: 'call', isProbe: true }),
      record: () => undefined,
    };
    try {
      const { value } = await this.#callWithin(row, tenantId, [tested], { ...testRequest, signal }, true).next();
      return { answered: true, model, outcome: 'answered', latencyMs: (value as ModelAnswer).latencyMs, detail: null };
    } catch (error) {
      if (!(error instanceof ModelsFailed)) throw error;
      const attempt = error.attempts.at(-1);
      return {
        answered: false,
        model,
        outcome: attempt?.outcome ?? 'timeout',
        latencyMs: attempt?.ms ?? 0,
        detail: attempt?.detail ?? null,
      };
    }
  }

  async *#ask(
    { tenantId, preferredModel, ...request }: ModelRequest,
    holdsParts: boolean,
  ): AsyncGenerator<string, ModelAnswer, undefined> {
    const row = await this.#candidates.read(tenantId);
    const candidates = this.#candidates.list(row, tenantId, preferredModel ?? null);
    if (candidates.length === 0)
      throw new AppError(
        'ai_binding_not_configured',
        'No model is configured: set one with PUT /v1/automations/models, or AI_BASE_URL and AI_MODEL for the whole hub.',
      );
    return yield* this.#callWithin(row, tenantId, candidates, request, holdsParts);
  }

  /** Calls models within the budget of the workspace. */
  async *#callWithin(
    row: ModelsRow | undefined,
    tenantId: string,
    candidates: readonly PricedCandidate[],
    request: Omit<ModelRequest, 'tenantId' | 'preferredModel'>,
    holdsParts: boolean,
  ): AsyncGenerator<string, ModelAnswer, undefined> {
    const { db, clock, ledger } = this.#deps;
    const reservation =
      row?.has_budget === true
        ? await reserve({ db, clock }, tenantId, demandOf(request, candidates), request.signal)
        : null;
    try {
      const onCall = (candidate: PricedCandidate, call: EndedCall) => this.#count(tenantId, candidate, call);
      const answer = yield* failOver(candidates, { clock, request, holdsParts, onCall });
      // The empty part marks the end of the text, so that the caller can continue during the write of the usage.
      if (!holdsParts) yield '';
      // The hub's own model has no authors in the workspace.
      const isOwn = answer.attempts.at(-1)?.modelId !== null;
      return { ...answer, authors: isOwn ? Object.values(row?.authors ?? {}) : [] };
    } finally {
      if (reservation !== null) ledger.release(reservation);
      // Write the usage before the caller stores the answer.
      await ledger.written();
    }
  }

  #count(tenantId: string, { modelId, binding, prices, connection }: PricedCandidate, call: EndedCall): void {
    const { outcome, ms, usage } = call;
    const micros = this.#deps.ledger.add({ tenantId, modelId, model: binding.model, connection, prices, ...call });
    this.#deps.onCall({
      provider: binding.provider,
      owner: modelId === null ? 'hub' : 'workspace',
      outcome,
      ms,
      usage,
      cost: prices === null ? null : { currency: prices.currency, micros: Number(micros) },
    });
  }
}

/** Upper bound of the usage of a call, with the most expensive candidate. Retries of an interrupted call can exceed it. */
function demandOf(
  request: Pick<ModelRequest, 'instructions' | 'messages' | 'maxOutputTokens'>,
  candidates: readonly PricedCandidate[],
) {
  const inputTokens = promptTokens(request);
  const outputTokens = request.maxOutputTokens ?? defaultOutputTokens;
  const costMicros: Record<string, bigint> = {};
  for (const { prices } of candidates) {
    if (prices === null) continue;
    const micros = costMicrosOf({ inputTokens, outputTokens }, prices);
    const most = costMicros[prices.currency] ?? 0n;
    costMicros[prices.currency] = micros > most ? micros : most;
  }
  return { tokens: inputTokens + outputTokens, costMicros };
}
