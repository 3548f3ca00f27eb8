import { webhooks as resource } from '../../../shared/contract/webhooks/webhooks.ts';
import { actorOf } from '../../platform/http/auth/principal.ts';
import type { Principal } from '../../platform/http/auth/principal.ts';
import { implement } from '../../platform/http/routing/implement.ts';
import type { Deliveries } from './deliveries.ts';
import type { Subscriptions } from './subscriptions.ts';

type Caller = Extract<Principal, { kind: 'token' | 'session' }>;

const environmentOf = (principal: Caller) => (principal.kind === 'token' ? principal.environment : null);

export function webhookRoutes(subscriptions: Subscriptions, deliveries: Deliveries) {
  /**
   * Asserts that the caller may access a webhook. The environment of a webhook never changes, so a check before the
   * operation is sufficient.
   * @throws AppError `not_found`.
   */
  const assertAccess = async (principal: Caller, { id }: { id: string }): Promise<void> => {
    if (principal.kind === 'token') await subscriptions.get(principal.tenantId, principal.environment, id);
  };
  return implement(resource, {
    listWebhooks: ({ principal, query }) => subscriptions.list(principal.tenantId, environmentOf(principal), query),
    createWebhook: ({ principal, body }) =>
      subscriptions.create(principal.tenantId, body, {
        actor: actorOf(principal),
        environment: environmentOf(principal),
      }),
    getWebhook: ({ principal, params }) => subscriptions.get(principal.tenantId, environmentOf(principal), params.id),
    updateWebhook: async ({ principal, params, body }) => {
      await assertAccess(principal, params);
      return subscriptions.update(principal.tenantId, params.id, body, actorOf(principal));
    },
    deleteWebhook: async ({ principal, params }) => {
      await assertAccess(principal, params);
      return subscriptions.delete(principal.tenantId, params.id, actorOf(principal));
    },
    rotateWebhookSecret: async ({ principal, params, body }) => {
      await assertAccess(principal, params);
      return subscriptions.rotateSecret(principal.tenantId, params.id, body.overlapHours, actorOf(principal));
    },
    testWebhook: async ({ principal, params, body }) => {
      await assertAccess(principal, params);
      return deliveries.test(principal.tenantId, params.id, body.event, actorOf(principal));
    },
    replayWebhook: async ({ principal, params, body }) => {
      await assertAccess(principal, params);
      return deliveries.replay(principal.tenantId, params.id, body);
    },
    listWebhookDeliveries: async ({ principal, params, query }) => {
      // An invalid cursor is a 400, also for a webhook that does not exist.
      const found = await deliveries.list(principal.tenantId, params.id, query);
      await assertAccess(principal, params);
      return found;
    },
    getWebhookDelivery: async ({ principal, params }) => {
      await assertAccess(principal, params);
      return deliveries.get(principal.tenantId, params.id, params.deliveryId);
    },
    redeliverWebhookDelivery: async ({ principal, params }) => {
      await assertAccess(principal, params);
      return deliveries.redeliver(principal.tenantId, params.id, params.deliveryId);
    },
  });
}
