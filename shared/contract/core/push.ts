import { z } from 'zod';
import { deleted, id, idParams, named, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

/** Browsers of one user that get notifications. */
export const maxPushSubscriptions = 10;

const memberOnly = { tag: 'Workspaces and people', callers: ['session'], role: 'agent' } as const;

const subscription = named(
  'PushSubscription',
  z.object({
    id: id.describe('Id of the subscription'),
    client: z.string().nullable().describe('`User-Agent` of the browser, at most 300 characters; null without one'),
    createdAt: timestamp.describe('When the browser was subscribed'),
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
    description: `The browser gets a notification for each new approval that you may decide, encrypted for the browser. A subscription with the same endpoint is replaced. The subscription ends with the session of this request. You can have at most ${maxPushSubscriptions} subscriptions.`,
    body: named(
      'CreatePushSubscription',
      z.strictObject({
        endpoint: text(1, 2_000).describe('https URL of the push service, from `PushSubscription.endpoint`'),
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
      }),
    ),
    response: subscription,
    errors: ['conflict'],
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
