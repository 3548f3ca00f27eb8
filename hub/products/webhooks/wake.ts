/** Topic under which every process that sends is told that webhooks have something due. */
export const dueTopic = 'webhooks-due';

/** Webhooks of a workspace that have something due. */
export interface Woken {
  tenantId: string;
  webhookIds: string[];
}

/** Told, after the commit, of what is due. */
export type Wake = (woken: Woken) => void;
