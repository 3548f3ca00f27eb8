/** Topic that notifies sending processes of webhooks with due deliveries. */
export const dueTopic = 'webhooks-due';

export interface DueWebhooks {
  tenantId: string;
  webhookIds: string[];
}

/** Called after the commit. */
export type Wake = (due: DueWebhooks) => void;
