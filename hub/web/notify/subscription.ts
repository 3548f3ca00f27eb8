import { unsubscribeBrowser, workerScope } from '../../../shared/web/push-subscription.ts';

const workerPath = '/app/push-worker.js';
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

/** A subscription of the browser, with what the hub needs. */
export interface BrowserSubscription {
  endpoint: string;
  keys: Record<string, string>;
}

/**
 * Registers the service worker and subscribes the browser at its push service.
 * @throws DOMException `NotAllowedError` without permission; any other error when the push service is not reachable.
 */
export async function subscribeBrowser(publicKey: string): Promise<BrowserSubscription> {
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
  const { endpoint = '', keys = {} } = subscription.toJSON();
  return { endpoint, keys };
}
