import { z } from 'zod';
import { chatEventTypes } from '../chat/chat-events.ts';
import { deleted, id, instant, listQuery, named, page, text, timestamp } from '../common.ts';
import { environments } from '../core/identity.ts';
import { defineResource } from '../define.ts';

/** Outbound webhooks: signed Live Chat events, sent to URLs of the workspace. */

export const deliveryStatuses = ['pending', 'delivered', 'failed', 'exhausted', 'cancelled'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Maximum number of webhooks of a workspace. */
export const maxWebhooks = 20;
/** Maximum size of a sent body and of a stored response, in bytes. */
export const maxWebhookBodyBytes = 64 * 1024;
export const maxStoredResponseBytes = 2 * 1024;
/** Delays before each retry of a delivery, in seconds. Jitter is added to each delay. */
export const retrySeconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;
/** Retention of a delivery, in days. */
export const deliveryDays = 30;

const eventType = z.enum(chatEventTypes, `must be one of ${chatEventTypes.join(', ')}`);
const events = z
  .array(eventType)
  .min(1, 'must name at least one event')
  .max(chatEventTypes.length, `must name at most ${chatEventTypes.length} events`)
  .transform((list) => [...new Set(list)])
  .describe('Types of events to send; `visitor.created` is accepted but not emitted yet');
const url = text(1, 2_000).describe('https URL that receives the events, without user name and password');
const description = text(0, 500).describe('Description to show, at most 500 characters');
const status = z.enum(deliveryStatuses, `must be one of ${deliveryStatuses.join(', ')}`);

const subscription = {
  id: id.describe('Id of the webhook'),
  url: z.string().describe('https URL that receives the events, at most 2,000 characters'),
  events: z.array(eventType).describe('Types of events that are sent'),
  description: z.string().describe('Description to show, at most 500 characters; may be empty'),
  active: z.boolean().describe('Whether events are sent; while it is false, no new events are recorded'),
  environment: z.enum(environments).describe('Environment of the events that are sent'),
  includePrivate: z.literal(false).describe('Always false: private notes are never sent'),
  secretHint: z.string().describe('Last characters of the secret'),
  createdAt: timestamp,
  updatedAt: timestamp,
  disabledReason: z.string().nullable().describe('Why the hub deactivated the webhook; null if it did not'),
};

export const webhook = named('Webhook', z.object(subscription));
export type Webhook = z.output<typeof webhook>;

const secret = z.string().describe('Signing secret, returned only once: `whsec_` and 32 bytes as base64');
const webhookWithSecret = named('WebhookWithSecret', z.object({ ...subscription, secret }));

const delivery = {
  id: id.describe('Id of the delivery'),
  eventId: z.string().describe('Id of the event; the same for every attempt'),
  event: eventType.describe('Type of the event'),
  status: status.describe('`failed`: will be retried; `exhausted`: will not be retried'),
  attempts: z.int().describe('Attempts so far'),
  nextAttemptAt: timestamp
    .nullable()
    .describe(
      'Time of the next attempt; null when none is planned, during an attempt, and while an earlier event is pending',
    ),
  responseStatus: z.int().nullable().describe('HTTP status of the last response; null when there was none'),
  responseMs: z.int().nullable().describe('Duration of the last attempt, in milliseconds; null before the first'),
  lastError: z.string().nullable().describe('Why the last attempt failed; null when it succeeded'),
  createdAt: timestamp,
};

export const webhookDelivery = named('WebhookDelivery', z.object(delivery));
export type WebhookDelivery = z.output<typeof webhookDelivery>;

const deliveryDetail = named(
  'WebhookDeliveryDetail',
  z.object({
    ...delivery,
    body: z.string().describe('Exact request body; empty after the conversation was erased'),
    history: z
      .array(
        z.object({
          attempt: z.int().describe('Number of the attempt, from 1'),
          startedAt: timestamp,
          responseStatus: z.int().nullable().describe('HTTP status of the response; null when there was none'),
          responseMs: z.int().describe('Duration of the attempt, in milliseconds'),
          error: z.string().nullable().describe('Why the attempt failed; null when it did not'),
          response: z.string().describe('First 2 KiB of the response'),
        }),
      )
      .describe('Attempts, oldest first'),
  }),
);

const managed = {
  tag: 'Webhooks',
  callers: ['token', 'session'],
  permission: 'webhooks:manage',
  role: 'admin',
} as const;

const tenantParams = z.strictObject({ tenantId: id });
const params = tenantParams.extend({ id });
const deliveryParams = params.extend({ deliveryId: id });

export const webhooks = defineResource({
  listWebhooks: {
    ...managed,
    method: 'GET',
    path: '/tenants/{tenantId}/webhooks',
    summary: 'List webhooks',
    description: 'API keys see only the webhooks of their environment.',
    params: tenantParams,
    query: listQuery,
    response: page(webhook),
  },
  createWebhook: {
    ...managed,
    method: 'POST',
    path: '/tenants/{tenantId}/webhooks',
    summary: 'Create a webhook',
    description: `The secret is returned only once. Limit: ${maxWebhooks} webhooks per workspace.`,
    params: tenantParams,
    body: z.strictObject({
      url,
      events,
      description: description.default(''),
      active: z.boolean().default(true).describe('Whether events are sent immediately'),
      environment: z
        .enum(environments, 'must be live or test')
        .optional()
        .describe('For API keys, only the environment of the key. When omitted, that of the key, or `live` for users'),
      includePrivate: z
        .literal(false, 'must be false: private notes are never sent')
        .optional()
        .describe('Always false: private notes are never sent'),
    }),
    response: webhookWithSecret,
    errors: ['workspace_limit_reached'],
  },
  getWebhook: {
    ...managed,
    method: 'GET',
    path: '/tenants/{tenantId}/webhooks/{id}',
    summary: 'Get a webhook',
    description: 'API keys see only the webhooks of their environment.',
    params,
    response: webhook,
  },
  updateWebhook: {
    ...managed,
    method: 'PATCH',
    path: '/tenants/{tenantId}/webhooks/{id}',
    summary: 'Update a webhook',
    description: `While a webhook is inactive, no new events are recorded. Pending deliveries are kept for ${deliveryDays} days and resume when you reactivate it.`,
    params,
    body: z
      .strictObject({
        url: url.optional(),
        events: events.optional(),
        description: description.optional(),
        active: z.boolean().optional().describe('Whether events are sent; true also clears `disabledReason`'),
      })
      .refine(
        (body) => Object.values(body).some((value) => value !== undefined),
        'must have at least one of url, events, description, active',
      )
      .meta({ example: { active: true } }),
    response: webhook,
  },
  deleteWebhook: {
    ...managed,
    method: 'DELETE',
    path: '/tenants/{tenantId}/webhooks/{id}',
    summary: 'Delete a webhook with its deliveries',
    description:
      'Deliveries stop immediately, and the webhook and its deliveries are no longer returned. A background job deletes the deliveries from the database.',
    params,
    response: deleted,
  },
  rotateWebhookSecret: {
    ...managed,
    method: 'POST',
    path: '/tenants/{tenantId}/webhooks/{id}/rotate-secret',
    summary: 'Rotate the secret of a webhook',
    description:
      'For `overlapHours`, requests are also signed with the old secret: in `X-Service-Signature-Previous`, and as a second signature in `webhook-signature`. After a response of 400, 401 or 403, the request is repeated immediately, signed with the old secret.',
    params,
    body: z.strictObject({
      overlapHours: z
        .int('must be a whole number from 0 to 168')
        .min(0, 'must be from 0 to 168')
        .max(168, 'must be from 0 to 168')
        .default(24)
        .describe('Hours for which requests are also signed with the old secret, 0 to 168'),
    }),
    bodyOptional: true,
    response: webhookWithSecret,
  },
  testWebhook: {
    ...managed,
    method: 'POST',
    path: '/tenants/{tenantId}/webhooks/{id}/test',
    summary: 'Send a test delivery',
    description: 'Sends a sample event with `payload.test: true`, signed like any other event.',
    params,
    body: z.strictObject({ event: eventType.default('message.created').describe('Type of the sample event') }),
    bodyOptional: true,
    response: webhookDelivery,
    errors: ['conflict'],
  },
  replayWebhook: {
    ...managed,
    method: 'POST',
    path: '/tenants/{tenantId}/webhooks/{id}/replay',
    summary: 'Replay deliveries of a period',
    description:
      'Replays at most 10,000 deliveries per request, oldest first, from `since` until before `until`. Without `status`, selects deliveries with the status `failed`, `exhausted` or `cancelled`.',
    params,
    body: z.strictObject({
      since: instant.describe('Only deliveries at or after this time'),
      until: instant.optional().describe('Only deliveries before this time; now when omitted'),
      status: status
        .optional()
        .describe('Only deliveries with this status; when omitted, `failed`, `exhausted` and `cancelled`'),
    }),
    response: named(
      'WebhookReplay',
      z.object({ replayed: z.int().describe('Number of deliveries that were queued again') }),
    ),
    errors: ['conflict'],
  },
  listWebhookDeliveries: {
    ...managed,
    method: 'GET',
    path: '/tenants/{tenantId}/webhooks/{id}/deliveries',
    summary: 'List deliveries',
    description: `Newest first. Deliveries are kept for ${deliveryDays} days.`,
    params,
    query: listQuery.extend({ status: status.optional(), event: eventType.optional() }),
    response: page(webhookDelivery),
  },
  getWebhookDelivery: {
    ...managed,
    method: 'GET',
    path: '/tenants/{tenantId}/webhooks/{id}/deliveries/{deliveryId}',
    summary: 'Get a delivery with its attempts',
    description: 'Includes the newest 50 attempts.',
    params: deliveryParams,
    response: deliveryDetail,
  },
  redeliverWebhookDelivery: {
    ...managed,
    method: 'POST',
    path: '/tenants/{tenantId}/webhooks/{id}/deliveries/{deliveryId}/redeliver',
    summary: 'Redeliver a delivery immediately',
    description:
      'The delivery keeps its event id and becomes due now, also after it succeeded. A delivery that is in progress or was never attempted does not change. Refused while the webhook is inactive and after the conversation was erased.',
    params: deliveryParams,
    response: webhookDelivery,
    errors: ['conflict'],
  },
});
