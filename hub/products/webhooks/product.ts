import { deliveryDays } from '../../../shared/contract/webhooks/webhooks.ts';
import { afterCommit } from '../../platform/db/joined-transaction.ts';
import type { RowRetention } from '../../platform/db/row-retention.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Product } from '../../product.ts';
import type { ChatEvents } from '../chat/events/index.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { removeDeletedWebhooks } from './deleted-webhooks.ts';
import { Deliveries } from './deliveries.ts';
import { repairLines } from './due-deliveries.ts';
import { eraseDeliveries } from './erase.ts';
import { writeDeliveries } from './follow.ts';
import { webhookRoutes } from './routes.ts';
import { WebhookSender } from './sender.ts';
import { Subscriptions } from './subscriptions.ts';
import { SwitchedOffMails } from './switched-off-mails.ts';
import { dueTopic } from './wake.ts';
import type { Wake } from './wake.ts';

/** Outbound webhooks. */
export interface Webhooks extends Product {
  /**
   * Begins to send what is due; disposing it ends that.
   * @param stopMs how long attempts under way may go on then.
   * @param onAttempt told what came of each.
   */
  startSending(stopMs: number, onAttempt: (outcome: string) => void): AsyncDisposable;
}

export function createWebhooks(
  { db, events, egress, cursors, secrets, mailer, logger }: Platform,
  settings: { webhooks: { drainSeconds: number } },
  { limits, chatEvents }: { limits: WorkspaceLimits; chatEvents: ChatEvents },
): Webhooks {
  let sender: WebhookSender | null = null;
  // What happens here is sent from here, if this process sends.
  const wake: Wake = ({ tenantId, webhookIds }) => {
    if (webhookIds.length === 0) return;
    afterCommit(() => {
      if (sender === null) void events.publish(dueTopic, { tenantId, webhookIds });
      else sender.wake({ tenantId, webhookIds });
    });
  };
  const subscriptions = new Subscriptions({ db, cursors, egress, secrets, limits, wake });
  chatEvents.subscribe(async (tx, event) => {
    const webhookIds = await writeDeliveries(tx, event);
    return () => wake({ tenantId: event.tenantId, webhookIds });
  });
  chatEvents.onErase(eraseDeliveries);
  const mails = new SwitchedOffMails({ db, mailer, logger });
  return {
    routes: webhookRoutes(subscriptions, new Deliveries({ db, cursors, wake })),
    tasks: [
      {
        name: 'webhook deliveries',
        everyMs: settings.webhooks.drainSeconds * 1000,
        run: (stopping) => repairLines(db, stopping),
      },
      { name: 'deleted webhooks', everyMs: 5_000, run: (stopping) => removeDeletedWebhooks(db, stopping) },
      { name: 'mails of webhooks', everyMs: 5_000, run: (stopping) => mails.send(stopping) },
    ],
    retention: webhooksRetention,
    startSending(stopMs, onAttempt) {
      sender = new WebhookSender({ db, egress, events, logger, secrets, onAttempt }, stopMs);
      return sender;
    },
  };
}

// With a delivery go its attempts.
export const webhooksRetention: RowRetention = { aged: [{ table: 'webhook_deliveries', days: deliveryDays }] };
