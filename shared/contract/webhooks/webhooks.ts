import { z } from 'zod';
import { chatEventTypes } from '../chat/chat-events.ts';
import { deleted, id, instant, listQuery, named, page, text, timestamp } from '../common.ts';
import { environments } from '../core/identity.ts';
import { defineResource } from '../define.ts';

/** Outbound webhooks: what happens in a chat is sent, signed, to addresses of the workspace's choice. */

export const deliveryStatuses = ['pending', 'delivered', 'failed', 'exhausted', 'cancelled'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Webhooks that a workspace may have. */
export const maxWebhooks = 20;
/** The most of a body that is sent, and the most of an answer that is kept, in bytes. */
export const maxWebhookBodyBytes = 64 * 1024;
export const maxKeptAnswerBytes = 2 * 1024;
/** Seconds until each further try of a delivery; a bit more, so that not all come back at once. */
export const retrySeconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;
/** How long a delivery is kept, in days. */
export const deliveryDays = 30;

const eventType = z.enum(chatEventTypes, `must be one of ${chatEventTypes.join(', ')}`);
const events = z
  .array(eventType)
  .min(1, 'must name at least one event')
  .max(chatEventTypes.length, `must name at most ${chatEventTypes.length} events`)
  .transform((list) => [...new Set(list)])
  .describe('What is sent; `visitor.created` is accepted and not emitted yet');
const url = text(1, 2_000).describe('https, without user name and password');
const description = text(0, 500).describe('Label for people, at most 500 characters');
const status = z.enum(deliveryStatuses, `must be one of ${deliveryStatuses.join(', ')}`);

const subscription = {
  id: id.describe('Id of the webhook'),
  url: z.string().describe('https URL that receives the events, at most 2,000 characters'),
  events: z.array(eventType).describe('Types of events that are sent'),
  description: z.string().describe('Label for people, at most 500 characters; may be empty'),
  active: z.boolean().describe('Whether events are sent; while it is false, no new events are recorded'),
  environment: z.enum(environments).describe('Only events of this environment are sent'),
  includePrivate: z.literal(false).describe('Private notes never leave'),
  secretHint: z.string().describe('The end of the secret'),
  createdAt: timestamp,
  updatedAt: timestamp,
  disabledReason: z.string().nullable().describe('Why the hub switched it off; null when it did not'),
};

export const webhook = named('Webhook', z.object(subscription));
export type Webhook = z.output<typeof webhook>;

const secret = z.string().describe('The secret that signs, shown only now: `whsec_` and 32 bytes as base64');
const webhookWithSecret = named('WebhookWithSecret', z.object({ ...subscription, secret }));

const delivery = {
  id: id.describe('Id of the delivery'),
  eventId: z.string().describe('The same at each try'),
  event: eventType.describe('Type of the event'),
  status: status.describe('`failed` is tried again, `exhausted` is not'),
  attempts: z.int().describe('Attempts so far'),
  nextAttemptAt: timestamp
    .nullable()
    .describe('Null when none is planned, while one is under way, and while the event before it is still to be tried'),
  responseStatus: z.int().nullable().describe('HTTP status of the last response; null when there was none'),
  responseMs: z.int().nullable().describe('Duration of the last attempt, in milliseconds; null before the first'),
  lastError: z.string().nullable().describe('Why the last attempt failed; null when it did not'),
  createdAt: timestamp,
};

export const webhookDelivery = named('WebhookDelivery', z.object(delivery));
export type WebhookDelivery = z.output<typeof webhookDelivery>;

const deliveryDetail = named(
  'WebhookDeliveryDetail',
  z.object({
    ...delivery,
    body: z.string().describe('What is sent, byte for byte; empty once the conversation is erased'),
    history: z
      .array(
        z.object({
          attempt: z.int().describe('Number of the attempt, from 1'),
          startedAt: timestamp,
          responseStatus: z.int().nullable().describe('HTTP status of the response; null when there was none'),
          responseMs: z.int().describe('Duration of the attempt, in milliseconds'),
          error: z.string().nullable().describe('Why the attempt failed; null when it did not'),
          response: z.string().describe('The first 2 KiB of the answer'),
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
    description: 'A key sees the webhooks of its environment only.',
    params: tenantParams,
    query: listQuery,
    response: page(webhook),
  },
  createWebhook: {
    ...managed,
    method: 'POST',
    path: '/tenants/{tenantId}/webhooks',
    summary: 'Create a webhook',
    description: `The answer shows the secret, once. A workspace may have ${maxWebhooks}.`,
    params: tenantParams,
    body: z.strictObject({
      url,
      events,
      description: description.default(''),
      active: z.boolean().default(true).describe('Whether events are sent from the beginning'),
      environment: z
        .enum(environments, 'must be live or test')
        .optional()
        .describe('That of the key when left out, and no other; `live` for a person who says nothing else'),
      includePrivate: z
        .literal(false, 'must be false: private notes never leave')
        .optional()
        .describe('Only false is possible: private notes are never sent'),
    }),
    response: webhookWithSecret,
    errors: ['workspace_limit_reached'],
  },
  getWebhook: {
    ...managed,
    method: 'GET',
    path: '/tenants/{tenantId}/webhooks/{id}',
    summary: 'Show a webhook',
    description: 'A key sees the webhooks of its environment only.',
    params,
    response: webhook,
  },
  updateWebhook: {
    ...managed,
    method: 'PATCH',
    path: '/tenants/{tenantId}/webhooks/{id}',
    summary: 'Change a webhook, or switch it on or off',
    description: `While it is off no event is written for it; what was written before is kept for ${deliveryDays} days and goes on when it is switched on.`,
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
        'give at least one of url, events, description, active',
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
      'At once nothing is sent to it, and nothing of it is shown. Its deliveries are removed from the database in the background.',
    params,
    response: deleted,
  },
  rotateWebhookSecret: {
    ...managed,
    method: 'POST',
    path: '/tenants/{tenantId}/webhooks/{id}/rotate-secret',
    summary: 'Give a webhook a new secret',
    description:
      'For `overlapHours` the old secret signs as well: it makes `X-Service-Signature-Previous`, `webhook-signature` lists both, and an answer of 400, 401 or 403 is repeated at once signed with the old one.',
    params,
    body: z.strictObject({
      overlapHours: z
        .int('must be a whole number from 0 to 168')
        .min(0, 'must be from 0 to 168')
        .max(168, 'must be from 0 to 168')
        .default(24)
        .describe('Hours for which the old secret signs as well, 0 to 168'),
    }),
    bodyOptional: true,
    response: webhookWithSecret,
  },
  testWebhook: {
    ...managed,
    method: 'POST',
    path: '/tenants/{tenantId}/webhooks/{id}/test',
    summary: 'Send a test delivery',
    description: 'Sends an example of an event with `payload.test: true`, signed like any other.',
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
    summary: 'Send deliveries of some time again',
    description:
      'Up to 10,000 a call, oldest first: those from `since` on and before `until`, of one status, or whatever was not delivered and is not on its way.',
    params,
    body: z.strictObject({
      since: instant.describe('Only deliveries of this time or later'),
      until: instant.optional().describe('Only deliveries before this time; now when left out'),
      status: status.optional().describe('Only deliveries with this status; every status when left out'),
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
    description: `Newest first. They are kept for ${deliveryDays} days.`,
    params,
    query: listQuery.extend({ status: status.optional(), event: eventType.optional() }),
    response: page(webhookDelivery),
  },
  getWebhookDelivery: {
    ...managed,
    method: 'GET',
    path: '/tenants/{tenantId}/webhooks/{id}/deliveries/{deliveryId}',
    summary: 'Show a delivery with its attempts',
    description: 'The newest 50 of them.',
    params: deliveryParams,
    response: deliveryDetail,
  },
  redeliverWebhookDelivery: {
    ...managed,
    method: 'POST',
    path: '/tenants/{tenantId}/webhooks/{id}/deliveries/{deliveryId}/redeliver',
    summary: 'Send a delivery again, now',
    params: deliveryParams,
    response: webhookDelivery,
    errors: ['conflict'],
  },
});
