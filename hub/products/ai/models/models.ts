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
import { failOver } from './failover.ts';
import type { Candidate, EndedCall } from './failover.ts';
import { authorsOfModels } from './model-authors.ts';
import { modelBreakers, modelConfigs } from './schema.ts';
import { promptTokens } from './taken-tokens.ts';

type PutBody = z.output<typeof resource.putAutomationModels.body>;
type Shown = z.input<typeof resource.getAutomationModels.response>;

export interface AiDependencies {
  db: Database;
  secrets: Secrets;
  /** Reaches what workspaces name. */
  inference: Inference;
  /** The hub's own model, which its operator set, with what reaches it; null without one. */
  own: { binding: ModelBinding; inference: Inference; prices: ModelPrices | null } | null;
  breakers: Breakers;
  ledger: Pick<UsageLedger, 'add' | 'release' | 'written'>;
  clock: Clock;
  /** Told how each call of a model ended. */
  onCall: (call: ModelCall) => void;
}

/** A call of a model that ended, for the metrics. */
export interface ModelCall {
  provider: ModelBinding['provider'];
  /** Whose model it is. */
  owner: 'hub' | 'workspace';
  outcome: string;
  ms: number;
  usage: Tokens;
  /** Null where no prices are set. */
  cost: { currency: string; micros: number } | null;
}

/** A model of a workspace, or of the hub, that may be asked. */
interface AskedModel extends Candidate {
  prices: ModelPrices | null;
}

/** What an answer without a limit is taken to have at most. */
const usualOutputTokens = 4_096;

interface ModelsRow {
  models: (typeof modelConfigs.$inferSelect)['models'] | null;
  order: string[] | null;
  authors: FieldAuthors | null;
  updated_at: Date | null;
  /** By scope and model. */
  breakers: Record<string, BreakerView> | null;
  has_budget: boolean;
}

const keyPurpose = 'model-api-key';

/** The models of workspaces, and the way to ask them. */
export class Ai {
  readonly #deps: AiDependencies;

  constructor(dependencies: AiDependencies) {
    this.#deps = dependencies;
  }

  async getModels(tenantId: string): Promise<Shown> {
    const row = await this.#read(tenantId);
    const { own } = this.#deps;
    return {
      models: (row?.models ?? []).map(({ sealedKey, prices = null, ...model }) => ({
        ...model,
        prices,
        apiKeySet: sealedKey !== null,
      })),
      order: row?.order ?? [],
      // Once a workspace chose models, nothing is sent to another one.
      fallback: own === null || (row?.order ?? []).length > 0 ? null : { model: own.binding.model, prices: own.prices },
      updatedAt: row?.updated_at?.toISOString() ?? null,
    };
  }

  async putModels(tenantId: string, body: PutBody, actor: string): Promise<Shown> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const [before] = await tx.select().from(modelConfigs).where(eq(modelConfigs.tenantId, tenantId)).for('update');
      const models = body.models.map(({ apiKey, baseUrl, prices = null, ...model }) => ({
        ...model,
        prices,
        baseUrl: baseUrl ?? null,
        // A key that was set for one address is not sent to another, and a provider has an address of its own.
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
      // Whatever was wrong with them may be mended by this.
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

  /** All models that can be asked, with what they cost: steps may name one that stands in no order. */
  async pricedModels(tenantId: string) {
    const { models, order, fallback } = await this.getModels(tenantId);
    return [
      ...models.map(({ id, prices }) => ({ id, prices })),
      ...(order.length > 0 || fallback === null ? [] : [{ id: fallback.model, prices: fallback.prices }]),
    ];
  }

  /** Whether there is a model to ask. */
  async isConfigured(tenantId: string): Promise<boolean> {
    return this.#candidates(await this.#read(tenantId), tenantId, null).length > 0;
  }

  /**
   * Asks the models in their order until one answers, as `failOver` says.
   * @throws AppError `ai_binding_not_configured`; ModelsFailed; the signal's reason when it aborts.
   */
  async generate(request: ModelRequest): Promise<ModelAnswer> {
    // Nothing is yielded of parts that are held.
    const { value } = await this.#ask(request, true).next();
    return value as ModelAnswer;
  }

  /**
   * The same, with the parts of the answer as they come, an empty one behind the last, and all of it once its usage is written. Once a part went out, a failure is the end of it. Whoever stops early closes the
   * connection to the model.
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
      const onCall = (asked: AskedModel, call: EndedCall) => this.#count(tenantId, asked, call);
      const answer = yield* failOver(candidates, { clock, request, holdsParts, onCall });
      // Whoever reads it aloud goes on while its usage is written.
      if (!holdsParts) yield '';
      // The workspace does not configure the hub's own model.
      const isOwn = answer.attempts.at(-1)?.modelId !== null;
      return { ...answer, authors: isOwn ? Object.values(row?.authors ?? {}) : [] };
    } finally {
      if (reservation !== null) ledger.release(reservation);
      // Before anything is kept of its answer.
      await ledger.written();
    }
  }

  #count(tenantId: string, { modelId, binding, prices }: AskedModel, call: EndedCall): void {
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

  #candidates(row: ModelsRow | undefined, tenantId: string, preferred: string | null): AskedModel[] {
    const models = row?.models ?? [];
    const order = row?.order ?? [];
    const ids =
      preferred === null || !models.some(({ id }) => id === preferred)
        ? order
        : [preferred, ...order.filter((id) => id !== preferred)];
    const own = this.#deps.own;
    const candidates = ids.flatMap((id): AskedModel[] => {
      const model = models.find((known) => known.id === id);
      if (model === undefined) return [];
      const apiKey = model.sealedKey === null ? null : this.#deps.secrets.open(keyPurpose, model.sealedKey);
      const binding = { provider: model.provider, baseUrl: model.baseUrl, model: model.model, apiKey };
      const asked = this.#candidate(row, { scope: tenantId, tenantId, modelId: id }, binding, this.#deps.inference);
      return [{ ...asked, modelId: id, prices: model.prices ?? null }];
    });
    if (candidates.length > 0 || own === null) return candidates;
    const place = { scope: hubScope, tenantId: null, modelId: own.binding.model };
    return [{ ...this.#candidate(row, place, own.binding, own.inference), modelId: null, prices: own.prices }];
  }

  #candidate(
    row: ModelsRow | undefined,
    place: Omit<BreakerKey, 'fingerprint'>,
    binding: ModelBinding,
    inference: Inference,
  ): Omit<Candidate, 'modelId'> {
    const { breakers, secrets } = this.#deps;
    const { provider, baseUrl, model, apiKey } = binding;
    const key = {
      ...place,
      fingerprint: fingerprintOf(secrets.subkey('model fingerprints'), [provider, baseUrl, model, apiKey]),
    };
    const found = row?.breakers?.[`${key.scope}/${key.modelId}`] ?? null;
    const view = found?.fingerprint === key.fingerprint ? found : null;
    return {
      name: place.modelId,
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

/** What a call takes at most, by the dearest of the models that may be asked; a retry of one that broke off takes more. */
function demandOf(request: Pick<ModelRequest, 'instructions' | 'messages' | 'maxOutputTokens'>, asked: AskedModel[]) {
  const inputTokens = promptTokens(request);
  const outputTokens = request.maxOutputTokens ?? usualOutputTokens;
  const costMicros: Record<string, bigint> = {};
  for (const { prices } of asked) {
    if (prices === null) continue;
    const micros = costMicrosOf({ inputTokens, outputTokens }, prices);
    const most = costMicros[prices.currency] ?? 0n;
    costMicros[prices.currency] = micros > most ? micros : most;
  }
  return { tokens: inputTokens + outputTokens, costMicros };
}
