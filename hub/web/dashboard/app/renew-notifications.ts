import type { FormEvent } from 'react';
import { background } from '../../../../shared/web/background.ts';

/** Renews the notifications of this browser, if it has any. Without a connection, the next visit does. */
export function renewNotificationsOfBrowser(userId: string): void {
  if (localStorage.getItem('outrigger.notifications') === null) return;
  background(
    import('./notifications.ts').then(({ renewNotifications }) => renewNotifications(userId)).catch(() => undefined),
  );
}

/** Ends the notifications of this browser, then signs the user out. */
export function signOutOfBrowser(event: FormEvent<HTMLFormElement>): void {
  event.preventDefault();
  const form = event.currentTarget;
  background(
    import('../../../../shared/web/push-subscription.ts').then(
      ({ signOut }) => signOut(form),
      () => form.submit(),
    ),
  );
}
