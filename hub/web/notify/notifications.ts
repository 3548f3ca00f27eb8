import {
  readStoredSubscription,
  storeSubscription,
  unsubscribeBrowser,
} from '../../../shared/web/push-subscription.ts';
import { Store } from '../../../shared/web/store.ts';
import { createSubscription, deleteSubscription, HubError, readState, readUser } from './hub.ts';
import type { SignedInUser } from './hub.ts';
import { isSupported, subscribeBrowser } from './subscription.ts';

/**
 * - `denied`: the browser blocks notifications of this hub
 * - `unsupported`: the browser has no push notifications, or the page is not loaded by https
 * - `stopped`: the hub sends nothing more, because the push service refused the messages for days
 * - `noService`: the push service of the browser is not reachable
 * - `noHub`: the hub is not reachable
 */
export type Status = 'loading' | 'off' | 'on' | 'stopped' | 'denied' | 'unsupported' | 'noService' | 'noHub';

export interface PageState {
  status: Status;
  user: SignedInUser | null;
  isBusy: boolean;
  /** Why the hub refused a request; null when it did not. */
  refusal: string | null;
}

const signInPath = '/sign-in?to=/app/notify';

/** The notifications of this browser: their state, and how they are turned on and off. */
export class Notifications {
  readonly store = new Store<PageState>({ status: 'loading', user: null, isBusy: false, refusal: null });

  /** Reads the state. Without a signed-in user, it opens the sign-in page. */
  load(): Promise<void> {
    return this.#run(async () => {
      const user = await readUser();
      this.store.set({ user });
      if (!isSupported()) return 'unsupported';
      if (Notification.permission === 'denied') return 'denied';
      const { subscriptions } = await readState(user.id);
      const stored = readStoredSubscription();
      const known = stored?.userId === user.id ? subscriptions.find(({ id }) => id === stored.id) : undefined;
      if (known === undefined || Notification.permission !== 'granted') return 'off';
      return known.isStopped ? 'stopped' : 'on';
    });
  }

  /** Asks for the permission and subscribes the browser. Call it in the handler of a click. */
  turnOn(): Promise<void> {
    return this.#run(async ({ user, status }) => {
      const permission = await Notification.requestPermission();
      if (permission !== 'granted') return permission === 'denied' ? 'denied' : 'off';
      const { publicKey } = await readState(user.id);
      const stopped = status === 'stopped' ? readStoredSubscription() : null;
      // A new endpoint may be accepted where the present one is refused.
      if (stopped !== null) await unsubscribeBrowser();
      const subscription = await this.#subscribe(user, publicKey);
      if (typeof subscription === 'string') return subscription;
      const { id } = subscription;
      if (stopped !== null && stopped.id !== id) await deleteSubscription(user.id, stopped.id);
      storeSubscription({ userId: user.id, id, endpoint: subscription.endpoint });
      return 'on';
    });
  }

  turnOff(): Promise<void> {
    return this.#run(async ({ user }) => {
      const stored = readStoredSubscription();
      if (stored !== null) await deleteSubscription(user.id, stored.id);
      storeSubscription(null);
      await unsubscribeBrowser();
      return 'off';
    });
  }

  /** Subscribes the browser at its push service and at the hub. Returns the status if that is not possible. */
  async #subscribe(
    user: SignedInUser,
    publicKey: string,
    isRepeated = false,
  ): Promise<Status | { id: string; endpoint: string }> {
    const subscription = await subscribeBrowser(publicKey).catch((error: unknown) =>
      error instanceof DOMException && error.name === 'NotAllowedError' ? ('denied' as const) : ('noService' as const),
    );
    if (typeof subscription === 'string') return subscription;
    try {
      const { id } = await createSubscription(user.id, subscription);
      return { id, endpoint: subscription.endpoint };
    } catch (error) {
      // The endpoint belongs to another user: the browser gets a new one.
      if (isRepeated || !(error instanceof HubError && error.status === 409)) throw error;
      await unsubscribeBrowser();
      return this.#subscribe(user, publicKey, true);
    }
  }

  /** Runs an action that returns the new status. A click during an action is ignored. */
  async #run(action: (state: { user: SignedInUser; status: Status }) => Promise<Status>): Promise<void> {
    if (this.store.state.isBusy) return;
    this.store.set({ isBusy: true, refusal: null });
    try {
      this.store.set({ status: await action(this.store.state as { user: SignedInUser; status: Status }) });
    } catch (error) {
      if (error instanceof HubError && error.status === 401) location.replace(signInPath);
      else if (error instanceof HubError && error.status < 500) this.store.set({ refusal: error.message });
      else this.store.set({ status: 'noHub' });
    } finally {
      this.store.set({ isBusy: false });
    }
  }
}
