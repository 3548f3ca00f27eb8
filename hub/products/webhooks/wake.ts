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

/** Called after the commit. */
export type Wake = (due: DueWebhooks) => void;
