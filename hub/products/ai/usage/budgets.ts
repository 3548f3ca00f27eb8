import type { z } from 'zod';
import type { ModelPrices } from '../../../../shared/contract/ai/prices.ts';
import type { aiUsageResource as resource } from '../../../../shared/contract/ai/usage.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { SpeechLimits } from './speech-meter.ts';
import { todayStart } from './today.ts';

type PutBody = z.output<typeof resource.putAiBudget.body>;
type BudgetResponse = z.output<typeof resource.getAiBudget.response>;
type Budget = Omit<BudgetResponse, 'modelsWithoutCostLimit'>;

interface BudgetRow {
  day: string;
  resets_at: Date;
  tokens: string;
  costs: Record<string, string> | null;
  daily_tokens: string | null;
  daily_cost_micros: string | null;
  currency: string | null;
  daily_speech_seconds: string | null;
  daily_speech_characters: string | null;
  transcribed_ms: string | null;
  spoken_characters: string | null;
  updated_at: Date | null;
}

/** A model that a workspace can call, by its ID (or the name of the hub's model), with its prices. */
export interface PricedModel {
  id: string;
  prices: ModelPrices | null;
}

/** Daily budgets of workspaces for models. */
export class Budgets {
  readonly #db: Database;
  readonly #modelsOf: (tenantId: string) => Promise<PricedModel[]>;
  readonly #limits: SpeechLimits;

  /** @param modelsOf lists all models that a workspace can call. */
  constructor(db: Database, modelsOf: (tenantId: string) => Promise<PricedModel[]>, limits: SpeechLimits) {
    this.#limits = limits;
    this.#db = db;
    this.#modelsOf = modelsOf;
  }

  async show(tenantId: string): Promise<BudgetResponse> {
    return this.#withModels(tenantId, await this.#db.read(tenantId, (tx) => readBudget(tx, tenantId, this.#limits)));
  }

  /** Replaces the budget. A budget without limits is stored, too, for its time. */
  async put(
    tenantId: string,
    { dailyTokens, dailyCost, dailySpeechSeconds, dailySpeechCharacters }: PutBody,
    actor: string,
  ): Promise<BudgetResponse> {
    const budget = await this.#db.workspace(tenantId, async (tx) => {
      await tx.query(
        'put_ai_budget',
        // Reset the notices, because the admins have received none about the new limits.
        `INSERT INTO ai_budgets (tenant_id, daily_tokens, daily_cost_micros, currency, daily_speech_seconds, daily_speech_characters) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (tenant_id) DO UPDATE SET daily_tokens = excluded.daily_tokens, daily_cost_micros = excluded.daily_cost_micros, currency = excluded.currency,
           daily_speech_seconds = CASE WHEN $7 THEN excluded.daily_speech_seconds ELSE ai_budgets.daily_speech_seconds END,
           daily_speech_characters = CASE WHEN $8 THEN excluded.daily_speech_characters ELSE ai_budgets.daily_speech_characters END,
           notified_day = NULL, notified_percent = NULL, mail_due_at = NULL, updated_at = now()`,
        [
          tenantId,
          dailyTokens,
          dailyCost?.micros ?? null,
          dailyCost?.currency ?? null,
          dailySpeechSeconds ?? null,
          dailySpeechCharacters ?? null,
          dailySpeechSeconds !== undefined,
          dailySpeechCharacters !== undefined,
        ],
      );
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'ai_budget.updated',
        targetType: 'workspace',
        targetId: tenantId,
        details: {
          dailyTokens,
          dailyCost,
          ...(dailySpeechSeconds === undefined ? {} : { dailySpeechSeconds }),
          ...(dailySpeechCharacters === undefined ? {} : { dailySpeechCharacters }),
        },
      });
      return readBudget(tx, tenantId, this.#limits);
    });
    return this.#withModels(tenantId, budget);
  }

  async #withModels(tenantId: string, budget: Budget): Promise<BudgetResponse> {
    const { dailyCost } = budget;
    const models = dailyCost === null ? [] : await this.#modelsOf(tenantId);
    const unlimited = models.filter(({ prices }) => !hasCostLimit(prices, dailyCost));
    return { ...budget, modelsWithoutCostLimit: unlimited.map(({ id }) => id) };
  }
}

const hasCostLimit = (prices: PricedModel['prices'], limit: Budget['dailyCost']) =>
  prices !== null && prices.currency === limit?.currency && prices.inputMicros + prices.outputMicros > 0;

async function readBudget(tx: Transaction, tenantId: string, limits: SpeechLimits): Promise<Budget> {
  const { rows } = await tx.query<BudgetRow>(
    'read_ai_budget',
    `SELECT (now() AT TIME ZONE 'UTC')::date::text AS day, ${todayStart} + interval '1 day' AS resets_at, used.tokens, used.costs,
       b.daily_tokens, b.daily_cost_micros, b.currency, b.daily_speech_seconds, b.daily_speech_characters, s.transcribed_ms, s.spoken_characters, b.updated_at
     FROM (SELECT coalesce(sum(tokens), 0)::text AS tokens, jsonb_object_agg(currency, cost::text) FILTER (WHERE currency <> '') AS costs FROM (
       SELECT currency, sum(input_tokens + output_tokens) AS tokens, sum(cost_micros) AS cost FROM ai_usage WHERE tenant_id = $1 AND hour >= ${todayStart} GROUP BY currency) c) used
     LEFT JOIN ai_budgets b ON b.tenant_id = $1
     LEFT JOIN ai_speech_usage s ON s.tenant_id = $1 AND s.day = (now() AT TIME ZONE 'UTC')::date`,
    [tenantId],
  );
  return present(rows[0] as BudgetRow, limits);
}

function present(row: BudgetRow, limits: SpeechLimits): Budget {
  const tokens = Number(row.tokens);
  const costs = Object.entries(row.costs ?? {})
    .map(([currency, micros]) => ({ currency, micros: Number(micros) }))
    .toSorted((left, right) => left.currency.localeCompare(right.currency));
  const dailyTokens = row.daily_tokens === null ? null : Number(row.daily_tokens);
  const dailyCost = row.currency === null ? null : { currency: row.currency, micros: Number(row.daily_cost_micros) };
  const spent = costs.find(({ currency }) => currency === dailyCost?.currency)?.micros ?? 0;
  const shares = [
    ...(dailyTokens === null ? [] : [shareOf(tokens, dailyTokens)]),
    ...(dailyCost === null ? [] : [shareOf(spent, dailyCost.micros)]),
  ];
  const share = shares.length === 0 ? null : Math.max(...shares);
  return {
    dailyTokens,
    dailyCost,
    dailySpeechSeconds: lower(row.daily_speech_seconds, limits.dailySeconds),
    dailySpeechCharacters: lower(row.daily_speech_characters, limits.dailyCharacters),
    used: {
      day: row.day,
      tokens,
      costs,
      share,
      speechSeconds: Math.ceil(Number(row.transcribed_ms ?? 0) / 1_000),
      speechCharacters: Number(row.spoken_characters ?? 0),
    },
    isUsedUp: share !== null && share >= 1,
    resetsAt: row.resets_at.toISOString(),
    updatedAt: row.updated_at?.toISOString() ?? null,
  };
}

const lower = (own: string | null, ofHub: number) => (own === null ? ofHub : Math.min(Number(own), ofHub));

/** The used share, rounded so that it is 1 or more only at or above the limit. A limit of 0 counts as used up. */
const shareOf = (used: number, limit: number) =>
  used >= limit
    ? Math.max(1, limit === 0 ? 1 : Math.round((used / limit) * 10_000) / 10_000)
    : Math.floor((used / limit) * 10_000) / 10_000;
