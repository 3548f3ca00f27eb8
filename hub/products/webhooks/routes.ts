import { webhooks as resource } from '../../../shared/contract/webhooks/webhooks.ts';
import { implement } from '../../platform/http/implement.ts';
import { actorOf } from '../../platform/http/principal.ts';
import type { Deliveries } from './deliveries.ts';
import type { Subscriptions } from './subscriptions.ts';

export const webhookRoutes = (subscriptions: Subscriptions, deliveries: Deliveries) =>
  implement(resource, {
    listWebhooks: ({ principal, query }) => subscriptions.list(principal.tenantId, query),
    createWebhook: ({ principal, body }) =>
      subscriptions.create(principal.tenantId, body, {
        actor: actorOf(principal),
        environment: principal.kind === 'token' ? principal.environment : null,
      }),
    updateWebhook: ({ principal, params, body }) =>
      subscriptions.update(principal.tenantId, params.id, body, actorOf(principal)),
    deleteWebhook: ({ principal, params }) => subscriptions.delete(principal.tenantId, params.id, actorOf(principal)),
    rotateWebhookSecret: ({ principal, params, body }) =>
      subscriptions.rotateSecret(principal.tenantId, params.id, body.overlapHours, actorOf(principal)),
    testWebhook: ({ principal, params, body }) =>
      deliveries.test(principal.tenantId, params.id, body.event, actorOf(principal)),
    replayWebhook: ({ principal, params, body }) => deliveries.replay(principal.tenantId, params.id, body),
    listWebhookDeliveries: ({ principal, params, query }) => deliveries.list(principal.tenantId, params.id, query),
    getWebhookDelivery: ({ principal, params }) => deliveries.get(principal.tenantId, params.id, params.deliveryId),
    redeliverWebhookDelivery: ({ principal, params }) =>
      deliveries.redeliver(principal.tenantId, params.id, params.deliveryId),
  });
