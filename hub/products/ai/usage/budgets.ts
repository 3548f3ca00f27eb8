import type { z } from 'zod';
import type { ModelPrices } from '../../../../shared/contract/ai/prices.ts';
import type { aiUsageResource as resource } from '../../../../shared/contract/ai/usage.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { todayStart } from './today.ts';

type Put = z.output<typeof resource.putAiBudget.body>;
type Shown = z.output<typeof resource.getAiBudget.response>;
type Budget = Omit<Shown, 'modelsWithoutCostLimit'>;

interface BudgetRow {
  day: string;
  resets_at: Date;
  tokens: string;
  costs: Record<string, string> | null;
  daily_tokens: string | null;
  daily_cost_micros: string | null;
  currency: string | null;
  updated_at: Date | null;
}

/** A model that a workspace can ask, by its id or, of the hub's own, its name, with what it costs. */
export interface PricedModel {
  id: string;
  prices: ModelPrices | null;
}

/** What workspaces may spend on models in a day. */
export class Budgets {
  readonly #db: Database;
  readonly #modelsOf: (tenantId: string) => Promise<PricedModel[]>;

  /** @param modelsOf all that a workspace can ask. */
  constructor(db: Database, modelsOf: (tenantId: string) => Promise<PricedModel[]>) {
    this.#db = db;
    this.#modelsOf = modelsOf;
  }

  async show(tenantId: string): Promise<Shown> {
    return this.#withModels(tenantId, await this.#db.read(tenantId, (tx) => readBudget(tx, tenantId)));
  }

  /** Replaces it; one without limits stays, for when it was set. */
  async put(tenantId: string, { dailyTokens, dailyCost }: Put, actor: string): Promise<Shown> {
    const budget = await this.#db.workspace(tenantId, async (tx) => {
      await tx.query(
        'put_ai_budget',
        // Of the new limits the admins have heard nothing.
        `INSERT INTO ai_budgets (tenant_id, daily_tokens, daily_cost_micros, currency) VALUES ($1, $2, $3, $4)
         ON CONFLICT (tenant_id) DO UPDATE SET daily_tokens = excluded.daily_tokens, daily_cost_micros = excluded.daily_cost_micros, currency = excluded.currency,
           told_day = NULL, told_percent = NULL, mail_due_at = NULL, updated_at = now()`,
        [tenantId, dailyTokens, dailyCost?.micros ?? null, dailyCost?.currency ?? null],
      );
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'ai_budget.updated',
        targetType: 'workspace',
        targetId: tenantId,
        details: { dailyTokens, dailyCost },
      });
      return readBudget(tx, tenantId);
    });
    return this.#withModels(tenantId, budget);
  }

  async #withModels(tenantId: string, budget: Budget): Promise<Shown> {
    const { dailyCost } = budget;
    const models = dailyCost === null ? [] : await this.#modelsOf(tenantId);
    const unbound = models.filter(({ prices }) => !isBound(prices, dailyCost));
    return { ...budget, modelsWithoutCostLimit: unbound.map(({ id }) => id) };
  }
}

const isBound = (prices: PricedModel['prices'], limit: Budget['dailyCost']) =>
  prices !== null && prices.currency === limit?.currency && prices.inputMicros + prices.outputMicros > 0;

async function readBudget(tx: Transaction, tenantId: string): Promise<Budget> {
  const { rows } = await tx.query<BudgetRow>(
    'read_ai_budget',
    `SELECT (now() AT TIME ZONE 'UTC')::date::text AS day, ${todayStart} + interval '1 day' AS resets_at, used.tokens, used.costs,
       b.daily_tokens, b.daily_cost_micros, b.currency, b.updated_at
     FROM (SELECT coalesce(sum(tokens), 0)::text AS tokens, jsonb_object_agg(currency, cost::text) FILTER (WHERE currency <> '') AS costs FROM (
       SELECT currency, sum(input_tokens + output_tokens) AS tokens, sum(cost_micros) AS cost FROM ai_usage WHERE tenant_id = $1 AND hour >= ${todayStart} GROUP BY currency) c) used
     LEFT JOIN ai_budgets b ON b.tenant_id = $1`,
    [tenantId],
  );
  return present(rows[0] as BudgetRow);
}

function present(row: BudgetRow): Budget {
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
    used: { day: row.day, tokens, costs, share },
    isUsedUp: share !== null && share >= 1,
    resetsAt: row.resets_at.toISOString(),
    updatedAt: row.updated_at?.toISOString() ?? null,
  };
}

/** Nothing of nothing is all of it; less than all never looks like it. */
const shareOf = (used: number, limit: number) =>
  used >= limit
    ? Math.max(1, limit === 0 ? 1 : Math.round((used / limit) * 10_000) / 10_000)
    : Math.floor((used / limit) * 10_000) / 10_000;
