import { z } from 'zod';
import { deleted, id, idParams, named, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

/** Browsers of one user that get notifications. */
export const maxPushSubscriptions = 10;
/** Days after which a subscription ends that its browser did not renew. */
export const maxUnrenewedDays = 60;
/** Days with refusals only, after which the hub sends nothing more to a browser. */
export const maxRefusedDays = 3;

const memberOnly = { tag: 'Workspaces and people', callers: ['session'], role: 'agent' } as const;

const endpoint = text(1, 2_000);

const browser = {
  endpoint: endpoint.describe('https URL of the push service, from `PushSubscription.endpoint`'),
  keys: z
    .strictObject({
      p256dh: z
        .string()
        .regex(/^[\w-]{87}=?$/, 'must be 65 bytes in base64url')
        .describe('Public key of the browser: an uncompressed point on the curve P-256, base64url'),
      auth: z
        .string()
        .regex(/^[\w-]{22}(?:==)?$/, 'must be 16 bytes in base64url')
        .describe('Authentication secret of the browser: 16 bytes, base64url'),
    })
    .describe('Keys with which messages are encrypted, from `PushSubscription.toJSON()`'),
};

const subscription = named(
  'PushSubscription',
  z.object({
    id: id.describe('Id of the subscription'),
    client: z.string().nullable().describe('`User-Agent` of the browser, at most 300 characters; null without one'),
    createdAt: timestamp.describe('When the browser was subscribed'),
    renewedAt: timestamp.describe(
      `When the browser renewed the subscription, which ends ${maxUnrenewedDays} days after this time`,
    ),
    refusedSince: timestamp
      .nullable()
      .describe('Since when the push service has refused every message; null when it accepted the last one'),
    isStopped: z
      .boolean()
      .describe(
        `Whether the hub sends nothing more, because the push service has refused every message for ${maxRefusedDays} days`,
      ),
  }),
);

const state = named(
  'PushState',
  z.object({
    publicKey: z
      .string()
      .describe('VAPID public key of this hub, as `applicationServerKey` of `PushManager.subscribe`; base64url'),
    subscriptions: z.array(subscription).describe('Your subscribed browsers, newest first'),
  }),
);

export const push = defineResource({
  readPushState: {
    ...memberOnly,
    method: 'GET',
    path: '/auth/me/push',
    summary: 'Get your push notifications',
    description: 'Returns the key with which a browser subscribes, and your subscribed browsers.',
    response: state,
  },
  createPushSubscription: {
    ...memberOnly,
    method: 'POST',
    path: '/auth/me/push-subscriptions',
    summary: 'Subscribe a browser to push notifications',
    description: `The browser gets a notification for each new approval that you may decide, encrypted for the browser. A subscription with the same endpoint is replaced; that of another user only with the same keys. The subscription belongs to you and continues after the session of this request expires. It ends when you sign out in this browser, remove it, end your other sessions in another browser, or get a new password; when the push service reports its end; and when the browser has not renewed it for ${maxUnrenewedDays} days. You can have at most ${maxPushSubscriptions} subscriptions: a further one replaces the one that was renewed least recently.`,
    body: named('CreatePushSubscription', z.strictObject(browser)),
    response: subscription,
    errors: ['conflict'],
  },
  renewPushSubscription: {
    ...memberOnly,
    method: 'POST',
    path: '/auth/me/push-subscriptions/renew',
    summary: 'Renew the push notifications of a browser',
    description: `Call it when the browser is used, so that the subscription does not end after ${maxUnrenewedDays} days, and when the browser has a new endpoint. From now on, the subscription ends when the session of this request is signed out. The status 404 means that the subscription has ended: unsubscribe the browser.`,
    body: named(
      'RenewPushSubscription',
      z.strictObject({
        ...browser,
        previousEndpoint: endpoint.describe('Endpoint that `endpoint` replaces, if it has changed').optional(),
      }),
    ),
    response: subscription,
    errors: ['not_found', 'conflict'],
  },
  deletePushSubscription: {
    ...memberOnly,
    method: 'DELETE',
    path: '/auth/me/push-subscriptions/{id}',
    summary: 'Remove a browser from push notifications',
    description: 'Notifications that are not sent yet are discarded.',
    params: idParams,
    response: deleted,
  },
});
