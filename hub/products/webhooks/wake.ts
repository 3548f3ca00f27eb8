import type { Transaction } from '../../platform/db/database.ts';

/** Topic that notifies sending processes of webhooks with due deliveries. */
export const dueTopic = 'webhooks-due';

/** The owner of webhooks, for fair shares: an environment of a workspace. */
export interface WebhookOwner {
  tenantId: string;
  environment: 'live' | 'test';
}

export interface DueWebhooks extends WebhookOwner {
  webhookIds: string[];
}

/** Makes the sender look for due deliveries, on the commit of the transaction that makes them due. */
export type Wake = (tx: Transaction, due: DueWebhooks) => void;
