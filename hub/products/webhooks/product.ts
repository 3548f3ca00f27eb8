import { deliveryDays } from '../../../shared/contract/webhooks/webhooks.ts';
import type { RowRetention } from '../../platform/db/row-retention.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Product } from '../../product.ts';
import type { ChatEvents } from '../chat/events/index.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { DeactivationMails } from './deactivation-mails.ts';
import { removeDeletedWebhooks } from './deleted-webhooks.ts';
import { Deliveries } from './deliveries.ts';
import { repairConversationQueues } from './due-deliveries.ts';
import { enqueueDeliveries } from './enqueue-deliveries.ts';
import { eraseDeliveries } from './erase.ts';
import { webhookRoutes } from './routes.ts';
import { WebhookSender } from './sender.ts';
import { Subscriptions } from './subscriptions.ts';
import { dueTopic } from './wake.ts';
import type { Wake } from './wake.ts';

export interface Webhooks extends Product {
  /**
   * Starts to send due deliveries, until the returned object is disposed.
   * @param shutdownMs how long attempts in progress may continue after disposal starts, in milliseconds.
   * @param onAttempt called with the status of each recorded attempt.
   */
  startSending(shutdownMs: number, onAttempt: (outcome: string) => void): AsyncDisposable;
}

export function createWebhooks(
  { db, events, egress, cursors, secrets, mailer, logger }: Platform,
  settings: { webhooks: { drainSeconds: number } },
  { limits, chatEvents }: { limits: WorkspaceLimits; chatEvents: ChatEvents },
): Webhooks {
  let sender: WebhookSender | null = null;
  // A process that sends deliveries wakes its own sender. Other processes publish the wake-up.
  const wake: Wake = (tx, due) => {
    if (due.webhookIds.length === 0) return;
    const local = sender;
    if (local === null) tx.publish(dueTopic, { ...due });
    else tx.onCommit(() => local.wake(due));
  };
  const subscriptions = new Subscriptions({ db, cursors, egress, secrets, limits, wake });
  chatEvents.subscribe(async (tx, event) => {
    wake(tx, await enqueueDeliveries(tx, event));
  });
  chatEvents.onErase(eraseDeliveries);
  const mails = new DeactivationMails({ db, mailer, logger });
  return {
    routes: webhookRoutes(subscriptions, new Deliveries({ db, cursors, wake })),
    tasks: [
      {
        name: 'webhook deliveries',
        everyMs: settings.webhooks.drainSeconds * 1000,
        run: (stopping) => repairConversationQueues(db, stopping),
      },
      { name: 'deleted webhooks', everyMs: 5_000, run: (stopping) => removeDeletedWebhooks(db, stopping) },
      { name: 'mails of webhooks', everyMs: 5_000, run: (stopping) => mails.send(stopping) },
    ],
    retention: webhooksRetention,
    startSending(shutdownMs, onAttempt) {
      sender = new WebhookSender({ db, egress, events, logger, secrets, onAttempt }, shutdownMs);
      return sender;
    },
  };
}

// The foreign key of attempts removes them with their delivery.
export const webhooksRetention: RowRetention = { aged: [{ table: 'webhook_deliveries', days: deliveryDays }] };
