import type { z } from 'zod';
import { modelConfigurations as resource } from '../../../../shared/contract/ai/models.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { ModelAnswer, ModelRequest } from '../../../engine/index.ts';
import type { Database } from '../../../platform/db/database.ts';
import { eq, sql } from '../../../platform/db/orm.ts';
import { InferenceError } from '../../../platform/inference/inference.ts';
import type { Inference, ModelBinding } from '../../../platform/inference/inference.ts';
import type { Secrets } from '../../../platform/secrets.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { modelConfigs } from './schema.ts';

type PutBody = z.output<typeof resource.putAutomationModels.body>;
type Shown = z.input<typeof resource.getAutomationModels.response>;

export interface AiDependencies {
  db: Database;
  secrets: Secrets;
  /** Reaches what workspaces name. */
  inference: Inference;
  /** The hub's own model, which its operator set, with what reaches it; null without one. */
  own: { binding: ModelBinding; inference: Inference } | null;
}

interface ModelsRow {
  models: (typeof modelConfigs.$inferSelect)['models'];
  order: string[];
  updated_at: Date;
}

interface Candidate {
  name: string;
  binding: ModelBinding;
  inference: Inference;
}

/** For one inference with all its tries, in milliseconds. */
const budgetMs = 30_000;
const retryPauseMs = 500;
const keyPurpose = 'model-api-key';

/** The models of workspaces, and the way to ask them. */
export class Ai {
  readonly #deps: AiDependencies;

  constructor(dependencies: AiDependencies) {
    this.#deps = dependencies;
  }

  async getModels(tenantId: string): Promise<Shown> {
    const row = await this.#read(tenantId);
    return {
      models: (row?.models ?? []).map(({ sealedKey, ...model }) => ({ ...model, apiKeySet: sealedKey !== null })),
      order: row?.order ?? [],
      fallback: this.#deps.own === null ? null : { model: this.#deps.own.binding.model },
      updatedAt: row?.updated_at.toISOString() ?? null,
    };
  }

  async putModels(tenantId: string, body: PutBody, actor: string): Promise<Shown> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const [before] = await tx.select().from(modelConfigs).where(eq(modelConfigs.tenantId, tenantId)).for('update');
      const models = body.models.map(({ apiKey, baseUrl, ...model }) => ({
        ...model,
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
      const values = { models, order: body.order };
      await tx
        .insert(modelConfigs)
        .values({ tenantId, ...values })
        .onConflictDoUpdate({ target: modelConfigs.tenantId, set: { ...values, updatedAt: sql`now()` } });
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'models.updated',
        targetType: 'models',
        targetId: tenantId,
        details: { models: models.map(({ id }) => id), order: body.order },
      });
    });
    return this.getModels(tenantId);
  }

  /** Whether there is a model to ask. */
  async isConfigured(tenantId: string): Promise<boolean> {
    return (await this.#candidates(tenantId, null)).length > 0;
  }

  /**
   * Asks the models in their order until one answers: each is tried twice at most, and all of them together have 30 s.
   * @throws AppError `ai_binding_not_configured`, `inference_failed`; the signal's reason when it aborts.
   */
  async generate({ tenantId, preferredModel, signal, ...request }: ModelRequest): Promise<ModelAnswer> {
    const candidates = await this.#candidates(tenantId, preferredModel ?? null);
    if (candidates.length === 0)
      throw new AppError(
        'ai_binding_not_configured',
        'No model is configured: set one with PUT /v1/automations/models, or AI_BASE_URL and AI_MODEL for the whole hub.',
      );
    const startedAt = performance.now();
    const problems: string[] = [];
    for (const [index, candidate] of candidates.entries()) {
      // A model that hangs must leave time for those after it.
      const shareMs = (budgetMs - (performance.now() - startedAt)) / (candidates.length - index);
      const until = AbortSignal.timeout(Math.max(1, Math.ceil(shareMs)));
      const either = AbortSignal.any([signal, until]);
      for (let tries = 0; tries < 2; tries += 1) {
        try {
          const answer = await candidate.inference.generate(candidate.binding, { ...request, signal: either });
          return { ...answer, model: candidate.binding.model, latencyMs: Math.round(performance.now() - startedAt) };
        } catch (error) {
          signal.throwIfAborted();
          if (until.aborted) {
            problems.push(`${candidate.name} did not answer in time`);
            break;
          }
          if (!(error instanceof InferenceError)) throw error;
          if (!error.retryable || tries === 1) {
            problems.push(error.message);
            break;
          }
          await new Promise((resolve) => setTimeout(resolve, retryPauseMs));
        }
      }
    }
    throw new AppError('inference_failed', `No model answered: ${problems.join('; ').slice(0, 1000)}`);
  }

  async #candidates(tenantId: string, preferred: string | null): Promise<Candidate[]> {
    const row = await this.#read(tenantId);
    const order = row?.order ?? [];
    const ids =
      preferred === null || row?.models.some(({ id }) => id === preferred) !== true
        ? order
        : [preferred, ...order.filter((id) => id !== preferred)];
    const own = this.#deps.own;
    const candidates = ids.flatMap((id): Candidate[] => {
      const model = row?.models.find((known) => known.id === id);
      if (model === undefined) return [];
      const apiKey = model.sealedKey === null ? null : this.#deps.secrets.open(keyPurpose, model.sealedKey);
      return [
        {
          name: id,
          binding: { provider: model.provider, baseUrl: model.baseUrl, model: model.model, apiKey },
          inference: this.#deps.inference,
        },
      ];
    });
    return candidates.length > 0 || own === null ? candidates : [{ name: own.binding.model, ...own }];
  }

  async #read(tenantId: string): Promise<ModelsRow | undefined> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<ModelsRow>('read_models', 'SELECT models, "order", updated_at FROM model_configs WHERE tenant_id = $1', [
        tenantId,
      ]),
    );
    return rows[0];
  }
}
