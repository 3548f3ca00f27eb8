/** The subscription of this browser to push notifications, as its pages store it. */
export interface StoredSubscription {
  userId: string;
  /** Id of the subscription at the hub. */
  id: string;
  /** The endpoint that the hub knows. Pages of earlier versions of the hub stored none. */
  endpoint?: string;
  /** When the dashboard renewed the subscription, in milliseconds of the clock of the browser. */
  renewedAt?: number;
}

const storageKey = 'outrigger.notifications';
export const workerScope = '/app/';

export function readStoredSubscription(): StoredSubscription | null {
  try {
    return JSON.parse(localStorage.getItem(storageKey) ?? 'null') as StoredSubscription | null;
  } catch {
    return null;
  }
}

export function storeSubscription(subscription: StoredSubscription | null): void {
  if (subscription === null) localStorage.removeItem(storageKey);
  else localStorage.setItem(storageKey, JSON.stringify(subscription));
}

/** The service worker that shows notifications; undefined when none is registered, or the browser supports none. */
export const findPushWorker = async (): Promise<ServiceWorkerRegistration | undefined> =>
  'serviceWorker' in navigator ? navigator.serviceWorker.getRegistration(workerScope) : undefined;

/** Ends the subscription at the push service, if there is one. */
export async function unsubscribeBrowser(): Promise<void> {
  const registration = await findPushWorker();
  const subscription = await registration?.pushManager?.getSubscription();
  await subscription?.unsubscribe();
}

/** Longest time that a sign-out waits for the hub and the push service, in milliseconds. */
const signOutTimeoutMs = 3_000;

/** Ends the notifications of this browser at the hub and at the push service. Each of the two is sufficient. */
async function endSubscription(): Promise<void> {
  const stored = readStoredSubscription();
  storeSubscription(null);
  const atHub =
    stored === null
      ? null
      : fetch(`/auth/me/push-subscriptions/${stored.id}`, { method: 'DELETE', credentials: 'same-origin' });
  await Promise.allSettled([atHub, unsubscribeBrowser()]);
}

/** Ends the notifications of this browser, then submits the form that signs the user out. */
export async function signOut(form: HTMLFormElement): Promise<void> {
  const timeout = new Promise<void>((done) => {
    setTimeout(done, signOutTimeoutMs);
  });
  // Nothing keeps the user signed in, such as a browser without storage.
  await Promise.race([endSubscription().catch(() => undefined), timeout]);
  form.submit();
}
