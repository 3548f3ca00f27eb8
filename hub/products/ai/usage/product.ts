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
 * What models are used for, and how much of them workspaces may use.
 * @param stack ends what it opens.
 * @param modelsOf all that a workspace can ask.
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
    tasks: [{ name: 'budgets for models', everyMs: 30_000, run: (stopping) => mails.send(stopping) }],
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
