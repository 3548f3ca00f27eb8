import type { z } from 'zod';
import { modelConfigurations as resource } from '../../../../shared/contract/ai/models.ts';
import type { ModelPrices } from '../../../../shared/contract/ai/prices.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { ModelAnswer, ModelRequest } from '../../../engine/index.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/database.ts';
import { eq, sql } from '../../../platform/db/orm.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';
import type { Inference, ModelBinding } from '../../../platform/inference/inference.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { costMicrosOf, reserve } from '../usage/index.ts';
import type { Tokens, UsageLedger } from '../usage/index.ts';
import { hubScope } from './breaker-store.ts';
import type { BreakerKey, BreakerView } from './breaker-store.ts';
import { fingerprintOf } from './breakers.ts';
import type { Breakers } from './breakers.ts';
import { promptTokens } from './call-usage.ts';
import { failOver } from './failover.ts';
import type { Candidate, EndedCall } from './failover.ts';
import { authorsOfModels } from './model-authors.ts';
import { modelBreakers, modelConfigs } from './schema.ts';

type PutBody = z.output<typeof resource.putAutomationModels.body>;
type ModelsResponse = z.input<typeof resource.getAutomationModels.response>;

export interface AiDependencies {
  db: Database;
  secrets: Secrets;
  /** Access to the models of workspaces. */
  inference: Inference;
  /** The hub's own model, configured by its operator. Null without one. */
  own: { binding: ModelBinding; inference: Inference; prices: ModelPrices | null } | null;
  breakers: Breakers;
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

/** A model that may be called, with its prices. */
interface PricedCandidate extends Candidate {
  prices: ModelPrices | null;
}

/** Assumed output tokens of a request without a limit. */
const defaultOutputTokens = 4_096;

interface ModelsRow {
  models: (typeof modelConfigs.$inferSelect)['models'] | null;
  order: string[] | null;
  authors: FieldAuthors | null;
  updated_at: Date | null;
  /** Breakers by `scope/modelId`. */
  breakers: Record<string, BreakerView> | null;
  has_budget: boolean;
}

const keyPurpose = 'model-api-key';

/** Configures and calls the models of workspaces. */
export class Ai {
  readonly #deps: AiDependencies;

  constructor(dependencies: AiDependencies) {
    this.#deps = dependencies;
  }

  async getModels(tenantId: string): Promise<ModelsResponse> {
    const row = await this.#read(tenantId);
    const { own } = this.#deps;
    return {
      models: (row?.models ?? []).map(({ sealedKey, prices = null, ...model }) => ({
        ...model,
        prices,
        apiKeySet: sealedKey !== null,
      })),
      order: row?.order ?? [],
      // After a workspace has chosen models, its requests go to no other model.
      fallback: own === null || (row?.order ?? []).length > 0 ? null : { model: own.binding.model, prices: own.prices },
      updatedAt: row?.updated_at?.toISOString() ?? null,
    };
  }

  async putModels(tenantId: string, body: PutBody, actor: string): Promise<ModelsResponse> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const [before] = await tx.select().from(modelConfigs).where(eq(modelConfigs.tenantId, tenantId)).for('update');
      const models = body.models.map(({ apiKey, baseUrl, prices = null, ...model }) => ({
        ...model,
        prices,
        baseUrl: baseUrl ?? null,
        // A key is reused only for the same provider and address, so that it is never sent elsewhere.
        sealedKey:
          apiKey === undefined
            ? (before?.models.find(
                (known) =>
                  known.id === model.id && known.provider === model.provider && known.baseUrl === (baseUrl ?? null),
              )?.sealedKey ?? null)
            : this.#deps.secrets.seal(keyPurpose, apiKey),
      }));
      const authors = authorsOfModels(before, { models, order: body.order }, actor);
      const values = { models, order: body.order, authors };
      await tx
        .insert(modelConfigs)
        .values({ tenantId, ...values })
        .onConflictDoUpdate({ target: modelConfigs.tenantId, set: { ...values, updatedAt: sql`now()` } });
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
        },
      });
    });
    return this.getModels(tenantId);
  }

  /** Lists all models that can be called, with prices. A step can name a model that is not in the order. */
  async pricedModels(tenantId: string) {
    const { models, order, fallback } = await this.getModels(tenantId);
    return [
      ...models.map(({ id, prices }) => ({ id, prices })),
      ...(order.length > 0 || fallback === null ? [] : [{ id: fallback.model, prices: fallback.prices }]),
    ];
  }

  /** Whether the workspace has a model. */
  async isConfigured(tenantId: string): Promise<boolean> {
    return this.#candidates(await this.#read(tenantId), tenantId, null).length > 0;
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

  async *#ask(
    { tenantId, preferredModel, ...request }: ModelRequest,
    holdsParts: boolean,
  ): AsyncGenerator<string, ModelAnswer, undefined> {
    const { db, clock, ledger } = this.#deps;
    const row = await this.#read(tenantId);
    const candidates = this.#candidates(row, tenantId, preferredModel ?? null);
    if (candidates.length === 0)
      throw new AppError(
        'ai_binding_not_configured',
        'No model is configured: set one with PUT /v1/automations/models, or AI_BASE_URL and AI_MODEL for the whole hub.',
      );
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

  #count(tenantId: string, { modelId, binding, prices }: PricedCandidate, call: EndedCall): void {
    const { outcome, ms, usage } = call;
    const micros = this.#deps.ledger.add({ tenantId, modelId, model: binding.model, prices, ...call });
    this.#deps.onCall({
      provider: binding.provider,
      owner: modelId === null ? 'hub' : 'workspace',
      outcome,
      ms,
      usage,
      cost: prices === null ? null : { currency: prices.currency, micros: Number(micros) },
    });
  }

  #candidates(row: ModelsRow | undefined, tenantId: string, preferred: string | null): PricedCandidate[] {
    const models = row?.models ?? [];
    const order = row?.order ?? [];
    const ids =
      preferred === null || !models.some(({ id }) => id === preferred)
        ? order
        : [preferred, ...order.filter((id) => id !== preferred)];
    const own = this.#deps.own;
    const candidates = ids.flatMap((id): PricedCandidate[] => {
      const model = models.find((known) => known.id === id);
      if (model === undefined) return [];
      const apiKey = model.sealedKey === null ? null : this.#deps.secrets.open(keyPurpose, model.sealedKey);
      const binding = { provider: model.provider, baseUrl: model.baseUrl, model: model.model, apiKey };
      const candidate = this.#candidate(row, { scope: tenantId, tenantId, modelId: id }, binding, this.#deps.inference);
      return [{ ...candidate, modelId: id, prices: model.prices ?? null }];
    });
    if (candidates.length > 0 || own === null) return candidates;
    const keyOfHub = { scope: hubScope, tenantId: null, modelId: own.binding.model };
    return [{ ...this.#candidate(row, keyOfHub, own.binding, own.inference), modelId: null, prices: own.prices }];
  }

  #candidate(
    row: ModelsRow | undefined,
    breakerKey: Omit<BreakerKey, 'fingerprint'>,
    binding: ModelBinding,
    inference: Inference,
  ): Omit<Candidate, 'modelId'> {
    const { breakers, secrets } = this.#deps;
    const { provider, baseUrl, model, apiKey } = binding;
    const key = {
      ...breakerKey,
      fingerprint: fingerprintOf(secrets.subkey('model fingerprints'), [provider, baseUrl, model, apiKey]),
    };
    const found = row?.breakers?.[`${key.scope}/${key.modelId}`] ?? null;
    const view = found?.fingerprint === key.fingerprint ? found : null;
    return {
      name: breakerKey.modelId,
      binding,
      inference,
      pausedMs: Math.max(0, view?.openMs ?? 0),
      admit: () => breakers.admit(key, view),
      record: (end) => breakers.record(key, view, end),
    };
  }

  async #read(tenantId: string): Promise<ModelsRow | undefined> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<ModelsRow>(
        'read_models',
        `SELECT c.models, c."order", c.authors, c.updated_at, b.breakers, EXISTS (SELECT FROM ai_budgets WHERE tenant_id = $1 AND (daily_tokens IS NOT NULL OR currency IS NOT NULL)) AS has_budget
         FROM (SELECT jsonb_object_agg(scope || '/' || model_id, jsonb_build_object(
                 'fingerprint', fingerprint,
                 'openMs', extract(epoch FROM open_until - now()) * 1000,
                 'isProbed', coalesce(probe_until > now(), false),
                 'isTroubled', coalesce(troubled_until > now(), false))) AS breakers
               FROM model_breakers WHERE scope IN ($1, $2)) b
         LEFT JOIN model_configs c ON c.tenant_id = $1`,
        [tenantId, hubScope],
      ),
    );
    return rows[0];
  }
}

/** Upper bound of the usage of a call, with the most expensive candidate. Retries of an interrupted call can exceed it. */
function demandOf(
  request: Pick<ModelRequest, 'instructions' | 'messages' | 'maxOutputTokens'>,
  candidates: PricedCandidate[],
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
