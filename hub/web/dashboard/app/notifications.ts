import { ApiError } from '../../../../shared/client/client.ts';
import {
  findPushWorker,
  readStoredSubscription,
  storeSubscription,
  unsubscribeBrowser,
} from '../../../../shared/web/push-subscription.ts';
import { client } from './api.ts';

/** Time between two renewals with the same endpoint, in milliseconds: many tabs that load together renew once. */
const renewalIntervalMs = 60_000;

/**
 * Tells the hub that this browser is in use, and its endpoint if it has changed. Ends the subscription of the browser
 * when the hub does not know it any more for the signed-in user: it was removed, or belongs to another user.
 * Does nothing while another tab does it.
 */
export const renewNotifications = (userId: string): Promise<void> =>
  navigator.locks.request('outrigger.notifications', { ifAvailable: true }, async (lock) => {
    if (lock !== null) await renew(userId);
  });

async function renew(userId: string): Promise<void> {
  const stored = readStoredSubscription();
  if (stored === null) return;
  if (stored.userId !== userId) return forget();
  const registration = await findPushWorker();
  if (registration === undefined || Notification.permission !== 'granted') return;
  const { pushManager } = registration;
  const subscription =
    (await pushManager.getSubscription()) ??
    // The push service has ended the subscription.
    (await pushManager.subscribe({
      userVisibleOnly: true,
      applicationServerKey: (await client.call('readPushState', {})).publicKey,
    }));
  const { endpoint = '', keys = {} } = subscription.toJSON();
  const { p256dh = '', auth = '' } = keys;
  const age = Date.now() - (stored.renewedAt ?? 0);
  if (endpoint === stored.endpoint && age >= 0 && age < renewalIntervalMs) return;
  const previousEndpoint = stored.endpoint ?? endpoint;
  try {
    const body = { endpoint, keys: { p256dh, auth }, previousEndpoint };
    const { id } = await client.call('renewPushSubscription', { body });
    storeSubscription({ userId, id, endpoint, renewedAt: Date.now() });
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
    await forget();
  }
}

async function forget(): Promise<void> {
  storeSubscription(null);
  await unsubscribeBrowser();
}
