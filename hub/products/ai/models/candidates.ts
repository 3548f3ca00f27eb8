import type { ModelHealth } from '../../../../shared/contract/ai/models.ts';
import type { ModelPrices } from '../../../../shared/contract/ai/prices.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';
import type { Inference, ModelBinding } from '../../../platform/inference/inference.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { hubScope } from './breaker-store.ts';
import type { BreakerKey, BreakerView } from './breaker-store.ts';
import { fingerprintOf } from './breakers.ts';
import type { Breakers } from './breakers.ts';
import type { Candidate } from './failover.ts';
import { modelConfigs } from './schema.ts';

/** The hub's own model, configured by its operator. */
export interface OwnModel {
  binding: ModelBinding;
  inference: Inference;
  prices: ModelPrices | null;
}

/** A model that may be called, with its prices. */
export interface PricedCandidate extends Candidate {
  prices: ModelPrices | null;
  /** Fingerprint of provider, address, model and key. */
  connection: string;
}

type StoredModel = (typeof modelConfigs.$inferSelect)['models'][number];

export interface ModelsRow {
  models: StoredModel[] | null;
  order: string[] | null;
  authors: FieldAuthors | null;
  version: number | null;
  updated_at: Date | null;
  /** Breakers by `scope/modelId`. */
  breakers: Record<string, BreakerView> | null;
  has_budget: boolean;
}

/** Purpose under which the API keys of models are sealed. */
export const keyPurpose = 'model-api-key';

export interface CandidatesDependencies {
  db: Database;
  secrets: Secrets;
  /** Access to the models of workspaces. */
  inference: Inference;
  /** Null without one. */
  own: OwnModel | null;
  breakers: Breakers;
}

/** The models of workspaces in the form in which they are called. */
export class Candidates {
  readonly #deps: CandidatesDependencies;

  constructor(dependencies: CandidatesDependencies) {
    this.#deps = dependencies;
  }

  /** Reads the models of a workspace with the state of their breakers. */
  async read(tenantId: string): Promise<ModelsRow | undefined> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<ModelsRow>(
        'read_models',
        `SELECT c.models, c."order", c.authors, c.version, c.updated_at, b.breakers, EXISTS (SELECT FROM ai_budgets WHERE tenant_id = $1 AND (daily_tokens IS NOT NULL OR currency IS NOT NULL)) AS has_budget
         FROM (SELECT jsonb_object_agg(scope || '/' || model_id, jsonb_build_object(
                 'fingerprint', fingerprint,
                 'openMs', extract(epoch FROM open_until - now()) * 1000,
                 'openUntil', open_until,
                 'openedAt', opened_at,
                 'failedAt', (SELECT min((second->>'at')::float8) FROM jsonb_array_elements(recent) second WHERE (second->>'failed')::int > 0),
                 'isProbed', coalesce(probe_until > now(), false),
                 'isTroubled', coalesce(troubled_until > now(), false))) AS breakers
               FROM model_breakers WHERE scope IN ($1, $2)) b
         LEFT JOIN model_configs c ON c.tenant_id = $1`,
        [tenantId, hubScope],
      ),
    );
    return rows[0];
  }

  /** The models of a request in failover order, the preferred one first. The hub's own model if there is none. */
  list(row: ModelsRow | undefined, tenantId: string, preferred: string | null): PricedCandidate[] {
    const order = row?.order ?? [];
    const ids =
      preferred === null || row?.models?.some(({ id }) => id === preferred) !== true
        ? order
        : [preferred, ...order.filter((id) => id !== preferred)];
    const candidates = ids.flatMap((id) => this.find(row, tenantId, id) ?? []);
    const { own } = this.#deps;
    if (candidates.length > 0 || own === null) return candidates;
    return [{ ...this.#candidate(row, keyOfOwn(own), own.binding, own.inference), modelId: null, prices: own.prices }];
  }

  /** One model of a workspace, in use or not; null if there is none with this id. */
  find(row: ModelsRow | undefined, tenantId: string, id: string): PricedCandidate | null {
    const model = row?.models?.find((known) => known.id === id);
    if (model === undefined) return null;
    const key = { scope: tenantId, tenantId, modelId: id };
    const candidate = this.#candidate(row, key, this.#bindingOf(model), this.#deps.inference);
    return { ...candidate, modelId: id, prices: model.prices ?? null };
  }

  /** Whether calls of a model of the workspace succeed. */
  healthOf(
    row: ModelsRow | undefined,
    tenantId: string,
    model: StoredModel,
    answered: ReadonlySet<string>,
  ): ModelHealth {
    const key = { scope: tenantId, tenantId, modelId: model.id };
    return modelHealthOf(this.#breaker(row, key, this.#bindingOf(model)), answered);
  }

  /** Whether calls of the hub's own model succeed, in all workspaces, and whether it answered this one. */
  healthOfOwn(row: ModelsRow | undefined, own: OwnModel, answered: ReadonlySet<string>): ModelHealth {
    return modelHealthOf(this.#breaker(row, keyOfOwn(own), own.binding), answered);
  }

  #bindingOf({ provider, baseUrl, model, sealedKey }: StoredModel): ModelBinding {
    const apiKey = sealedKey === null ? null : this.#deps.secrets.open(keyPurpose, sealedKey);
    return { provider, baseUrl, model, apiKey };
  }

  /** The breaker of a model with its state; null for one that does not belong to this configuration. */
  #breaker(
    row: ModelsRow | undefined,
    breakerKey: Omit<BreakerKey, 'fingerprint'>,
    { provider, baseUrl, model, apiKey }: ModelBinding,
  ): { key: BreakerKey; view: BreakerView | null } {
    const fingerprint = fingerprintOf(this.#deps.secrets.subkey('model fingerprints'), [
      provider,
      baseUrl,
      model,
      apiKey,
    ]);
    const found = row?.breakers?.[`${breakerKey.scope}/${breakerKey.modelId}`] ?? null;
    return { key: { ...breakerKey, fingerprint }, view: found?.fingerprint === fingerprint ? found : null };
  }

  #candidate(
    row: ModelsRow | undefined,
    breakerKey: Omit<BreakerKey, 'fingerprint'>,
    binding: ModelBinding,
    inference: Inference,
  ): Omit<PricedCandidate, 'modelId' | 'prices'> {
    const { breakers } = this.#deps;
    const { key, view } = this.#breaker(row, breakerKey, binding);
    return {
      name: breakerKey.modelId,
      connection: key.fingerprint,
      binding,
      inference,
      pausedMs: Math.max(0, view?.openMs ?? 0),
      admit: () => breakers.admit(key, view),
      record: (end) => breakers.record(key, view, end),
    };
  }
}

const keyOfOwn = ({ binding }: OwnModel) => ({ scope: hubScope, tenantId: null, modelId: binding.model });

const modelHealthOf = (
  { key, view }: { key: BreakerKey; view: BreakerView | null },
  answered: ReadonlySet<string>,
): ModelHealth => ({ ...healthOf(view), answered: answered.has(key.fingerprint) });

function healthOf(view: BreakerView | null): Omit<ModelHealth, 'answered'> {
  if (view !== null && view.openUntil !== null)
    return { state: 'paused', since: isoOf(view.openedAt), retryAt: isoOf(view.openUntil) };
  if (view?.isTroubled === true) return { state: 'failing', since: isoOf(view.failedAt), retryAt: null };
  return { state: 'healthy', since: null, retryAt: null };
}

const isoOf = (time: string | number | null) => (time === null ? null : new Date(time).toISOString());
