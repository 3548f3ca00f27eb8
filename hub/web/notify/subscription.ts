/** The subscription of this browser, as the page stores it. */
export interface StoredSubscription {
  userId: string;
  /** Id of the subscription at the hub. */
  id: string;
}

const storageKey = 'outrigger.notifications';
const workerPath = '/app/push-worker.js';
const workerScope = '/app/';
/** Time limit for the start of the service worker, in milliseconds. */
const workerTimeoutMs = 10_000;
/** Time limit for the response of the push service, in milliseconds. */
const subscribeTimeoutMs = 30_000;

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(url: string): string };
}
const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
/** The policy of the page allows only this address as a script. */
const workerPolicy = trustedTypes?.createPolicy('push-worker', { createScriptURL: () => workerPath });

/** Whether the browser can show notifications that arrive while no page is open. */
export const isSupported = () => 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;

export function readStored(): StoredSubscription | null {
  try {
    return JSON.parse(localStorage.getItem(storageKey) ?? 'null') as StoredSubscription | null;
  } catch {
    return null;
  }
}

export function store(subscription: StoredSubscription | null): void {
  if (subscription === null) localStorage.removeItem(storageKey);
  else localStorage.setItem(storageKey, JSON.stringify(subscription));
}

/** @throws DOMException `TimeoutError`. */
async function within<Result>(task: Promise<Result>, timeoutMs: number): Promise<Result> {
  let timer = 0;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = window.setTimeout(() => reject(new DOMException('too slow', 'TimeoutError')), timeoutMs);
  });
  try {
    return await Promise.race([task, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Registers the service worker and subscribes the browser at its push service.
 * @throws DOMException `NotAllowedError` without permission; any other error when the push service is not reachable.
 */
export async function subscribeBrowser(publicKey: string): Promise<PushSubscriptionJSON> {
  await navigator.serviceWorker.register(workerPolicy?.createScriptURL(workerPath) ?? workerPath, {
    scope: workerScope,
  });
  const { pushManager } = await within(navigator.serviceWorker.ready, workerTimeoutMs);
  const subscribe = () =>
    within(pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey }), subscribeTimeoutMs);
  const subscription = await subscribe().catch(async (error: unknown) => {
    // The browser is subscribed with the key of an earlier hub at this address.
    if (!(error instanceof DOMException && error.name === 'InvalidStateError')) throw error;
    await unsubscribeBrowser();
    return subscribe();
  });
  return subscription.toJSON();
}

/** Ends the subscription at the push service, if there is one. */
export async function unsubscribeBrowser(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration(workerScope);
  const subscription = await registration?.pushManager.getSubscription();
  await subscription?.unsubscribe();
}
