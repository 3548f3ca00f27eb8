import { aiUsageDays } from '../../../../shared/contract/ai/usage.ts';
import { systemClock } from '../../../platform/clock.ts';
import type { RowRetention } from '../../../platform/db/row-retention.ts';
import type { Platform } from '../../../platform/open-platform.ts';
import type { Product } from '../../../product.ts';
import { BudgetMails } from './budget-mails.ts';
import { Budgets } from './budgets.ts';
import type { PricedModel } from './budgets.ts';
import { UsageLedger } from './ledger.ts';
import { usageRoutes } from './routes.ts';
import type { SpeechLimits } from './speech-meter.ts';

/**
 * Usage of models and the daily budgets.
 * @param stack disposes what this function opens.
 * @param modelsOf lists all models that a workspace can call.
 */
export function createUsage(
  stack: AsyncDisposableStack,
  { db, mailer, logger }: Platform,
  modelsOf: (tenantId: string) => Promise<PricedModel[]>,
  limits: SpeechLimits,
): Product & { ledger: UsageLedger } {
  const mails = new BudgetMails({ db, mailer, logger });
  return {
    ledger: stack.use(new UsageLedger({ db, logger, clock: systemClock })),
    routes: usageRoutes(db, new Budgets(db, modelsOf, limits)),
    tasks: [{ name: 'mail budget notices', everyMs: 30_000, run: (stopping) => mails.send(stopping) }],
    retention: usageRetention,
  };
}

const usageRetention: RowRetention = {
  aged: [{ table: 'ai_usage', days: aiUsageDays }],
  expiring: [
    { table: 'ai_usage_batches' },
    { table: 'ai_reservations' },
    { table: 'ai_speech_usage', column: 'day', days: aiUsageDays },
  ],
};
