import { ApiError } from '../../../../shared/client/client.ts';
import { Store } from '../../../../shared/web/store.ts';

/** Whether the session ended while the page is open. */
export const sessionState = new Store<{ isExpired: boolean }>({ isExpired: false });

/** Opens the sign-in dialog when the hub no longer accepts the session. */
export function noteFailure(error: unknown): void {
  // A wrong current password is a field of a form, and the session is valid.
  if (error instanceof ApiError && error.status === 401 && error.code !== 'invalid_credentials')
    sessionState.set({ isExpired: true });
}
